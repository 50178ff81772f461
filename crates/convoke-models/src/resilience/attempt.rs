//! One attempt at a reply, and whether it succeeded.

use convoke_core::{
    CallContext, FinishReason, Model, ModelError, ModelErrorKind, ModelRequest, ReplyDelta, ReplyStream,
};
use futures_util::StreamExt;

/// A call of one model.
pub(super) struct Attempt<'a> {
    pub(super) model: &'a dyn Model,
    pieces: ReplyStream<'a>,
    /// Whether text or a tool call has come.
    pub(super) says_something: bool,
    /// Whether the stream has ended or failed: it is not to be asked again.
    exhausted: bool,
}

/// An event of an attempt.
pub(super) enum AttemptEvent {
    /// A piece of the reply.
    Piece(ReplyDelta),
    /// The reply is whole.
    Finished(ReplyDelta),
    /// The reply came to a bad end.
    Failed(AttemptFailure),
}

/// The failure of an attempt.
pub(super) struct AttemptFailure {
    pub(super) error: ModelError,
    /// How the model itself put it, if not as an error: whoever makes nothing of the failure passes this on instead.
    pub(super) as_delta: Option<ReplyDelta>,
}

impl<'a> Attempt<'a> {
    pub(super) fn begin(model: &'a dyn Model, request: ModelRequest, call: CallContext) -> Self {
        Self { model, pieces: model.reply(request, call), says_something: false, exhausted: false }
    }

    /// Lets the model do what it has to do after the end of a reply: a stream that is asked until it has nothing more can
    /// leave its connection to the next one.
    pub(super) async fn drain(&mut self) {
        if !self.exhausted {
            while let Some(Ok(_)) = self.pieces.next().await {}
        }
    }

    /// The next piece or the end. Not to be asked again after that.
    pub(super) async fn next(&mut self) -> AttemptEvent {
        let piece = self.pieces.next().await;
        self.exhausted = !matches!(piece, Some(Ok(_)));
        let delta = match piece {
            Some(Ok(delta)) => delta,
            Some(Err(error)) => return AttemptEvent::Failed(AttemptFailure { error, as_delta: None }),
            None => return self.failed(ModelErrorKind::Interrupted, "the stream ended before the reply did"),
        };
        match &delta {
            ReplyDelta::Text(text) => self.says_something |= !text.is_empty(),
            ReplyDelta::ToolCallStarted { .. } => self.says_something = true,
            // The model itself began anew.
            ReplyDelta::Restarted { .. } => self.says_something = false,
            ReplyDelta::Finished { reason, .. } => return self.finished(*reason, delta),
            _ => {}
        }
        AttemptEvent::Piece(delta)
    }

    fn finished(&self, reason: FinishReason, delta: ReplyDelta) -> AttemptEvent {
        match reason {
            FinishReason::Stop | FinishReason::ToolCalls if !self.says_something => {
                self.failed(ModelErrorKind::Empty, "it answered with neither text nor tool calls")
            }
            FinishReason::ContentFilter => {
                let message = format!("{}: it refused to answer", self.model.name());
                let error = ModelError::new(ModelErrorKind::Refused, message);
                AttemptEvent::Failed(AttemptFailure { error, as_delta: Some(delta) })
            }
            _ => AttemptEvent::Finished(delta),
        }
    }

    fn failed(&self, kind: ModelErrorKind, what: &str) -> AttemptEvent {
        let error = ModelError::new(kind, format!("{}: {what}", self.model.name()));
        AttemptEvent::Failed(AttemptFailure { error, as_delta: None })
    }
}
