//! What happens, folded into the tree.

use convoke_core::{Event, EventKind, Path, RunEnd, RunStatus, StepEnd, Timestamp};
use serde_json::Value;

use super::activity::{self, Activity, REMEMBERED};
use super::planned::kind_of;
use super::row::State;
use super::tree::{Call, Progress, Said, name_of};
use crate::terminal::text;

/// How much of what is being said is remembered.
const HEARD: usize = 4_000;

impl Progress {
    /// Takes something in.
    pub(crate) fn take_in(&mut self, event: &Event) {
        let (path, at) = (&event.path, event.at);
        match &event.kind {
            EventKind::RunStarted { resumed, .. } => {
                self.resumed = *resumed;
                self.rows[0].begin(at);
                self.rows[0].used = self.used_before(&Path::from(""));
            }
            EventKind::RunEnded(end) => self.run_ended(end, at),
            EventKind::StepStarted { kind } => self.step_started(path, kind, at),
            EventKind::StepEnded(end) => self.step_ended(path, end, at),
            // What was used before is known.
            EventKind::ModelCallStarted(call) if !event.replayed => {
                let row = self.nearest(path);
                self.is_live(row);
                self.rows[row].does(&call.id, Activity::Asking { model: call.model.clone() });
            }
            EventKind::ModelCallEnded { id, usage, .. } if !event.replayed => {
                let row = self.nearest(path);
                self.rows[row].does_no_more(id);
                for row in self.upwards(row).collect::<Vec<_>>() {
                    self.rows[row].used.add(*usage);
                }
            }
            EventKind::MessageStarted { .. }
            | EventKind::MessageDelta { .. }
            | EventKind::MessageRestarted { .. }
            | EventKind::MessageEnded { .. } => self.message(event),
            EventKind::ToolCallStarted { id, tool, .. } => {
                let row = self.nearest(path);
                self.calls.insert((row, id.clone()), Call { tool: tool.clone(), ..Call::default() });
            }
            EventKind::ToolCallArguments { id, delta } => {
                let call = self.calls.get_mut(&(self.nearest(path), id.clone()));
                if let Some(call) = call.filter(|call| call.arguments.len() < REMEMBERED) {
                    call.arguments.push_str(delta);
                }
            }
            EventKind::ToolCallExecuting { id } if !event.replayed => {
                let row = self.nearest(path);
                self.is_live(row);
                let call = self.call(path, id);
                let name = call.map_or("a tool", |call| &call.tool).to_owned();
                let arguments = call.map_or("", |call| &call.arguments).to_owned();
                self.rows[row].does(id, Activity::Tool { name, arguments });
            }
            EventKind::ToolCallEnded { id } | EventKind::ToolCallResult { id, .. } => {
                let row = self.nearest(path);
                self.rows[row].does_no_more(id);
            }
            EventKind::QuestionAsked { id, question } if !event.replayed => {
                let row = self.nearest(path);
                self.is_live(row);
                self.questions.insert(id.to_string(), row);
                self.rows[row].state = State::Person;
                self.rows[row].note = text::one_line(&question.title);
            }
            EventKind::QuestionAnswered { id, .. } => {
                if let Some(row) = self.questions.remove(id.as_str()) {
                    self.rows[row].state = State::Running;
                    self.rows[row].note.clear();
                }
            }
            EventKind::LoopIteration { iteration } => {
                let row = self.nearest(path);
                self.rows[row].iteration = *iteration;
            }
            EventKind::RetryAttempt { attempt } => {
                let row = self.nearest(path);
                self.rows[row].attempt = *attempt;
                self.rows[row].does_no_more(path.as_str());
            }
            EventKind::RetryScheduled { delay, .. } if !event.replayed => {
                let row = self.nearest(path);
                self.rows[row].does(path.as_str(), Activity::Pausing { until: at + *delay });
            }
            EventKind::Custom { name, value } => self.custom(path, name, value),
            _ => {}
        }
    }

    fn is_live(&mut self, row: usize) {
        for row in self.upwards(row).collect::<Vec<_>>() {
            self.rows[row].is_live = true;
        }
    }

    fn run_ended(&mut self, end: &RunEnd, at: Timestamp) {
        let status = end.status;
        self.ended = Some(status);
        // What a journal answered in secret is known only now.
        if end.totals.model_calls > self.rows[0].used.calls {
            self.rows[0].used = end.totals.into();
        }
        let whole = match status {
            RunStatus::Completed => State::Done,
            RunStatus::Suspended => State::Person,
            RunStatus::Cancelled => State::Stopped,
            _ => State::Failed,
        };
        let parts = if status == RunStatus::Suspended { State::Person } else { State::Stopped };
        self.rows[0].end(whole, at);
        if let Some(error) =
            end.error.as_deref().filter(|_| whole == State::Failed && self.rows[0].note.is_empty())
        {
            self.rows[0].note = text::one_line(error);
        }
        self.stop(parts, at);
        self.said = None;
    }

    fn step_started(&mut self, path: &Path, kind: &str, at: Timestamp) {
        if let Some(kind) = kind_of(kind) {
            let row = self.begun_by(path, kind);
            // The whole begins with the run.
            if row > 0 {
                self.rows[row].begin(at);
                self.rows[row].used = self.rows[row].used.with(self.used_before(path));
            }
            return;
        }
        let row = self.nearest(path);
        if kind == "iteration" {
            self.rows[row].iteration = repetition(path);
        } else if let Some(part) = activity::part(kind) {
            self.rows[row].does(path.as_str(), part);
        }
    }

    fn step_ended(&mut self, path: &Path, end: &StepEnd, at: Timestamp) {
        let Some(row) = self.at.get(path).copied() else {
            let row = self.nearest(path);
            self.rows[row].does_no_more(path.as_str());
            return;
        };
        if row == 0 {
            return;
        }
        let (state, note) = match end {
            StepEnd::Completed => (State::Done, None),
            StepEnd::Failed { error } => (State::Failed, Some(error)),
            StepEnd::Suspended => (State::Person, None),
            StepEnd::Interrupted { reason } => (State::Stopped, Some(reason)),
            _ => (State::Stopped, None),
        };
        self.rows[row].end(state, at);
        if let Some(note) = note {
            self.rows[row].note = text::one_line(without_requests(note));
        }
    }

    fn message(&mut self, event: &Event) {
        let row = self.nearest(&event.path);
        match &event.kind {
            EventKind::MessageStarted { id, model } if !event.replayed => {
                self.rows[row].does(id, Activity::Hearing { model: model.clone() });
                self.said = Some(Said { message: id.clone(), row, text: String::new() });
            }
            EventKind::MessageDelta { id, text } if !event.replayed => {
                if let Some(said) = self.said.as_mut().filter(|said| said.message == *id) {
                    said.text.push_str(text);
                    forget_beginning(&mut said.text);
                }
            }
            EventKind::MessageRestarted { id, model, .. } => {
                self.rows[row].does(id, Activity::Hearing { model: model.clone() });
                if let Some(said) = self.said.as_mut().filter(|said| said.message == *id) {
                    said.text.clear();
                }
            }
            EventKind::MessageEnded { id, usage, .. } => {
                self.rows[row].does_no_more(id);
                self.said.take_if(|said| said.message == *id);
                // What is asked now is told with its end; what a journal answers is not.
                if event.replayed && !self.knows_the_past() {
                    for row in self.upwards(row).collect::<Vec<_>>() {
                        self.rows[row].used.add(Some(*usage));
                    }
                }
            }
            _ => {}
        }
    }

    fn custom(&mut self, path: &Path, name: &str, value: &Value) {
        let word = |key: &str| value.get(key).and_then(Value::as_str);
        match name {
            "goal_skipped" => {
                let row = self.named(path, word("goal"));
                self.rows[row].state = State::Skipped;
                self.rows[row].note = text::one_line(word("reason").unwrap_or_default());
            }
            "convergence_cap_reached" => {
                let row = self.named(path, word("convergence"));
                let cap = value.get("cap").and_then(Value::as_u64).unwrap_or_default();
                self.rows[row].note = format!("not converged within {cap}");
            }
            "goal_incomplete" => {
                let row = self.named(path, word("goal"));
                self.rows[row].note =
                    format!("cut short: {}", text::one_line(word("reason").unwrap_or_default()));
            }
            "output_missing" => {
                let row = self.named(path, word("goal"));
                self.rows[row].note = format!("missing: {}", words(value.get("fields")));
            }
            "supervision" if word("phase") == Some("supervise") && word("verdict").is_some() => {
                let row = self.nearest(path);
                let verdict = text::one_line(word("verdict").unwrap_or_default());
                self.rows[row].note = format!("supervisor: {verdict}");
            }
            _ => {}
        }
    }
}

/// The number of a repetition, from 1.
fn repetition(path: &Path) -> u64 {
    path.last().map_or(1, |last| last.repetition().into())
}

/// An error without the requests that a divergence has in it, which say nothing to people.
pub(super) fn without_requests(error: &str) -> &str {
    error.split_once(" Recorded: ").map_or(error, |(before, _)| before)
}

/// The texts of a list, with commas.
pub(super) fn words(list: Option<&Value>) -> String {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(|item| text::one_line(&name_of(item))).collect::<Vec<_>>().join(", ")
}

/// Only the end of a long text is shown.
fn forget_beginning(text: &mut String) {
    if text.len() > 2 * HEARD {
        let from = (text.len() - HEARD..text.len()).find(|index| text.is_char_boundary(*index));
        text.drain(..from.unwrap_or(0));
    }
}
