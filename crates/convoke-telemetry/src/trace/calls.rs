//! Calls of models.

use std::borrow::Cow;

use convoke_core::{CallOutcome, Error, ModelCall, ModelCallEnd, ModelErrorKind, Usage};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use super::open::{Doing, Ending, OpenSpan};
use super::run::RunTrace;
use super::{Outlet, content};
use crate::metrics::{MeasuredCall, dollars};
use crate::provider::{finish_reason, taken_apart};
use crate::{attribute, convention};

impl RunTrace {
    pub(super) fn call_started(&mut self, call: &ModelCall<'_>, outlet: &Outlet) {
        let path = call.path.as_str();
        self.note_work(path, false);
        let (provider, model) = taken_apart(call.model);
        let mut attributes = vec![
            attribute::text(convention::OPERATION, "chat"),
            attribute::text(convention::PROVIDER, provider),
            attribute::text(convention::REQUEST_MODEL, model),
            attribute::text(convention::CONVERSATION, call.run.as_str()),
        ];
        attributes.extend(asked_for(call));
        if let Some(limit) = outlet.content {
            attributes.extend(content::input(&call.request.messages, limit));
        }
        let doing = Doing::Model { call: call.id.into(), provider: provider.into(), model: model.into() };
        self.open(path, call.at, format!("chat {model}"), SpanKind::Client, doing, attributes);
    }

    pub(super) fn call_ended(&mut self, end: &ModelCallEnd<'_>, outlet: &Outlet) {
        let Some(mut span) = self.close(end.path.as_str(), is_call(end.id)) else { return };
        let mut response_model = None;
        let ending = match end.outcome {
            CallOutcome::Replied(reply) => {
                let (_, model) = taken_apart(&reply.model);
                response_model = Some(model);
                let reason = finish_reason(reply.finish);
                span.attributes.push(attribute::text(convention::RESPONSE_MODEL, model));
                span.attributes.push(attribute::texts(convention::FINISH_REASONS, [reason.to_owned()]));
                let id = reply.request_id.as_deref().map(|id| attribute::text(convention::RESPONSE_ID, id));
                span.attributes.extend(id);
                if let Some(limit) = outlet.content {
                    span.attributes.push(content::output(&reply.message, reason, limit));
                }
                Ending::Well
            }
            CallOutcome::Failed(error) => Ending::badly(error_kind(error), error.to_string()),
            CallOutcome::Dropped => Ending::badly("interrupted", "nobody waited for the reply any more"),
        };
        if let Some(usage) = &end.usage {
            span.attributes.extend(used(usage));
        }
        if let (Some(metrics), Doing::Model { provider, model, .. }) = (&outlet.metrics, &span.doing) {
            let (error, took, usage) = (ending.error(), end.at.since(span.start), end.usage);
            metrics.model_called(&MeasuredCall { provider, model, response_model, error, took, usage });
        }
        self.send(span, end.at, ending, outlet);
    }

    /// A call under way.
    pub(super) fn open_call(&mut self, path: &str, id: &str) -> Option<&mut OpenSpan> {
        self.find(path, is_call(id))
    }
}

fn is_call(id: &str) -> impl Fn(&OpenSpan) -> bool {
    move |span| matches!(&span.doing, Doing::Model { call, .. } if **call == *id)
}

fn asked_for(call: &ModelCall<'_>) -> impl Iterator<Item = KeyValue> {
    let params = &call.request.params;
    let stop = (!params.stop.is_empty())
        .then(|| attribute::texts(convention::REQUEST_STOP, params.stop.iter().cloned()));
    let json = call.request.output.is_some().then(|| attribute::text(convention::OUTPUT_TYPE, "json"));
    let tokens =
        params.max_tokens.map(|most| attribute::integer(convention::REQUEST_MAX_TOKENS, most.into()));
    let number = |key, value: Option<f64>| value.map(|value| attribute::number(key, value));
    let temperature = number(convention::REQUEST_TEMPERATURE, params.temperature);
    let top_p = number(convention::REQUEST_TOP_P, params.top_p);
    let seed = params.seed.map(|seed| attribute::integer(convention::REQUEST_SEED, seed));
    [stop, json, tokens, temperature, top_p, seed].into_iter().flatten()
}

fn used(usage: &Usage) -> impl Iterator<Item = KeyValue> {
    let some = |key, tokens: u64| (tokens > 0).then(|| attribute::integer(key, tokens));
    [
        Some(attribute::integer(convention::INPUT_TOKENS, usage.input_tokens)),
        Some(attribute::integer(convention::OUTPUT_TOKENS, usage.output_tokens)),
        some(convention::CACHE_READ_TOKENS, usage.cached_input_tokens),
        some(convention::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        some(convention::REASONING_TOKENS, usage.reasoning_tokens),
        usage.cost.map(|cost| attribute::number(convention::COST, dollars(cost))),
    ]
    .into_iter()
    .flatten()
}

/// A failure's kind, one of few: the HTTP status if there was one, else what went wrong.
fn error_kind(error: &Error) -> Cow<'static, str> {
    let kind = match error.root() {
        Error::Model(model) => match (model.status, model.kind) {
            (Some(status), _) => return status.to_string().into(),
            (None, ModelErrorKind::Authentication) => "authentication",
            (None, ModelErrorKind::Quota) => "quota",
            (None, ModelErrorKind::RateLimited) => "rate_limited",
            (None, ModelErrorKind::ContextTooLong) => "context_too_long",
            (None, ModelErrorKind::Refused) => "refused",
            (None, ModelErrorKind::Overloaded) => "overloaded",
            (None, ModelErrorKind::Network) => "network",
            (None, ModelErrorKind::TimedOut) => "timed_out",
            (None, ModelErrorKind::Malformed) => "malformed",
            (None, ModelErrorKind::InvalidRequest) => "invalid_request",
            (None, ModelErrorKind::Interrupted) => "interrupted",
            (None, ModelErrorKind::Empty) => "empty",
            (None, ModelErrorKind::Truncated) => "truncated",
            (None, ModelErrorKind::Forbidden) => "forbidden",
            (None, ModelErrorKind::Missing) => "missing",
            _ => "_OTHER",
        },
        Error::TimedOut(_) => "timed_out",
        Error::Cancelled(_) => "cancelled",
        Error::Panicked { .. } => "panicked",
        Error::Budget(_) => "budget_exhausted",
        _ => "_OTHER",
    };
    kind.into()
}
