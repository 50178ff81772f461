//! Session log lines for journal entries.

use std::borrow::Cow;

use convoke_core::{Decision, ModelReply, Part, Phase, Role, RunStatus, Timestamp};
use serde_json::{Map, Value, json};

use super::event::{LogEvent, millis};
use super::span::{self, Span, Spans};
use crate::account::part::{self, Supervision};
use crate::{ChronicleEntry, ChronicleEvent, Detail, History, PromptDeltas, TimelineEntry};

/// A log under construction.
pub(super) struct SessionLog<'a> {
    history: &'a History,
    prompts: PromptDeltas<'a>,
    pub(super) lines: Vec<Value>,
    spans: Spans<'a>,
}

impl<'a> SessionLog<'a> {
    pub(super) fn new(history: &'a History, header: Value, happenings: &[ChronicleEntry<'a>]) -> Self {
        let spans = span::spans(history, happenings);
        Self { history, prompts: history.conversations.prompts(), lines: vec![header], spans }
    }

    pub(super) fn add(&mut self, happening: &ChronicleEntry<'a>) {
        match happening.event {
            ChronicleEvent::Began => {
                let content = Some(self.history.record.workflow.clone());
                self.push(
                    happening.at,
                    LogEvent { r#type: "workflow_start", content, ..LogEvent::default() },
                );
            }
            ChronicleEvent::Ended => {
                let record = &self.history.record;
                let error = self.history.ending.as_ref().and_then(|ending| ending.error.clone());
                self.push(
                    happening.at,
                    LogEvent {
                        r#type: "workflow_end",
                        content: Some(record.status.name().to_owned()),
                        success: Some(record.status == RunStatus::Completed),
                        error,
                        duration_ms: Some(millis(record.updated.since(record.created))),
                        ..LogEvent::default()
                    },
                );
            }
            ChronicleEvent::Entry(moment) => {
                for span in self.spans.begin.remove(&moment.seq).unwrap_or_default() {
                    self.span(happening.at, span, false);
                }
                self.entry(moment);
                for span in self.spans.end.remove(&moment.seq).unwrap_or_default() {
                    self.span(happening.at, span, true);
                }
            }
            _ => self.push(happening.at, LogEvent::warning("the run was taken up again")),
        }
    }

    fn push(&mut self, at: Timestamp, event: LogEvent<'_>) {
        let seq = self.lines.len();
        let event = LogEvent { _type: "event", seq, timestamp: at.to_string(), ..event };
        // Strings, numbers and values that were read from JSON: this cannot fail.
        self.lines.push(serde_json::to_value(event).unwrap_or_default());
    }

    fn span(&mut self, at: Timestamp, span: Span<'a>, is_end: bool) {
        let kind = match (span.is_agent, is_end) {
            (false, false) => "goal_start",
            (false, true) => "goal_end",
            (true, false) => "subagent_start",
            (true, true) => "subagent_end",
        };
        let mut event = LogEvent { r#type: kind, step: span.path, ..LogEvent::default() };
        if span.is_agent {
            event.agent = Some(span.name);
            event.meta.insert("subagent_name".to_owned(), span.name.into());
        } else {
            event.goal = Some(span.name);
        }
        let time = if is_end { at } else { span.began };
        event.duration_ms = is_end.then(|| millis(at.since(span.began)));
        self.push(time, event);
    }

    fn entry(&mut self, moment: TimelineEntry<'a>) {
        match (&moment.attempt.detail, moment.phase) {
            (Detail::Model { .. }, Phase::Finished) => self.model(moment),
            (Detail::Tool { tool, arguments, .. }, phase) => self.tool(moment, tool, arguments, phase),
            (Detail::Ask { .. }, Phase::Finished) => self.answer(moment),
            _ => {}
        }
    }

    /// An event at a moment, with what every event has.
    fn at(&self, moment: TimelineEntry<'a>, kind: &'static str) -> LogEvent<'a> {
        let path = &moment.effect.path;
        LogEvent {
            r#type: kind,
            goal: self.history.steps.innermost(path, &["goal", "convergence"]).map(|stop| stop.name),
            agent: self.history.steps.innermost(path, &["agent"]).map(|stop| stop.name),
            step: path.as_str(),
            ..LogEvent::default()
        }
    }

    fn model(&mut self, moment: TimelineEntry<'a>) {
        let Detail::Model { model, messages, reply, .. } = &moment.attempt.detail else { return };
        let began = moment.attempt.began.unwrap_or(moment.at);
        for message in self.prompts.next(&moment.effect.path, *messages).unwrap_or_default().messages {
            let kind = match message.role {
                Role::System => "system",
                Role::User => "user",
                // Told by the events of the reply and of the tools.
                Role::Assistant | Role::Tool => continue,
            };
            let event = LogEvent { content: Some(message.text()), ..self.at(moment, kind) };
            self.push(began, event);
        }
        let mut event = self.at(moment, "assistant");
        let latency = self.history.duration(moment.attempt).map(millis);
        event.duration_ms = latency;
        event.success = Some(moment.attempt.error.is_none());
        event.error = moment.attempt.error.as_ref().map(ToString::to_string);
        event.meta.insert("model".to_owned(), model.as_str().into());
        if let Some(latency) = latency {
            event.meta.insert("latency_ms".to_owned(), latency.into());
        }
        if let Some(usage) = moment.attempt.usage() {
            event.meta.insert("tokens_in".to_owned(), usage.input_tokens.into());
            event.meta.insert("tokens_out".to_owned(), usage.output_tokens.into());
        }
        if let Some(reply) = reply {
            event.content = Some(reply.text());
            event.meta.insert("response".to_owned(), reply.text().into());
            let thinking = thoughts(reply);
            if !thinking.is_empty() {
                event.meta.insert("thinking".to_owned(), thinking.into());
            }
        }
        self.push(moment.at, event);
        if let (Some(phase), Some(reply)) =
            (part::supervision(&self.history.steps, &moment.effect.path), reply)
        {
            let said: Value = serde_json::from_str(&reply.text()).unwrap_or_default();
            let mut meta = Map::new();
            for key in ["commitment", "confidence", "verdict", "correction"] {
                if let Some(value) = said.get(key) {
                    meta.insert(key.to_owned(), value.clone());
                }
            }
            self.supervision(moment, phase, reply.text(), meta);
        }
    }

    /// A person's answer that decides about a goal.
    fn answer(&mut self, moment: TimelineEntry<'a>) {
        let Detail::Ask { question, answer: Some(answer) } = &moment.attempt.detail else { return };
        let Some(phase) = part::supervision(&self.history.steps, &moment.effect.path) else { return };
        let (verdict, text) = match &answer.decision {
            Decision::Approve => ("approve", None),
            Decision::Revise { text } => ("revise", Some(text)),
            Decision::Reject { reason } => ("reject", Some(reason)),
            Decision::Choose { option } => ("choose", Some(option)),
            Decision::Text { text } => ("text", Some(text)),
            // Goals are not decided about by values.
            _ => return,
        };
        let mut meta = Map::new();
        meta.insert("human".to_owned(), true.into());
        meta.insert("supervisor_type".to_owned(), "human".into());
        meta.insert("verdict".to_owned(), verdict.into());
        if let Some(text) = text {
            meta.insert("guidance".to_owned(), text.as_str().into());
        }
        if !answer.by.is_empty() {
            meta.insert("source".to_owned(), answer.by.as_str().into());
        }
        self.supervision(moment, phase, question.title.clone(), meta);
    }

    fn supervision(
        &mut self,
        moment: TimelineEntry<'a>,
        phase: Supervision,
        content: String,
        meta: Map<String, Value>,
    ) {
        let (kind, name, checkpoint) = match phase {
            Supervision::Commit => ("phase_commit", "commit", "pre"),
            Supervision::Post => ("phase_execute", "execute", "post"),
            Supervision::Supervise => ("phase_supervise", "supervise", "supervise"),
        };
        let mut event = self.at(moment, kind);
        event.content = Some(content.clone());
        event.duration_ms = self.history.duration(moment.attempt).map(millis);
        event.meta = meta.clone();
        event.meta.insert("phase".to_owned(), name.into());
        self.push(moment.at, event);
        let mut event = self.at(moment, "checkpoint");
        event.content = Some(content);
        event.meta = meta;
        event.meta.insert("ckpt_type".to_owned(), checkpoint.into());
        // A path names one step of one run and no other, however often it is repeated.
        event.meta.insert(
            "ckpt_id".to_owned(),
            format!("{}:{}", moment.effect.path.as_str(), moment.effect.ordinal).into(),
        );
        self.push(moment.at, event);
    }

    fn tool(&mut self, moment: TimelineEntry<'a>, tool: &'a str, arguments: &'a Value, phase: Phase) {
        let attempt = moment.attempt;
        let first = attempt.first_seq();
        let link = |event: LogEvent<'a>| LogEvent {
            corr_id: Some(format!("tool-{first}")),
            tool: Some(tool),
            ..event
        };
        let is_first = moment.seq == first;
        if is_first && phase != Phase::Superseded {
            let event = LogEvent { args: Some(members(arguments)), ..link(self.at(moment, "tool_call")) };
            self.push(attempt.began.unwrap_or(moment.at), event);
        }
        if phase == Phase::Started && attempt.ended.is_none() {
            let what = format!("the call of {tool} was begun and has no end: it may have acted");
            let event = LogEvent { content: Some(what), ..link(self.at(moment, "warning")) };
            self.push(moment.at, event);
        }
        if phase != Phase::Finished {
            return;
        }
        let mut event = link(self.at(moment, "tool_result"));
        event.success = Some(!attempt.is_failure());
        event.duration_ms = self.history.duration(attempt).map(millis);
        event.error = attempt.error.as_ref().map(ToString::to_string);
        if let Detail::Tool { result: Some(result), .. } = &attempt.detail {
            if result.is_error {
                event.error = Some(result.content.clone());
            } else {
                event.content = Some(result.content.clone());
            }
            event.meta.insert("result".to_owned(), result.content.as_str().into());
        }
        self.push(moment.at, event);
    }
}

/// Arguments as the format has them: by name.
fn members(arguments: &Value) -> Cow<'_, Value> {
    match arguments {
        Value::Object(_) => Cow::Borrowed(arguments),
        Value::Null => Cow::Owned(json!({})),
        other => Cow::Owned(json!({"value": other})),
    }
}

fn thoughts(reply: &ModelReply) -> String {
    let texts: Vec<&str> = reply
        .message
        .parts
        .iter()
        .filter_map(|part| if let Part::Reasoning { text, .. } = part { Some(&**text) } else { None })
        .collect();
    texts.join("\n")
}
