//! An interceptor that is told what to do.

use std::sync::{Arc, Mutex};

use convoke_core::{
    BoxFuture, EffectOutcome, EffectRequest, Error, InterceptedEffect, Interceptor, Labels, Model,
    ModelRequest, Question, ToolSpec, Verdict,
};
use serde_json::Value;

/// Does what its functions say, and notes the kinds of effects it was told about.
#[derive(Clone)]
pub(crate) struct Meddler {
    pub(crate) name: &'static str,
    pub(crate) before: fn(&InterceptedEffect<'_>) -> Verdict,
    pub(crate) after: fn(&EffectRequest<'_>, &mut Result<EffectOutcome, Error>) -> Labels,
    pub(crate) request: fn(&ModelRequest) -> Option<ModelRequest>,
    pub(crate) arguments: fn(&Value) -> Option<Value>,
    pub(crate) question: fn(&Question) -> Option<Question>,
    pub(crate) holds: bool,
    pub(crate) inherits: bool,
    pub(crate) seen: Arc<Mutex<Vec<&'static str>>>,
}

impl Meddler {
    /// One that lets everything be.
    pub(crate) fn called(name: &'static str) -> Self {
        Self {
            name,
            before: |_| Verdict::Allow,
            after: |_, _| Labels::new(),
            request: |_| None,
            arguments: |_| None,
            question: |_| None,
            holds: false,
            inherits: false,
            seen: Arc::default(),
        }
    }

    /// The kinds of effects it was asked about, in order.
    pub(crate) fn seen(&self) -> Vec<&'static str> {
        self.seen.lock().unwrap().clone()
    }
}

pub(crate) fn kind(request: &EffectRequest<'_>) -> &'static str {
    match request {
        EffectRequest::Model { .. } => "model",
        EffectRequest::Tool { .. } => "tool",
        EffectRequest::Ask { .. } => "ask",
        EffectRequest::Receive { .. } => "receive",
        EffectRequest::Custom { .. } => "custom",
        other => panic!("{other:?}"),
    }
}

impl Interceptor for Meddler {
    fn name(&self) -> &str {
        self.name
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        self.seen.lock().unwrap().push(kind(about.request));
        Box::pin(async move { Ok((self.before)(&about)) })
    }

    fn after<'a>(
        &'a self,
        about: InterceptedEffect<'a>,
        outcome: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        Box::pin(async move { Ok((self.after)(about.request, outcome)) })
    }

    fn request(&self, _: &dyn Model, request: &ModelRequest) -> Option<ModelRequest> {
        (self.request)(request)
    }

    fn arguments(&self, _: &ToolSpec, arguments: &Value) -> Option<Value> {
        (self.arguments)(arguments)
    }

    fn question(&self, question: &Question) -> Option<Question> {
        (self.question)(question)
    }

    fn holds_replies(&self) -> bool {
        self.holds
    }

    fn inherits_unnamed_approvals(&self) -> bool {
        self.inherits
    }
}
