//! Spans of tool calls: from when they are made, not from when a model asked for them.

use convoke_core::Timestamp;
use opentelemetry::trace::SpanKind;

use super::ExportTarget;
use super::open::{Interruption, OpenSpan, SpanEnd, SpanSubject};
use super::run::{RunTrace, name_in};
use crate::attribute::{self, cut};
use crate::convention;

impl RunTrace {
    pub(super) fn tool_started(&mut self, path: &str, at: Timestamp, id: &str, target: &ExportTarget) {
        let known = self.nearest(path).calls.remove(id);
        // A tool's scope is called like the tool.
        let (tool, arguments) = known.unwrap_or_else(|| (name_in(path), String::new()));
        let mut attributes = vec![
            attribute::text(convention::OPERATION, "execute_tool"),
            attribute::text(convention::TOOL, &tool),
            attribute::text(convention::TOOL_TYPE, "function"),
            attribute::text(convention::TOOL_CALL, id),
        ];
        if let Some(limit) = target.content {
            attributes.push(attribute::text(convention::TOOL_ARGUMENTS, cut(&arguments, limit)));
        }
        let subject = SpanSubject::Tool { call: id.into(), tool: tool.as_str().into(), over: None };
        let span =
            self.open(path, at, format!("execute_tool {tool}"), SpanKind::Internal, subject, attributes);
        span.is_live = true;
    }

    pub(super) fn tool_over(&mut self, path: &str, id: &str, at: Timestamp) {
        if let Some(OpenSpan { subject: SpanSubject::Tool { over, .. }, .. }) = self.find(path, is_call(id)) {
            *over = Some(at);
        }
    }

    pub(super) fn tool_ended(
        &mut self,
        path: &str,
        id: &str,
        at: Timestamp,
        result: Option<String>,
        failed: bool,
        target: &ExportTarget,
    ) {
        let Some(mut span) = self.close(path, is_call(id)) else { return };
        let at = match &span.subject {
            SpanSubject::Tool { over: Some(over), .. } => *over,
            _ => at,
        };
        // An agent within it that failed did not say so.
        self.end_all_below(path, at, Interruption::ParentEnded, target);
        // What a tool gives back is content, also if it is an error.
        let message = result.clone().unwrap_or_else(|| "the tool failed".to_owned());
        span.attributes.extend(result.map(|result| attribute::text(convention::TOOL_RESULT, result)));
        let ending = if failed { SpanEnd::failed("tool_error", message) } else { SpanEnd::Normal };
        measure_tool(&span, at, failed.then_some("tool_error"), target);
        self.send(span, at, ending, target);
    }
}

fn is_call(id: &str) -> impl Fn(&OpenSpan) -> bool {
    move |span| matches!(&span.subject, SpanSubject::Tool { call, .. } if **call == *id)
}

pub(super) fn measure_tool(
    span: &OpenSpan,
    at: Timestamp,
    error: Option<&'static str>,
    target: &ExportTarget,
) {
    if let (Some(metrics), SpanSubject::Tool { tool, .. }) = (&target.metrics, &span.subject) {
        metrics.tool_called(tool, error, at.since(span.start));
    }
}
