//! Asks a model outside of any run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use convoke_core::{
    CallContext, FinishReason, IdempotencyKey, Model, ModelError, ModelReply, ModelRequest, Path,
    ReplyBuilder, ReplyDelta, ReplyStream, RunId,
};
use futures_util::{StreamExt, stream};

/// A call that belongs to no run.
pub(crate) fn context() -> CallContext {
    let run: RunId = "test".parse().unwrap();
    CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), 1) }
}

/// Everything the model says in answer.
pub(crate) async fn pieces(model: &dyn Model, request: ModelRequest) -> Vec<Result<ReplyDelta, ModelError>> {
    model.reply(request, context()).collect().await
}

/// The whole reply.
pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> Result<ModelReply, ModelError> {
    let mut builder = ReplyBuilder::new(model.name(), "m1");
    let mut pieces = model.reply(request, context());
    while let Some(piece) = pieces.next().await {
        builder.add(&piece?);
    }
    builder.finish()
}

/// A model that says these pieces each time.
#[derive(Clone)]
pub(crate) struct Fixed(pub(crate) Vec<Result<ReplyDelta, ModelError>>);

impl Model for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
        Box::pin(stream::iter(self.0.clone()))
    }
}

/// A model that has something to do after the end of a reply, and notes when it is done.
pub(crate) struct Lingering {
    reason: FinishReason,
    ended: Arc<AtomicBool>,
}

impl Lingering {
    pub(crate) fn new() -> (Arc<Self>, Arc<AtomicBool>) {
        Self::ending(FinishReason::Stop)
    }

    pub(crate) fn ending(reason: FinishReason) -> (Arc<Self>, Arc<AtomicBool>) {
        let ended = Arc::new(AtomicBool::new(false));
        (Arc::new(Self { reason, ended: Arc::clone(&ended) }), ended)
    }
}

impl Model for Lingering {
    fn name(&self) -> &'static str {
        "lingering"
    }

    fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
        let finished = ReplyDelta::Finished { reason: self.reason, request_id: None };
        let pieces = stream::iter([Ok(ReplyDelta::Text("Bye.".into())), Ok(finished)]);
        let farewell = stream::poll_fn(|_| {
            self.ended.store(true, Ordering::Relaxed);
            std::task::Poll::Ready(None)
        });
        Box::pin(pieces.chain(farewell))
    }
}
