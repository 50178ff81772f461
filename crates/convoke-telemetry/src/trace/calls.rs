//! Spans of model calls.

use convoke_core::{Event, ModelCall, ModelCallEnd, Usage};
use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use super::open::{OpenSpan, SpanEnd, SpanSubject};
use super::run::RunTrace;
use super::{ExportTarget, content};
use crate::metrics::{MeasuredCall, dollars};
use crate::provider::{finish_reason, split_name};
use crate::{attribute, convention};

impl RunTrace {
    pub(super) fn call_started(&mut self, event: &Event, call: &ModelCall, target: &ExportTarget) {
        let path = event.path.as_str();
        self.note_work(path, false);
        let (provider, model) = split_name(&call.model);
        let mut attributes = vec![
            attribute::text(convention::OPERATION, "chat"),
            attribute::text(convention::PROVIDER, provider),
            attribute::text(convention::REQUEST_MODEL, model),
            attribute::text(convention::CONVERSATION, event.run.as_str()),
        ];
        attributes.extend(asked_for(call));
        if let Some(limit) = target.content {
            attributes.extend(content::input(&call.messages, limit));
        }
        let subject = SpanSubject::Model {
            call: call.id.as_str().into(),
            provider: provider.into(),
            model: model.into(),
        };
        self.open(path, event.at, format!("chat {model}"), SpanKind::Client, subject, attributes);
    }

    pub(super) fn call_ended(
        &mut self,
        event: &Event,
        id: &str,
        usage: Option<Usage>,
        end: &ModelCallEnd,
        target: &ExportTarget,
    ) {
        let Some(mut span) = self.close(event.path.as_str(), is_call(id)) else { return };
        let mut response_model = None;
        let ending = match end {
            ModelCallEnd::Replied { model, finish, request_id, message } => {
                let (_, model) = split_name(model);
                response_model = Some(model);
                let reason = finish_reason(*finish);
                span.attributes.push(attribute::text(convention::RESPONSE_MODEL, model));
                span.attributes.push(attribute::texts(convention::FINISH_REASONS, [reason.to_owned()]));
                let id = request_id.as_deref().map(|id| attribute::text(convention::RESPONSE_ID, id));
                span.attributes.extend(id);
                if let (Some(limit), Some(message)) = (target.content, message) {
                    span.attributes.push(content::output(message, reason, limit));
                }
                SpanEnd::Normal
            }
            ModelCallEnd::Failed { error, kind } => SpanEnd::failed(kind.clone(), error.clone()),
            _ => SpanEnd::failed("interrupted", "nobody waited for the reply any more"),
        };
        if let Some(usage) = &usage {
            span.attributes.extend(used(usage));
        }
        if let (Some(metrics), SpanSubject::Model { provider, model, .. }) = (&target.metrics, &span.subject)
        {
            let (error, took) = (ending.error(), event.at.since(span.start));
            metrics.model_called(&MeasuredCall { provider, model, response_model, error, took, usage });
        }
        self.send(span, event.at, ending, target);
    }

    /// A call under way.
    pub(super) fn open_call(&mut self, path: &str, id: &str) -> Option<&mut OpenSpan> {
        self.find(path, is_call(id))
    }
}

fn is_call(id: &str) -> impl Fn(&OpenSpan) -> bool {
    move |span| matches!(&span.subject, SpanSubject::Model { call, .. } if **call == *id)
}

fn asked_for(call: &ModelCall) -> impl Iterator<Item = KeyValue> {
    let params = &call.params;
    let stop = (!params.stop.is_empty())
        .then(|| attribute::texts(convention::REQUEST_STOP, params.stop.iter().cloned()));
    let json = call.has_schema.then(|| attribute::text(convention::OUTPUT_TYPE, "json"));
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
