//! One reply by as many attempts as it takes. Who is asked next, and when, is for a [`Plan`] to say.

use std::time::Duration;

use convoke_core::{CallContext, Model, ModelError, ModelRequest, ReplyDelta, ReplyStream};
use futures_util::stream;

use super::attempt::{Attempt, Failure, Heard};
use super::tally::Tally;

/// Who is asked, and what follows a failure.
pub(super) trait Plan<'a>: Send {
    /// The first attempt.
    fn first(&mut self) -> Try<'a>;

    /// What follows a failed attempt.
    ///
    /// # Errors
    /// Nothing does: the error to end with.
    fn after(&mut self, failed: Failed<'_>) -> Result<Try<'a>, ModelError>;

    /// The latest attempt came to a good end.
    fn succeeded(&mut self) {}
}

/// A failed attempt.
pub(super) struct Failed<'e> {
    pub(super) error: &'e ModelError,
    /// Whether anybody may have seen some of its text or tool calls.
    pub(super) seen: bool,
}

/// An attempt that is about to be made.
pub(super) struct Try<'a> {
    pub(super) model: &'a dyn Model,
    /// How long to wait before.
    pub(super) wait: Duration,
    /// Why whoever watches must know that the reply begins here: all but the usual first attempt.
    pub(super) announced: Option<String>,
}

struct Pursuit<'a, P> {
    plan: P,
    request: ModelRequest,
    call: CallContext,
    tally: Tally,
    phase: Phase<'a>,
}

enum Phase<'a> {
    Planned(Try<'a>),
    UnderWay(Attempt<'a>),
    /// The reply is whole, and has been given out.
    Ending(Attempt<'a>),
    Over,
}

/// The reply to a request, by this plan. Nothing is asked before the stream is.
pub(super) fn pursue<'a>(
    mut plan: impl Plan<'a> + 'a,
    request: ModelRequest,
    call: CallContext,
) -> ReplyStream<'a> {
    let phase = Phase::Planned(plan.first());
    let pursuit = Pursuit { plan, request, call, tally: Tally::new(), phase };
    Box::pin(stream::unfold(pursuit, async |mut pursuit| {
        let piece = pursuit.next().await?;
        Some((piece, pursuit))
    }))
}

impl<'a, P: Plan<'a>> Pursuit<'a, P> {
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
                    Heard::Piece(ReplyDelta::Usage(usage)) => {
                        let price = attempt.model.price();
                        return Some(Ok(ReplyDelta::Usage(self.tally.heard(usage, price))));
                    }
                    Heard::Piece(piece) => return Some(Ok(piece)),
                    Heard::Finished(end) => {
                        self.plan.succeeded();
                        self.end();
                        return Some(Ok(end));
                    }
                    Heard::Failed(Failure { error, told_as }) => {
                        let seen = attempt.says_something;
                        self.tally.failed();
                        match self.plan.after(Failed { error: &error, seen }) {
                            Ok(next) => self.phase = Phase::Planned(next),
                            Err(error) => {
                                self.end();
                                return Some(told_as.ok_or(error));
                            }
                        }
                    }
                },
                Phase::Ending(attempt) => {
                    attempt.see_off().await;
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
