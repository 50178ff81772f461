//! Makes attempts until one succeeds. An [`AttemptPlan`] decides which model is asked next, and when.

use std::time::Duration;

use convoke_core::{CallContext, Model, ModelError, ModelRequest, ReplyDelta, ReplyStream};
use futures_util::stream;

use super::attempt::{Attempt, AttemptEvent, AttemptFailure};
use super::tally::Tally;

/// Decides which model is asked, and what follows a failure.
pub(super) trait AttemptPlan<'a>: Send {
    /// The first attempt.
    fn first(&mut self) -> NextAttempt<'a>;

    /// What follows a failed attempt.
    ///
    /// # Errors
    /// Nothing does: the error to end with.
    fn after(&mut self, failed: FailedAttempt<'_>) -> Result<NextAttempt<'a>, ModelError>;

    /// The latest attempt came to a good end.
    fn succeeded(&mut self) {}
}

/// A failed attempt.
pub(super) struct FailedAttempt<'e> {
    pub(super) error: &'e ModelError,
    /// Whether anybody may have seen some of its text or tool calls.
    pub(super) seen: bool,
}

/// An attempt that is about to be made.
pub(super) struct NextAttempt<'a> {
    pub(super) model: &'a dyn Model,
    /// How long to wait before.
    pub(super) wait: Duration,
    /// Why whoever watches must know that the reply begins here: all but the usual first attempt.
    pub(super) announced: Option<String>,
}

struct AttemptSequence<'a, P> {
    plan: P,
    request: ModelRequest,
    call: CallContext,
    tally: Tally,
    phase: Phase<'a>,
}

enum Phase<'a> {
    Planned(NextAttempt<'a>),
    UnderWay(Attempt<'a>),
    /// The reply is whole, and has been given out.
    Ending(Attempt<'a>),
    Over,
}

/// The reply to a request, by this plan. Nothing is asked before the stream is.
pub(super) fn run_attempts<'a>(
    mut plan: impl AttemptPlan<'a> + 'a,
    request: ModelRequest,
    call: CallContext,
) -> ReplyStream<'a> {
    let phase = Phase::Planned(plan.first());
    let sequence = AttemptSequence { plan, request, call, tally: Tally::new(), phase };
    Box::pin(stream::unfold(sequence, async |mut sequence| {
        let piece = sequence.next().await?;
        Some((piece, sequence))
    }))
}

impl<'a, P: AttemptPlan<'a>> AttemptSequence<'a, P> {
    async fn next(&mut self) -> Option<Result<ReplyDelta, ModelError>> {
        loop {
            match &mut self.phase {
                Phase::Planned(next) => {
                    if let Some(reason) = next.announced.take() {
                        let model = next.model.name().to_owned();
                        return Some(Ok(ReplyDelta::Restarted { model, reason }));
                    }
                    let (model, wait) = (next.model, next.wait);
                    // Without a wait there is no need of a timer.
                    if !wait.is_zero() {
                        tokio::time::sleep(wait).await;
                    }
                    let attempt = Attempt::begin(model, self.request.clone(), self.call.clone());
                    self.phase = Phase::UnderWay(attempt);
                }
                Phase::UnderWay(attempt) => match attempt.next().await {
                    AttemptEvent::Piece(ReplyDelta::Usage(usage)) => {
                        let price = attempt.model.price();
                        return Some(Ok(ReplyDelta::Usage(self.tally.record(usage, price))));
                    }
                    AttemptEvent::Piece(piece) => return Some(Ok(piece)),
                    AttemptEvent::Finished(end) => {
                        self.plan.succeeded();
                        self.end();
                        return Some(Ok(end));
                    }
                    AttemptEvent::Failed(AttemptFailure { error, as_delta }) => {
                        let seen = attempt.says_something;
                        self.tally.failed();
                        match self.plan.after(FailedAttempt { error: &error, seen }) {
                            Ok(next) => self.phase = Phase::Planned(next),
                            Err(error) => {
                                self.end();
                                return Some(as_delta.ok_or(error));
                            }
                        }
                    }
                },
                Phase::Ending(attempt) => {
                    attempt.drain().await;
                    self.phase = Phase::Over;
                }
                Phase::Over => return None,
            }
        }
    }

    /// Nothing follows what the attempt under way has come to.
    fn end(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::UnderWay(attempt) => Phase::Ending(attempt),
            other => other,
        };
    }
}
