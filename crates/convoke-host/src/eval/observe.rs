//! Observes what happened in a run, from its journal, for assertions.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::{Decision, EventKind, Question, Segment, json_text};
use convoke_eval::observation::{ASSISTANT, Episode, ObservedCall, ObservedUsage};
use convoke_eval::{Facts, Observation};
use convoke_history::{Detail, Effect, History};
use convoke_machine::conversation::{ClientCalls, EARLIER_MAIL, TOOL_RESULTS, TURN};
use serde_json::Value;

/// Why a run was cancelled that the scenario had nothing for begins like this.
pub(super) const UNANSWERED: &str = "the scenario has nothing more for it: ";

/// Why evals of earlier builds cancelled a run that had used more than it may begins like this.
const OVERDRAWN: &str = "the budget is used up: ";

/// What a workflow tells when it enters a state.
const ENTERED: &str = "workflow.state_entered";

/// What is known of a run: what is on record of it, and what happened in it.
pub(super) fn observation(
    history: &History,
    facts: Facts,
    result: Option<String>,
    events: impl IntoIterator<Item = (String, EventKind)>,
) -> Observation {
    let spent = history.spent();
    let status = serde_json::to_value(history.record.status).unwrap_or_default();
    let error = history.ending.as_ref().and_then(|ending| ending.error.clone());
    let after = |beginning: &str| Some(error.as_deref()?.split_once(beginning)?.1.to_owned());
    let (status, error) = match (after(UNANSWERED), after(OVERDRAWN)) {
        (Some(why), _) => ("suspended", Some(why)),
        (None, Some(why)) => ("budget_exhausted", Some(why)),
        // The workflow's own budget: its run has completed, and is not what was hoped for.
        (None, None) if facts.workflow.as_deref() == Some("budget_exhausted") => {
            ("budget_exhausted", Some("the workflow's own budget is used up".to_owned()))
        }
        (None, None) if facts.workflow.as_deref() == Some("max_visits_exceeded") => {
            ("max_visits_exceeded", Some("a state was to be entered once too often".to_owned()))
        }
        (None, None) => (status.as_str().unwrap_or_default(), error),
    };
    let mut fold = Fold::default();
    events.into_iter().for_each(|(path, event)| fold.add(&path, event));
    let (whole, turns) = fold.end(result.unwrap_or_default(), &facts);
    Observation {
        status: status.to_owned(),
        error,
        usage: ObservedUsage {
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
            tokens: spent.usage.total_tokens(),
            input_tokens: spent.usage.input_tokens,
            output_tokens: spent.usage.output_tokens,
            cost: spent.whole_cost().map(dollars),
        },
        facts,
        whole,
        turns,
    }
}

/// Episodes being made of events.
#[derive(Default)]
struct Fold {
    whole: Episode,
    turns: Vec<Episode>,
    current: Option<Episode>,
    /// Where the workflow is that the scenario is about.
    workflow: Option<String>,
    /// Where other workflows are that agents turned to: what happens there is their own business.
    others: Vec<String>,
    /// Whether something came in the current turn that it begins with.
    has_begun: bool,
    /// Whether something was said in it.
    has_spoken: bool,
    /// What was said last, by a model or a composition.
    last: String,
    /// Calls whose arguments or results are still to come, by their id: their number in the whole, and in the turn.
    calls: BTreeMap<String, (usize, Option<usize>, String)>,
    /// Calls that were begun, by their id.
    begun: BTreeSet<String>,
}

impl Fold {
    fn add(&mut self, path: &str, event: EventKind) {
        if matches!(&event, EventKind::Custom { name, .. } if name == ENTERED) {
            let own = self.workflow.get_or_insert_with(|| path.to_owned());
            if own.as_str() != path {
                self.others.push(path.to_owned());
            }
        }
        let below = |other: &String| {
            path.strip_prefix(other.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.others.iter().any(below) {
            return;
        }
        match event {
            EventKind::QuestionAsked { question, .. } if question.title == TURN => self.next_turn(&question),
            EventKind::QuestionAnswered { answer, .. } => {
                if let (Decision::Text { text }, Some(_)) = (answer.decision, &self.current) {
                    self.has_begun = true;
                    self.both(|episode| episode.said.push(("user".to_owned(), text.clone())));
                }
            }
            // What was passed over was taken, and meant nothing.
            EventKind::MailReceived { .. } if is_passed_over(path) => {}
            EventKind::MailReceived { channel, payload, .. } => self.received(&channel, &payload),
            EventKind::MessageEnded { text, .. } if !text.is_empty() => self.spoken(&text),
            EventKind::ToolCallStarted { id, tool, .. } => self.called(id, tool),
            EventKind::ToolCallArguments { id, delta } => {
                let arguments = self.calls.get_mut(&id).map(|(_, _, text)| {
                    text.push_str(&delta);
                    serde_json::from_str::<Value>(text).unwrap_or_default()
                });
                self.call(&id, |call| call.arguments = arguments.clone().unwrap_or_default());
            }
            EventKind::ToolCallRejected { id, .. } => self.call(&id, |call| call.refused = true),
            // What was not even begun came to nothing but why.
            EventKind::ToolCallExecuting { id } => self.begun.extend([id]),
            EventKind::ToolCallResult { id, is_error: true, .. } => {
                let is_begun = self.begun.contains(&id);
                self.call(&id, |call| (call.failed, call.refused) = (true, call.refused || !is_begun));
            }
            EventKind::Custom { name, value } => self.happened(&name, &value),
            _ => {}
        }
    }

    fn received(&mut self, channel: &str, payload: &Value) {
        if channel.split('/').next() != Some(TOOL_RESULTS) {
            // Whoever reads the run later is not told of the question that nobody answered because this came.
            if self.has_begun {
                let said = self.last.clone();
                self.begin_turn(&said, None);
            }
            self.has_begun = true;
            self.both(|episode| episode.said.push((channel.to_owned(), text_of(payload))));
        } else if payload["is_error"] == true {
            self.call(payload["call_id"].as_str().unwrap_or_default(), |call| call.failed = true);
        }
    }

    /// Something that only surfaces know of. Those that have states, rules or compositions tell under these names.
    fn happened(&mut self, name: &str, value: &Value) {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let step = text("step_id");
        match name {
            ENTERED => self.both(|episode| episode.path.push(text("state"))),
            "workflow.completed" => self.both(|episode| episode.is_over = true),
            "validation.failed" => {
                self.both(|episode| {
                    episode.broken_rules.push(text("validator"));
                    // It was not said after all.
                    if episode.said.last().is_some_and(|(who, _)| who == ASSISTANT) {
                        episode.said.pop();
                    }
                });
                self.spoken(&text("instead"));
            }
            "composition.completed" => {
                self.has_spoken = true;
                if value["error"].is_null() {
                    self.last = text_of(&value["output"]);
                    self.both(|episode| episode.composition = Some(value["output"].clone()));
                }
            }
            "composition.step.completed" if value.get("error").is_none() => {
                self.both(|episode| {
                    episode.steps.insert(step.clone(), value["output"].clone());
                });
            }
            "composition.branch.evaluated" => {
                let taken = value["taken"].as_str().map(str::to_owned);
                self.both(|episode| {
                    episode.branches.insert(step.clone(), taken.clone());
                });
            }
            "composition.parallel.completed" => {
                let mut branches = value["branches"].as_array().into_iter().flatten();
                let complete = branches.all(|branch| branch["status"] == "completed");
                self.both(|episode| {
                    episode.parallels.insert(step.clone(), complete);
                });
            }
            _ => {}
        }
    }

    /// Lets the whole and the current turn know something.
    fn both(&mut self, know: impl Fn(&mut Episode)) {
        know(&mut self.whole);
        self.current.as_mut().map(know);
    }

    fn spoken(&mut self, text: &str) {
        self.has_spoken = true;
        text.clone_into(&mut self.last);
        let state = self.whole.state().map(str::to_owned);
        self.both(|episode| {
            episode.said.push((ASSISTANT.to_owned(), text.to_owned()));
            if let Some(state) = state.clone().filter(|state| !episode.spoke.contains(state)) {
                episode.spoke.push(state);
            }
        });
    }

    fn called(&mut self, id: String, tool: String) {
        let number = self.whole.calls.len();
        let own = self.current.as_ref().map(|turn| turn.calls.len());
        self.calls.insert(id, (number, own, String::new()));
        let state = self.whole.state().map(str::to_owned);
        let call = ObservedCall { tool, arguments: Value::Null, state, failed: false, refused: false };
        self.both(|episode| episode.calls.push(call.clone()));
    }

    fn call(&mut self, id: &str, know: impl Fn(&mut ObservedCall)) {
        let Some((number, own, _)) = self.calls.get(id) else { return };
        self.whole.calls.get_mut(*number).map(&know);
        if let (Some(turn), Some(own)) = (&mut self.current, own) {
            turn.calls.get_mut(*own).map(&know);
        }
    }

    /// The person is asked what comes next: what was going on is over.
    fn next_turn(&mut self, question: &Question) {
        let said = question.subject["said"].as_str().unwrap_or_default();
        let trouble = Some(question.details.clone()).filter(|trouble| !trouble.is_empty());
        self.begin_turn(said, trouble);
    }

    fn begin_turn(&mut self, said: &str, trouble: Option<String>) {
        self.close(said, trouble);
        self.calls.clear();
        self.begun.clear();
        self.current = Some(Episode { path: self.whole.path.clone(), ..Episode::default() });
    }

    fn close(&mut self, said: &str, trouble: Option<String>) {
        let Some(mut turn) = self.current.take() else { return };
        if self.has_spoken {
            turn.content = said.to_owned();
            let state = turn.state().map(str::to_owned);
            for episode in [&mut turn, &mut self.whole] {
                // What compositions come to is no message of a model.
                if !said.is_empty() && !episode.said.iter().any(|(_, text)| text == said) {
                    episode.said.push((ASSISTANT.to_owned(), said.to_owned()));
                    episode.spoke.extend(state.clone().filter(|state| !episode.spoke.contains(state)));
                }
            }
        }
        turn.trouble = trouble;
        if std::mem::take(&mut self.has_begun) {
            self.turns.push(turn);
        }
        self.has_spoken = false;
    }

    fn end(mut self, result: String, facts: &Facts) -> (Episode, Vec<Episode>) {
        self.close(&result, None);
        if self.whole.path.is_empty() {
            self.whole.path.extend(facts.state.clone());
        }
        self.whole.is_over |= facts.workflow.as_deref() == Some("completed");
        self.whole.content = result;
        (self.whole, self.turns)
    }
}

/// Whether mail that was taken there had come before anybody waited for it.
fn is_passed_over(path: &str) -> bool {
    path.split('/').any(|segment| Segment::of(segment).written() == EARLIER_MAIL)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text(value), str::to_owned)
}

/// What models said in these effects, in order.
pub(super) fn replies(effects: &[Effect]) -> impl Iterator<Item = &convoke_core::ModelReply> {
    effects.iter().filter_map(|effect| match &effect.current().detail {
        Detail::Model { reply, .. } => reply.as_deref(),
        _ => None,
    })
}

/// The calls that a client has executed, by their tools, in order.
pub(super) fn client_calls(effects: &[Effect]) -> Vec<String> {
    let done = |effect: &Effect| match &effect.current().detail {
        Detail::Receive { channel, expected, received, .. }
            if channel.split('/').next() == Some(TOOL_RESULTS) =>
        {
            let waiting: ClientCalls = serde_json::from_value(expected.clone()).ok()?;
            let number = match received {
                Some(received) => waiting.result(&received.payload).ok()?.number,
                // A step of a composition fails by what its client reports.
                None => effect.current().error.as_ref().map(|_| 0)?,
            };
            waiting.calls.get(number).map(|call| call.tool.clone())
        }
        _ => None,
    };
    effects.iter().filter_map(done).collect()
}

/// Money as reports have it. No sum of an eval is so large that its cents are lost.
#[allow(clippy::cast_precision_loss)]
fn dollars(money: convoke_core::Money) -> f64 {
    money.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mail_that_was_passed_over_was_not_received() {
        let mail = || EventKind::MailReceived {
            channel: "Approved".to_owned(),
            sender: "the till".to_owned(),
            payload: json!("paid"),
        };
        let mut fold = Fold::default();
        fold.add("talk/earlier mail", mail());
        fold.add("talk/earlier mail#2/Approved", mail());
        assert!(fold.whole.said.is_empty() && !fold.has_begun, "{:?}", fold.whole.said);
        fold.add("talk", mail());
        assert_eq!(fold.whole.said, [("Approved".to_owned(), "paid".to_owned())]);
        assert!(fold.has_begun);
    }
}
