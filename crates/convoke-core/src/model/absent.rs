//! A stand-in model for runs that are only replayed.

use super::{CallContext, Model, ModelError, ModelErrorKind, ModelRequest, Reality, ReplyStream};

/// Stands in where a run is only replayed: recorded replies need a model to belong to, but none to call.
pub(crate) struct AbsentModel;

impl AbsentModel {
    pub(crate) fn error() -> ModelError {
        ModelError::new(
            ModelErrorKind::Missing,
            "no model is configured: give the step a model, or the runtime a default one",
        )
    }
}

impl Model for AbsentModel {
    fn name(&self) -> &str {
        "none"
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }

    fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
        Box::pin(futures_util::stream::once(async { Err(Self::error()) }))
    }
}
