//! A model with the parameters of a profile.

use std::sync::Arc;

use convoke_core::{CallContext, Model, ModelParams, ModelRequest, ReplyStream};

/// A model, and how it is asked where a request does not say otherwise.
pub(crate) struct ProfiledModel {
    model: Arc<dyn Model>,
    params: ModelParams,
}

impl ProfiledModel {
    pub(crate) fn new(model: Arc<dyn Model>, params: ModelParams) -> Self {
        Self { model, params }
    }
}

impl Model for ProfiledModel {
    convoke_models::delegate_to_model!();

    fn reply<'a>(&'a self, mut request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        request.params = self.params.overridden_by(&request.params);
        self.model.reply(request, call)
    }
}
