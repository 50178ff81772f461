//! Tells observers about a call of a model: that it begins, and exactly once that it ends.

use crate::event::{CallOutcome, ModelCall, ModelCallEnd};
use crate::message::Usage;
use crate::model::{ModelReply, ModelRequest};
use crate::{Error, Scope, Timestamp};

/// A call that observers know to be under way. Dropped, it is told to have been dropped.
pub(super) struct ToldCall<'a> {
    scope: &'a Scope,
    id: &'a str,
    /// Whether its end is still to be told.
    is_open: bool,
}

impl<'a> ToldCall<'a> {
    pub(super) fn begin(scope: &'a Scope, id: &'a str, model: &str, request: &ModelRequest) -> Self {
        let events = &scope.node.run.events;
        let is_open = events.is_observed();
        if is_open {
            let (run, path, at) = (scope.run_id(), scope.path(), Timestamp::now());
            let call = ModelCall { run, path, id, model, request, at };
            events.tell_beside(|observer| observer.model_call_started(&call));
        }
        Self { scope, id, is_open }
    }

    pub(super) fn end(mut self, usage: Option<Usage>, outcome: &Result<ModelReply, Error>) {
        let outcome = match outcome {
            Ok(reply) => CallOutcome::Replied(reply),
            Err(error) => CallOutcome::Failed(error),
        };
        self.tell_end(usage, outcome);
    }

    fn tell_end(&mut self, usage: Option<Usage>, outcome: CallOutcome<'_>) {
        if std::mem::take(&mut self.is_open) {
            let (run, path, at) = (self.scope.run_id(), self.scope.path(), Timestamp::now());
            let end = ModelCallEnd { run, path, id: self.id, usage, outcome, at };
            self.scope.node.run.events.tell_beside(|observer| observer.model_call_ended(&end));
        }
    }
}

impl Drop for ToldCall<'_> {
    fn drop(&mut self) {
        self.tell_end(None, CallOutcome::Dropped);
    }
}
