//! Log lines of a run: what happens, one line each, for logs and for terminals that cannot do more.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::{Event, EventKind, ModelCallEnd, StepEnd, Timestamp};
use convoke_text::columns;
use serde_json::Value;

use crate::account::answer_text;
use crate::lines::Rich;
use crate::progress::{
    NodeKind, NodeState, ProgressNode, RunProgress, call_text, comma_list, without_requests,
};
use crate::{Tone, human, text};

/// How much of a text others wrote stands in a line.
const LONGEST: usize = 200;

/// The choice of what is written of a run.
#[derive(Debug, Clone, Copy)]
pub struct LogOptions {
    /// Whether every call is.
    pub verbose: bool,
    /// Whether what models say is.
    pub says: bool,
    /// Words for a reason why a result is looked into. Only whoever knows what the run is a run of has them.
    pub reason: fn(&Value) -> String,
}

/// The lines of a run, made event by event. Begins of nodes are held back while a resumed run is only told again.
#[derive(Debug)]
pub struct LogLines {
    options: LogOptions,
    started: Option<Timestamp>,
    /// Nodes that began, and of which nobody was told.
    held: BTreeSet<usize>,
    /// Messages that are being said.
    said: BTreeMap<String, String>,
    /// Calls that were refused.
    refused: BTreeSet<String>,
}

impl LogLines {
    /// No lines yet.
    #[must_use]
    pub fn new(options: LogOptions) -> Self {
        Self {
            options,
            started: None,
            held: BTreeSet::new(),
            said: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Returns the lines for something that the tree has taken in already.
    pub fn lines(&mut self, progress: &RunProgress, event: &Event) -> Vec<Rich> {
        let at = event.at;
        let started = *self.started.get_or_insert(at);
        if let Some(skipped) = skipped(progress, event) {
            self.held.remove(&skipped);
        }
        let mut said = self.begun(progress);
        said.extend(self.event(progress, event));
        let time = format!("[{:>10}] ", human::duration(at.since(started)));
        said.into_iter().map(|(tone, line)| Rich::new(Tone::Faint, time.clone()).with(tone, line)).collect()
    }

    /// Nodes in which something happens now, and of which nobody was told.
    fn begun(&mut self, progress: &RunProgress) -> Vec<(Tone, String)> {
        let due = |row: &usize| !progress.is_resumed() || progress.nodes()[*row].is_live;
        let now: Vec<usize> = self.held.iter().copied().filter(due).collect();
        let mut lines = Vec::new();
        for index in now {
            self.held.remove(&index);
            let row = &progress.nodes()[index];
            lines.push((Tone::Plain, format!("{}: begins", named(row))));
            // That began before anything happened in it now, so nobody was told of it either.
            lines.extend((progress.is_resumed() && row.iteration > 0).then(|| round(row)));
        }
        lines
    }

    fn event(&mut self, progress: &RunProgress, event: &Event) -> Vec<(Tone, String)> {
        let row = progress.node(&event.path);
        let line = match &event.kind {
            EventKind::RunStarted { workflow, resumed } => {
                let goes = if *resumed { "goes on" } else { "begins" };
                Some((Tone::Plain, format!("{}: {goes}, run {}", text::one_line(workflow), event.run)))
            }
            EventKind::StepStarted { .. } => return self.started(progress, event),
            EventKind::StepEnded(end) => self.ended(progress, event, end),
            EventKind::ModelCallStarted(call) if self.options.verbose && !event.replayed => {
                Some((Tone::Faint, format!("{}: asks {}", row.name, text::one_line(&call.model))))
            }
            EventKind::ModelCallEnded { usage, end, .. } if !event.replayed => match (end, usage) {
                (ModelCallEnd::Failed { error, .. }, _) => {
                    Some((Tone::Caution, format!("{}: {}", row.name, short(error))))
                }
                (_, Some(usage)) if self.options.verbose => {
                    Some((Tone::Faint, format!("{}: {}", row.name, human::usage(usage))))
                }
                _ => None,
            },
            EventKind::MessageDelta { id, text } if self.options.says && !event.replayed => {
                self.said.entry(id.clone()).or_default().push_str(text);
                None
            }
            EventKind::MessageEnded { id, .. } => return self.message_lines(&row.name, id),
            EventKind::MessageRestarted { id, model, reason } => {
                self.said.remove(id);
                Some((
                    Tone::Caution,
                    format!("{}: {}; {} begins anew", row.name, short(reason), text::one_line(model)),
                ))
            }
            EventKind::ToolCallExecuting { id } if !event.replayed => {
                let call =
                    progress.call(&event.path, id).map(|known| call_text(&known.tool, &known.arguments));
                Some((Tone::Plain, format!("{}: {}", row.name, short(&call.unwrap_or_default()))))
            }
            // Why it was refused was told.
            EventKind::ToolCallResult { id, .. } if self.refused.remove(id) => None,
            EventKind::ToolCallResult { id, content, is_error: true } if !event.replayed => {
                let tool = progress.call(&event.path, id).map_or("a tool", |known| &known.tool);
                Some((
                    Tone::Caution,
                    format!("{}: {} failed: {}", row.name, text::one_line(tool), short(content)),
                ))
            }
            EventKind::ToolCallRejected { id, reason } if !event.replayed => {
                self.refused.insert(id.clone());
                let tool = progress.call(&event.path, id).map_or("a tool", |known| &known.tool);
                Some((
                    Tone::Caution,
                    format!("{}: {} refused: {}", row.name, text::one_line(tool), short(reason)),
                ))
            }
            EventKind::QuestionAsked { question, .. } if !event.replayed => {
                Some((Tone::Caution, format!("{}: asks: {}", row.name, short(&question.title))))
            }
            EventKind::QuestionAnswered { answer, .. } if !event.replayed => {
                Some((Tone::Plain, format!("{}: answered: {}", row.name, short(&answer_text(answer)))))
            }
            EventKind::RetryFailed { attempt, error, .. } if is_now(progress, row) => {
                Some((Tone::Caution, format!("{}: try {attempt} failed: {}", row.name, short(error))))
            }
            EventKind::RetryScheduled { delay, .. } if is_now(progress, row) => {
                Some((Tone::Plain, format!("{}: tries again in {}", row.name, human::duration(*delay))))
            }
            EventKind::Custom { name, value } if is_now(progress, row) => self.custom(row, name, value),
            _ => None,
        };
        line.into_iter().collect()
    }

    fn message_lines(&mut self, name: &str, message: &str) -> Vec<(Tone, String)> {
        let text = text::clean(self.said.remove(message).unwrap_or_default().trim_end());
        let lines = text.lines().map(|line| (Tone::Faint, format!("{name} │ {line}").trim_end().to_owned()));
        lines.collect()
    }

    fn started(&mut self, progress: &RunProgress, event: &Event) -> Vec<(Tone, String)> {
        let nearest = progress.nearest(&event.path);
        let row = &progress.nodes()[nearest];
        if progress.begun_at(&event.path) != Some(nearest) {
            let goes_round = matches!(&event.kind, EventKind::StepStarted { kind } if kind == "iteration");
            return if goes_round && is_now(progress, row) { vec![round(row)] } else { Vec::new() };
        }
        // Told with whatever happens next: one that is skipped does not begin.
        if is_told(row, self.options.verbose) {
            self.held.insert(nearest);
        }
        Vec::new()
    }

    fn ended(&mut self, progress: &RunProgress, event: &Event, end: &StepEnd) -> Option<(Tone, String)> {
        let index = progress.begun_at(&event.path)?;
        let row = &progress.nodes()[index];
        if !is_told(row, self.options.verbose) {
            return None;
        }
        let name = named(row);
        let is_untold = self.held.remove(&index);
        if is_untold && *end == StepEnd::Completed && row.state != NodeState::Skipped {
            return Some((Tone::Faint, format!("{name}: done before")));
        }
        match end {
            StepEnd::Completed if row.state == NodeState::Skipped => {
                Some((Tone::Faint, format!("{name}: skipped{}", after(&row.note))))
            }
            StepEnd::Completed => {
                let mut facts = vec![format!("{name}: done")];
                let (tokens, cost) = (row.used.tokens(), row.used.cost());
                if !tokens.is_empty() {
                    facts.push(format!("{tokens} tokens"));
                }
                facts.extend(Some(cost).filter(|cost| !cost.is_empty() && cost != human::UNKNOWN));
                facts.push(human::duration(row.elapsed(event.at)));
                Some((Tone::Good, facts.join(", ")))
            }
            StepEnd::Failed { error } => {
                Some((Tone::Bad, format!("{name}: failed: {}", short(without_requests(error)))))
            }
            StepEnd::Suspended => Some((Tone::Caution, format!("{name}: waits"))),
            StepEnd::Interrupted { reason } => {
                Some((Tone::Caution, format!("{name}: stopped: {}", short(reason))))
            }
            _ => None,
        }
    }

    fn custom(&self, row: &ProgressNode, name: &str, value: &Value) -> Option<(Tone, String)> {
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        match name {
            "convergence_cap_reached" => {
                let line = format!("{}: not converged within {}", row.name, number("cap"));
                Some((Tone::Caution, line))
            }
            "goal_incomplete" => {
                Some((Tone::Caution, format!("{}: cut short{}", row.name, after(&short(word("reason"))))))
            }
            "output_missing" => {
                let line = format!(
                    "{}: missing: {}{}",
                    row.name,
                    comma_list(value.get("fields")),
                    after(word("problem"))
                );
                Some((Tone::Caution, line))
            }
            "changes_refused" => {
                let notes = value.get("notes").and_then(Value::as_array).into_iter().flatten();
                let notes = notes.filter_map(Value::as_str).map(short).collect::<Vec<_>>().join("; ");
                Some((Tone::Caution, format!("{}: changes not taken over{}", row.name, after(&notes))))
            }
            "graph.template_unfilled" => {
                let line = format!("{}: left as it is: {}", row.name, comma_list(value.get("left")));
                Some((Tone::Caution, line))
            }
            "context_cut" => {
                let parts = value.get("parts").and_then(Value::as_array).map_or(0, Vec::len) as u64;
                let line = format!("{}: {} shortened to fit", row.name, human::count(parts, "part"));
                Some((Tone::Caution, line))
            }
            "supervision" => match word("phase") {
                "reconcile" => {
                    let reasons = value.get("triggers").and_then(Value::as_array).into_iter().flatten();
                    let reasons = short(&reasons.map(self.options.reason).collect::<Vec<_>>().join("; "));
                    let line = format!("{}: looked into: {reasons}", row.name);
                    (!reasons.is_empty()).then_some((Tone::Caution, line))
                }
                "supervise" => {
                    let (verdict, reason) = (short(word("verdict")), after(&short(word("reason"))));
                    Some((Tone::Plain, format!("{}: supervisor: {verdict}{reason}", row.name)))
                }
                phase if self.options.verbose => Some((Tone::Faint, format!("{}: {phase}", row.name))),
                _ => None,
            },
            _ => None,
        }
    }
}

fn round(row: &ProgressNode) -> (Tone, String) {
    (Tone::Plain, format!("{}: iteration {}", row.name, row.iteration))
}

/// The node that is skipped, if that is what is told.
fn skipped(progress: &RunProgress, event: &Event) -> Option<usize> {
    match &event.kind {
        EventKind::Custom { name, value } if name == "goal_skipped" => {
            Some(progress.named(&event.path, value.get("goal").and_then(Value::as_str)))
        }
        _ => None,
    }
}

/// Whether what is told of a node happens now, rather than again.
fn is_now(progress: &RunProgress, row: &ProgressNode) -> bool {
    !progress.is_resumed() || row.is_live
}

fn is_told(row: &ProgressNode, verbose: bool) -> bool {
    verbose || matches!(row.kind, NodeKind::Goal | NodeKind::Convergence | NodeKind::Agent | NodeKind::Node)
}

fn named(row: &ProgressNode) -> String {
    format!("{} {}", row.kind, row.name)
}

fn short(text: &str) -> String {
    columns::cut(&text::one_line(text), LONGEST)
}

fn after(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
