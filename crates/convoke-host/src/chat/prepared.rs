//! A conversation with everything it takes: the model, limits, telemetry, the store, and who speaks.

use std::sync::Arc;

use convoke_agent::memory::Memories;
use convoke_core::{Limits, Model, Responder, RunStream, Runtime, Store, Workflow};
use convoke_models::ModelName;
use convoke_store::MemoryStore;

use super::{Chat, ChatParts, ContinuedChat, FirstWords, ReplyStop, workflow};
use crate::RunTelemetry;
use crate::limits::uncounted;
use crate::models::Models;

/// A conversation that is ready to be held.
pub struct PreparedChat {
    chat: Chat,
    workflow: Workflow<Chat>,
    stop: ReplyStop,
    limits: Limits,
    telemetry: RunTelemetry,
}

impl PreparedChat {
    /// A conversation with this model. If it was not asked for by name, others take its place when it fails for good. One
    /// that is to be remembered takes the `memories`. What is worth saying is added to `notes`.
    #[must_use]
    pub fn new(
        models: &Models,
        chat: Chat,
        name: &ModelName,
        model: Arc<dyn Model>,
        memories: Option<Arc<dyn Memories>>,
        notes: &mut Vec<String>,
    ) -> Self {
        let model = match chat.model_asked {
            true => model,
            false => models.falling_back(model, &models.config.fallback()),
        };
        let limits = models.config.limits();
        if limits.cost.is_some() && model.price().is_none() {
            notes.extend(uncounted(&[model.name().to_owned()]));
        }
        let stop = ReplyStop::new();
        let memories = memories.map(|memories| (memories, Arc::clone(&model)));
        Self {
            // It may be gone on with from another folder.
            chat: Chat { model: Some(name.clone().absolute().to_string()), ..chat },
            workflow: workflow(ChatParts { model: stop.over(model), memories }),
            stop,
            limits,
            telemetry: RunTelemetry::start(&models.config, notes),
        }
    }

    /// Returns what stops answers without stopping the conversation.
    #[must_use]
    pub fn stop(&self) -> &ReplyStop {
        &self.stop
    }

    /// Begins the conversation, or goes on with one, and has somebody speak in it. Without a store nothing of it is kept.
    ///
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn start(
        self,
        store: Option<Arc<dyn Store>>,
        continued: Option<ContinuedChat>,
        person: Option<impl Responder + 'static>,
    ) -> (RunStream<Chat>, RunTelemetry) {
        let (run, unsaid) = continued.map_or((None, None), |chat| (Some(chat.run), chat.unsaid));
        let builder = self.telemetry.watch(Runtime::builder()).responder(FirstWords::new(unsaid, person));
        let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let runtime = builder.shared_store(store).build();
        let start = match run {
            Some(run) => runtime.resume(&self.workflow, run),
            None => runtime.start(&self.workflow, self.chat),
        };
        (start.limits(self.limits).stream(), self.telemetry)
    }
}
