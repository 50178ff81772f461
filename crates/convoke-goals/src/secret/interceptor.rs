//! The interceptor that puts secrets into requests and takes them out of replies.

use std::sync::Arc;

use convoke_core::{
    BoxFuture, EffectOutcome, EffectRequest, Error, InterceptedEffect, Interceptor, Labels, Model,
    ModelRequest, ReplyStream, SideOutput, ToolSpec,
};
use serde_json::Value;

use super::model::{sealed_reply, unsealed};
use super::seals::Seals;
use super::tool::{is_open, seal_speech, sealed_error};

/// Puts secrets in the place of marks on the way out, and marks in the place of secrets on the way back.
pub(super) struct SecretsInterceptor {
    pub(super) name: String,
    pub(super) seals: Seals,
    /// The models that the workflow works with. Whoever judges it with a model of their own gets marks.
    pub(super) models: Vec<Arc<dyn Model>>,
}

impl Interceptor for SecretsInterceptor {
    fn name(&self) -> &str {
        &self.name
    }

    fn request(&self, model: &dyn Model, request: &ModelRequest) -> Option<ModelRequest> {
        let is_own = self.models.iter().any(|own| std::ptr::addr_eq(Arc::as_ptr(own), model));
        is_own.then(|| ModelRequest { messages: unsealed(&self.seals, &request.messages), ..request.clone() })
    }

    fn reply<'a>(&'a self, request: &'a ModelRequest, pieces: ReplyStream<'a>) -> ReplyStream<'a> {
        sealed_reply(&self.seals, request, pieces)
    }

    /// Those that keep what they are told get marks: a later run would find the secrets there.
    fn arguments(&self, tool: &ToolSpec, arguments: &Value) -> Option<Value> {
        (!is_open(tool) && !tool.keeps).then(|| self.seals.unseal_value(arguments))
    }

    fn side_output(&self, tool: &ToolSpec, said: &mut SideOutput) {
        if !is_open(tool) {
            seal_speech(&self.seals, said);
        }
    }

    fn after<'a>(
        &'a self,
        about: InterceptedEffect<'a>,
        outcome: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        let has_secrets = match about.request {
            EffectRequest::Model { .. } => true,
            EffectRequest::Tool { spec, .. } => !is_open(spec),
            _ => false,
        };
        if has_secrets {
            match outcome {
                Ok(EffectOutcome::Tool(result)) => *result = self.seals.seal_cut(result),
                Err(error) => *error = sealed_error(&self.seals, error.clone()),
                Ok(_) => {}
            }
        }
        Box::pin(async { Ok(Labels::new()) })
    }
}
