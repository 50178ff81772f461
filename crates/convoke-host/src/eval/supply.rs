//! What a suspended run is given: the events and results of tools that the scenario has for it.

use std::sync::Arc;

use convoke_core::store::NewMail;
use convoke_core::{Store, Timestamp};
use convoke_eval::scenario::TurnInput;
use convoke_history::History;
use convoke_machine::conversation::TOOL_RESULTS;
use serde_json::json;

use super::observe::replies;
use super::person::is_turn;
use super::trial::Trial;
use crate::HostError;

/// What a suspended run is given.
pub(super) enum Next {
    /// It goes on with what was sent.
    GoOn,
    /// The scenario has nothing for it, and why.
    Stuck(String),
}

impl Trial<'_> {
    /// Gives a suspended run what the scenario has for it.
    pub(super) async fn next(&self, store: &Arc<dyn Store>) -> Result<Next, HostError> {
        let history = History::load(&**store, &self.id).await?;
        let record = &history.record;
        if record.channels.iter().any(|channel| channel == TOOL_RESULTS) {
            return self.give_results(store, &history).await;
        }
        let turn = history.effects.iter().filter(|effect| is_turn(effect)).count();
        let waits = history.questions.iter().map(|question| question.pending.question.title.as_str());
        let waits: Vec<&str> = waits.collect();
        if let Some(turn_number) = turn.checked_sub(1)
            && let Some(TurnInput::Event { event, payload }) =
                self.scenario.turns.get(turn_number).map(|turn| &turn.input)
        {
            if !record.channels.contains(event) {
                let waits = if record.channels.is_empty() {
                    "no event".to_owned()
                } else {
                    record.channels.join(", ")
                };
                return Ok(Next::Stuck(format!(
                    "turn {turn}: it does not wait for {event}, but for {waits}"
                )));
            }
            // Sent under a key, it is sent once, however often this is done.
            let mail = NewMail::json(event, payload)?.key(format!("turn {turn}")).sender("scenario");
            store.post(&self.id, mail).await?;
            return Ok(Next::GoOn);
        }
        if let Some(wake) = record.wake.filter(|_| waits.is_empty()) {
            tokio::time::sleep(wake.since(Timestamp::now())).await;
            return Ok(Next::GoOn);
        }
        let waits = match (waits.as_slice(), record.channels.as_slice()) {
            ([], channels) => format!("it waits for mail on {}", channels.join(", ")),
            (waits, _) => format!("nobody answers, since `answers` has no more: {}", waits.join("; ")),
        };
        Ok(Next::Stuck(waits))
    }

    /// Sends what the client makes of the calls of the last reply.
    async fn give_results(&self, store: &Arc<dyn Store>, history: &History) -> Result<Next, HostError> {
        let all: Vec<_> = replies(&history.effects).collect();
        let calls = all.last().map(|reply| reply.tool_calls()).unwrap_or_default();
        let known = |call: &convoke_core::ToolCall| {
            self.scenario.tool_answer(&call.name, &call.arguments).map(|answer| (call.clone(), answer))
        };
        let answers: Vec<_> = calls.iter().filter_map(known).collect();
        if answers.is_empty() {
            let names: Vec<String> =
                calls.iter().map(|call| format!("{} with {}", call.name, call.arguments)).collect();
            let why = format!("`tools` does not say what a call gives: {}", names.join("; "));
            return Ok(Next::Stuck(why));
        }
        let mut is_new = false;
        for (call, answer) in answers {
            let result = json!({"call_id": call.id, "content": answer.content, "is_error": answer.is_error});
            // Models number their calls anew in every conversation; replies are counted over the whole run.
            let mail = NewMail::json(TOOL_RESULTS, &result)?.key(format!("reply {}, {}", all.len(), call.id));
            is_new |= store.post(&self.id, mail.sender("scenario")).await?.is_new;
        }
        // What was sent before did not help: another call of the same reply is not known.
        let why = "`tools` does not say what every call of a reply gives".to_owned();
        Ok(if is_new { Next::GoOn } else { Next::Stuck(why) })
    }
}
