//! Folds events into the tree.

use convoke_core::{Event, EventKind, Path, RunEnd, RunStatus, Segment, StepEnd, Timestamp};
use serde_json::Value;

use super::activity::{self, REMEMBERED};
use super::{Activity, LiveMessage, LiveToolCall, NodeKind, NodeState, RunProgress};
use crate::text;

/// What steps are called that are graphs, and nodes in them that only compute.
const GRAPH: &str = "graph";
const COMPUTES: &str = "node";

/// How much of what is being said is remembered.
const HEARD: usize = 4_000;

impl RunProgress {
    /// Takes an event in. Events come in the order in which the run emits them.
    pub fn apply(&mut self, event: &Event) {
        let (path, at) = (&event.path, event.at);
        match &event.kind {
            EventKind::RunStarted { resumed, .. } => {
                self.is_resumed = *resumed;
                self.nodes[0].begin(at);
                self.nodes[0].used = self.used_before(&Path::from(""));
            }
            EventKind::RunEnded(end) => self.run_ended(end, at),
            EventKind::StepStarted { kind } => self.step_started(path, kind, at),
            EventKind::StepEnded(end) => self.step_ended(path, end, at),
            // What was used before is known.
            EventKind::ModelCallStarted(call) if !event.replayed => {
                let node = self.nearest(path);
                self.is_live(node);
                self.nodes[node].does(&call.id, Activity::Asking { model: call.model.clone() });
            }
            EventKind::ModelCallEnded { id, usage, .. } if !event.replayed => {
                let node = self.nearest(path);
                self.nodes[node].does_no_more(id);
                for node in self.upwards(node).collect::<Vec<_>>() {
                    self.nodes[node].used.add(*usage);
                }
            }
            EventKind::MessageStarted { .. }
            | EventKind::MessageDelta { .. }
            | EventKind::MessageRestarted { .. }
            | EventKind::MessageEnded { .. } => self.message_event(event),
            EventKind::ToolCallStarted { id, tool, .. } => {
                let node = self.nearest(path);
                self.calls.insert(
                    (node, id.clone()),
                    LiveToolCall { tool: tool.clone(), ..LiveToolCall::default() },
                );
            }
            EventKind::ToolCallArguments { id, delta } => {
                let call = self.calls.get_mut(&(self.nearest(path), id.clone()));
                if let Some(call) = call.filter(|call| call.arguments.len() < REMEMBERED) {
                    call.arguments.push_str(delta);
                }
            }
            EventKind::ToolCallExecuting { id } if !event.replayed => {
                let node = self.nearest(path);
                self.is_live(node);
                let call = self.call(path, id);
                let name = call.map_or("a tool", |call| &call.tool).to_owned();
                let arguments = call.map_or("", |call| &call.arguments).to_owned();
                self.nodes[node].does(id, Activity::Tool { name, arguments });
            }
            EventKind::ToolCallEnded { id } | EventKind::ToolCallResult { id, .. } => {
                let node = self.nearest(path);
                self.nodes[node].does_no_more(id);
            }
            EventKind::QuestionAsked { id, question } if !event.replayed => {
                let node = self.nearest(path);
                self.is_live(node);
                self.questions.insert(id.to_string(), node);
                self.nodes[node].state = NodeState::Person;
                self.nodes[node].note = text::one_line(&question.title);
            }
            EventKind::QuestionAnswered { id, .. } => {
                if let Some(node) = self.questions.remove(id.as_str()) {
                    self.nodes[node].state = NodeState::Running;
                    self.nodes[node].note.clear();
                }
            }
            EventKind::LoopIteration { iteration } => {
                let node = self.nearest(path);
                self.nodes[node].iteration = *iteration;
            }
            EventKind::RetryAttempt { attempt } => {
                let node = self.nearest(path);
                self.nodes[node].attempt = *attempt;
                self.nodes[node].does_no_more(path.as_str());
            }
            EventKind::RetryScheduled { delay, .. } if !event.replayed => {
                let node = self.nearest(path);
                self.nodes[node].does(path.as_str(), Activity::Pausing { until: at + *delay });
            }
            EventKind::Custom { name, value } => self.custom(path, name, value),
            _ => {}
        }
    }

    fn is_live(&mut self, node: usize) {
        for node in self.upwards(node).collect::<Vec<_>>() {
            self.nodes[node].is_live = true;
        }
    }

    fn run_ended(&mut self, end: &RunEnd, at: Timestamp) {
        let status = end.status;
        self.ended = Some(status);
        // What a journal answered in secret is known only now.
        if end.totals.model_calls > self.nodes[0].used.calls {
            self.nodes[0].used = end.totals.into();
        }
        let whole = match status {
            RunStatus::Completed => NodeState::Done,
            RunStatus::Suspended => NodeState::Person,
            RunStatus::Cancelled => NodeState::Stopped,
            _ => NodeState::Failed,
        };
        let parts = if status == RunStatus::Suspended { NodeState::Person } else { NodeState::Stopped };
        if whole == NodeState::Done {
            self.asks_no_more(0);
        }
        self.nodes[0].end(whole, at);
        if let Some(error) =
            end.error.as_deref().filter(|_| whole == NodeState::Failed && self.nodes[0].note.is_empty())
        {
            self.nodes[0].note = text::one_line(error);
        }
        self.stop(parts, at);
        self.message = None;
    }

    /// Forgets the question of a node that has gone on without the answer: something else came first.
    fn asks_no_more(&mut self, node: usize) {
        let known = self.questions.len();
        self.questions.retain(|_, asking| *asking != node);
        if self.questions.len() < known {
            self.nodes[node].note.clear();
        }
    }

    fn step_started(&mut self, path: &Path, kind: &str, at: Timestamp) {
        if kind == GRAPH {
            self.graphs.insert(path.to_string());
        }
        if let Some(kind) = NodeKind::named(kind).or_else(|| self.node_of_graph(path, kind)) {
            let node = self.begun_by(path, kind);
            // The whole begins with the run.
            if node > 0 {
                self.nodes[node].begin(at);
                self.nodes[node].used = self.nodes[node].used.with(self.used_before(path));
            }
            return;
        }
        let node = self.nearest(path);
        if kind == "iteration" {
            self.nodes[node].iteration = repetition(path);
        } else if let Some(part) = activity::part(kind) {
            self.nodes[node].does(path.as_str(), part);
        }
    }

    /// Nodes that ask, call or wait are shown; what only computes is over before it could be read.
    fn node_of_graph(&self, path: &Path, kind: &str) -> Option<NodeKind> {
        let (graph, _) = path.as_str().rsplit_once('/')?;
        (kind != COMPUTES && self.graphs.contains(graph)).then_some(NodeKind::Node)
    }

    fn step_ended(&mut self, path: &Path, end: &StepEnd, at: Timestamp) {
        let Some(node) = self.at.get(path).copied() else {
            let node = self.nearest(path);
            self.nodes[node].does_no_more(path.as_str());
            return;
        };
        if node == 0 {
            return;
        }
        let (state, note) = match end {
            StepEnd::Completed => (NodeState::Done, None),
            StepEnd::Failed { error } => (NodeState::Failed, Some(error)),
            StepEnd::Suspended => (NodeState::Person, None),
            StepEnd::Interrupted { reason } => (NodeState::Stopped, Some(reason)),
            _ => (NodeState::Stopped, None),
        };
        if state == NodeState::Done {
            self.asks_no_more(node);
        }
        self.nodes[node].end(state, at);
        if let Some(note) = note {
            self.nodes[node].note = text::one_line(without_requests(note));
        }
    }

    fn message_event(&mut self, event: &Event) {
        let node = self.nearest(&event.path);
        match &event.kind {
            EventKind::MessageStarted { id, model } if !event.replayed => {
                self.nodes[node].does(id, Activity::Hearing { model: model.clone() });
                self.message = Some(LiveMessage { id: id.clone(), node, text: String::new() });
            }
            EventKind::MessageDelta { id, text } if !event.replayed => {
                if let Some(said) = self.message.as_mut().filter(|said| said.id == *id) {
                    said.text.push_str(text);
                    forget_beginning(&mut said.text);
                }
            }
            EventKind::MessageRestarted { id, model, .. } => {
                self.nodes[node].does(id, Activity::Hearing { model: model.clone() });
                if let Some(said) = self.message.as_mut().filter(|said| said.id == *id) {
                    said.text.clear();
                }
            }
            EventKind::MessageEnded { id, usage, .. } => {
                self.nodes[node].does_no_more(id);
                self.message.take_if(|said| said.id == *id);
                // What is asked now is told with its end; what a journal answers is not.
                if event.replayed && !self.knows_the_past() {
                    for node in self.upwards(node).collect::<Vec<_>>() {
                        self.nodes[node].used.add(Some(*usage));
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
                let node = self.named(path, word("goal"));
                self.nodes[node].state = NodeState::Skipped;
                self.nodes[node].note = text::one_line(word("reason").unwrap_or_default());
            }
            "convergence_cap_reached" => {
                let node = self.named(path, word("convergence"));
                let cap = value.get("cap").and_then(Value::as_u64).unwrap_or_default();
                self.nodes[node].note = format!("not converged within {cap}");
            }
            "goal_incomplete" => {
                let node = self.named(path, word("goal"));
                self.nodes[node].note =
                    format!("cut short: {}", text::one_line(word("reason").unwrap_or_default()));
            }
            "output_missing" => {
                let node = self.named(path, word("goal"));
                self.nodes[node].note = format!("missing: {}", comma_list(value.get("fields")));
            }
            "supervision" if word("phase") == Some("supervise") && word("verdict").is_some() => {
                let node = self.nearest(path);
                let verdict = text::one_line(word("verdict").unwrap_or_default());
                self.nodes[node].note = format!("supervisor: {verdict}");
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
#[must_use]
pub fn without_requests(error: &str) -> &str {
    error.split_once(" Recorded: ").map_or(error, |(before, _)| before)
}

/// The texts of a list, with commas.
#[must_use]
pub fn comma_list(list: Option<&Value>) -> String {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(Value::as_str)
        .map(|item| text::one_line(&Segment::of(item).to_string()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Only the end of a long text is shown.
fn forget_beginning(text: &mut String) {
    if text.len() > 2 * HEARD {
        let from = (text.len() - HEARD..text.len()).find(|index| text.is_char_boundary(*index));
        text.drain(..from.unwrap_or(0));
    }
}
