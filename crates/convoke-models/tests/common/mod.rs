//! What several topics need.

use convoke_core::{CallContext, IdempotencyKey, Model, ModelError, ModelRequest, Path, ReplyDelta, RunId};
use convoke_models::ScriptedModel;
use futures_util::StreamExt;

/// The context of the so-many-eth call of one run.
pub(crate) fn context(ordinal: u32) -> CallContext {
    let run: RunId = "test".parse().unwrap();
    CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), ordinal) }
}

/// Everything the model streams in answer to a user who says `text`.
pub(crate) async fn deltas(model: &ScriptedModel, text: &str) -> Vec<Result<ReplyDelta, ModelError>> {
    model.reply(ModelRequest::new(text), context(1)).collect().await
}
