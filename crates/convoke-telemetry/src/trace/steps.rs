//! Spans of steps and questions, and span events.

use convoke_core::{Decision, Event, EventKind, QuestionKind, StepEnd, Timestamp};
use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use super::agents::agent_title;
use super::open::{Interruption, OpenSpan, SpanEnd, SpanSubject};
use super::run::{RunTrace, name_in, shared};
use super::tools::measure_tool;
use super::{ExportTarget, custom};
use crate::attribute::{self, cut};
use crate::convention;

impl RunTrace {
    pub(super) fn observe(&mut self, event: &Event, target: &ExportTarget) {
        let (path, at) = (event.path.as_str(), event.at);
        let content = |text: &str| target.content.map(|limit| cut(text, limit));
        match &event.kind {
            EventKind::StepStarted { kind } => self.step_started(path, at, kind),
            EventKind::StepEnded(end) => self.step_ended(path, at, end, target),
            EventKind::StepSkipped { error } => {
                self.add_event(
                    path,
                    at,
                    "step_skipped",
                    vec![attribute::text("error", cut(target.error(error), 512))],
                );
            }
            EventKind::AgentStarted { name } => self.agent_started(path, at, name),
            // A call that a journal answers is none.
            EventKind::ModelCallStarted(call) if !event.replayed => self.call_started(event, call, target),
            EventKind::ModelCallEnded { id, usage, end } if !event.replayed => {
                self.call_ended(event, id, *usage, end, target);
            }
            EventKind::MessageStarted { id, .. } => {
                if let Some(call) = self.open_call(path, id) {
                    call.add_event(at, "first_token", Vec::new());
                }
            }
            EventKind::MessageRestarted { id, model, .. } if !event.replayed => {
                let again = vec![attribute::text(convention::REQUEST_MODEL, model)];
                if let Some(call) = self.open_call(path, id) {
                    call.add_event(at, "restarted", again);
                }
                retried(target, "model");
            }
            EventKind::ToolCallStarted { id, tool, .. } => {
                self.nearest(path).calls.insert(id.clone(), (tool.clone(), String::new()));
            }
            EventKind::ToolCallArguments { id, delta } => {
                if let Some((_, arguments)) = self.nearest(path).calls.get_mut(id)
                    && target.content.is_some_and(|limit| arguments.len() <= limit)
                {
                    arguments.push_str(delta);
                }
            }
            EventKind::ToolCallRejected { id, reason } => {
                let mut told = vec![attribute::text(convention::TOOL_CALL, id)];
                let step = self.nearest(path);
                told.extend(step.calls.get(id).map(|(tool, _)| attribute::text(convention::TOOL, tool)));
                told.extend(content(reason).map(|reason| attribute::text("reason", reason)));
                step.add_event(at, "tool_call_rejected", told);
            }
            EventKind::ToolCallExecuting { id } => {
                self.note_work(path, event.replayed);
                if !event.replayed {
                    self.tool_started(path, at, id, target);
                }
            }
            EventKind::ToolCallEnded { id } => self.tool_over(path, id, at),
            EventKind::ToolCallResult { id, content: result, is_error } => {
                self.tool_ended(path, id, at, content(result), *is_error, target);
            }
            EventKind::QuestionAsked { id, question } => {
                self.note_work(path, event.replayed);
                if !event.replayed {
                    let kind = question_name(&question.kind);
                    let mut told = vec![attribute::text(convention::QUESTION, id.as_str())];
                    told.push(attribute::text(convention::QUESTION_KIND, kind));
                    let title = content(&question.title);
                    told.extend(title.map(|title| attribute::text(convention::QUESTION_TITLE, title)));
                    let subject = SpanSubject::Question { id: id.as_str().into() };
                    self.open(path, at, "question".to_owned(), SpanKind::Internal, subject, told);
                }
            }
            EventKind::QuestionAnswered { id, answer } => {
                let is_it = |span: &OpenSpan| match &span.subject {
                    SpanSubject::Question { id: open } => **open == *id.as_str(),
                    _ => false,
                };
                if let Some(mut span) = self.close(path, is_it) {
                    let decision = decision_name(&answer.decision);
                    span.attributes.push(attribute::flag(convention::QUESTION_ANSWERED, true));
                    span.attributes.push(attribute::text(convention::QUESTION_DECISION, decision));
                    self.send(span, at, SpanEnd::Normal, target);
                }
            }
            EventKind::RouteSelected { route } => {
                self.add_event(path, at, "route_selected", vec![attribute::text("route", route)]);
            }
            EventKind::LoopIteration { iteration } => {
                self.add_event(path, at, "iteration", vec![attribute::integer("iteration", *iteration)]);
            }
            EventKind::RetryScheduled { attempt, delay } => {
                let told = vec![
                    attribute::integer("attempt", u64::from(*attempt)),
                    attribute::number("delay_seconds", delay.as_secs_f64()),
                ];
                self.add_event(path, at, "retry", told);
                if !event.replayed {
                    retried(target, "step");
                }
            }
            EventKind::Custom { name, value } => {
                if name == "agent_ended" {
                    self.agent_ended(path, at, value, target);
                } else {
                    self.add_event(path, at, name, custom::attributes(name, value, target.content));
                }
            }
            _ => {}
        }
    }

    fn add_event(&mut self, path: &str, at: Timestamp, name: &str, attributes: Vec<KeyValue>) {
        self.nearest(path).add_event(at, name, attributes);
    }

    fn step_started(&mut self, path: &str, at: Timestamp, kind: &str) {
        // The run's own span stands for the workflow.
        if kind == "workflow" && !path.contains('/') {
            return;
        }
        let name = name_in(path);
        let mut attributes =
            vec![attribute::text(convention::STEP_KIND, kind), attribute::text(convention::STEP_NAME, &name)];
        let subject = SpanSubject::Step { kind: kind.into() };
        if kind == "agent" {
            attributes.push(attribute::text(convention::OPERATION, "invoke_agent"));
            let span = self.open(path, at, agent_title(&name), SpanKind::Internal, subject, attributes);
            span.agent = shared(&name);
            return;
        }
        let title = if name.is_empty() || name == kind { kind.to_owned() } else { format!("{kind} {name}") };
        self.open(path, at, title, SpanKind::Internal, subject, attributes);
    }

    fn step_ended(&mut self, path: &str, at: Timestamp, end: &StepEnd, target: &ExportTarget) {
        let is_step = |span: &OpenSpan| matches!(span.subject, SpanSubject::Step { .. });
        let step = self.close(path, is_step);
        // Tools and questions that nobody will hear of any more. Steps below were ended before.
        let cut =
            if *end == StepEnd::Suspended { Interruption::Suspended } else { Interruption::ParentEnded };
        self.end_all_below(path, at, cut, target);
        let Some(mut step) = step else { return };
        let ending = match end {
            StepEnd::Completed => SpanEnd::Normal,
            StepEnd::Suspended => {
                step.attributes.push(attribute::text(convention::STEP_END, "suspended"));
                SpanEnd::Normal
            }
            StepEnd::Failed { error } => SpanEnd::failed("failed", target.error(error)),
            StepEnd::Interrupted { reason } => SpanEnd::failed("interrupted", target.error(reason)),
            other => SpanEnd::failed("_OTHER", format!("{other:?}")),
        };
        if step.is_agent() {
            return self.end_agent(step, at, ending, target);
        }
        self.send(step, at, ending, target);
    }

    /// Ends what nobody will end any more.
    pub(super) fn end_unheard(
        &mut self,
        mut span: OpenSpan,
        at: Timestamp,
        cut: Interruption,
        target: &ExportTarget,
    ) {
        let is_question = matches!(span.subject, SpanSubject::Question { .. });
        if is_question {
            span.attributes.push(attribute::flag(convention::QUESTION_ANSWERED, false));
        }
        let ending = match cut {
            Interruption::ParentEnded if !is_question => SpanEnd::failed("interrupted", "it was cut short"),
            Interruption::ParentEnded => SpanEnd::Normal,
            Interruption::Suspended => {
                span.attributes.push(attribute::text(convention::STEP_END, "suspended"));
                SpanEnd::Normal
            }
        };
        match &span.subject {
            SpanSubject::Agent => self.end_agent(span, at, ending, target),
            SpanSubject::Tool { over, .. } => {
                let at = over.unwrap_or(at);
                let error = (cut == Interruption::ParentEnded).then_some("interrupted");
                measure_tool(&span, at, error, target);
                self.send(span, at, ending, target);
            }
            _ => self.send(span, at, ending, target),
        }
    }
}

fn retried(target: &ExportTarget, what: &'static str) {
    if let Some(metrics) = &target.metrics {
        metrics.retried(what);
    }
}

fn question_name(kind: &QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Approval => "approval",
        QuestionKind::Confirm => "confirm",
        QuestionKind::Choice { .. } => "choice",
        QuestionKind::Text => "text",
        _ => "other",
    }
}

fn decision_name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve => "approve",
        Decision::Revise { .. } => "revise",
        Decision::Reject { .. } => "reject",
        Decision::Choose { .. } => "choose",
        Decision::Text { .. } => "text",
        Decision::Json { .. } => "json",
        Decision::Media { .. } => "media",
        _ => "other",
    }
}
