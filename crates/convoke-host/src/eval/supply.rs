//! Supplies a suspended run with the events and results of tools that the scenario has for it.

use std::sync::Arc;

use convoke_core::store::NewMail;
use convoke_core::{Store, Timestamp};
use convoke_eval::scenario::TurnInput;
use convoke_history::{Detail, Effect, History};
use serde_json::json;

use super::observe::replies;
use super::person::is_turn;
use super::trial::Trial;
use crate::HostError;
use crate::store::client_calls;

/// What a suspended run is given.
pub(super) enum Next {
    /// It goes on with what was sent. So many replies models have given by now.
    GoOn(usize),
    /// The scenario has nothing for it, and why.
    Stuck(String),
}

impl Trial<'_> {
    /// Gives a suspended run what the scenario has for it.
    pub(super) async fn next(&self, store: &Arc<dyn Store>) -> Result<Next, HostError> {
        let history = History::load(&**store, &self.id).await?;
        let record = &history.record;
        if history.awaited().iter().any(|awaited| client_calls(awaited).is_some()) {
            return self.give_results(store, &history).await;
        }
        let replies = replies(&history.effects).count();
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
            return Ok(Next::GoOn(replies));
        }
        if let Some(wake) = record.wake.filter(|_| waits.is_empty()) {
            tokio::time::sleep(wake.since(Timestamp::now())).await;
            return Ok(Next::GoOn(replies));
        }
        let waits = match (waits.as_slice(), record.channels.as_slice()) {
            ([], channels) => format!("it waits for mail on {}", channels.join(", ")),
            (waits, _) => format!("nobody answers, since `answers` has no more: {}", waits.join("; ")),
        };
        Ok(Next::Stuck(waits))
    }

    /// Sends what the client makes of the calls that are waited for.
    async fn give_results(&self, store: &Arc<dyn Store>, history: &History) -> Result<Next, HostError> {
        let replies = replies(&history.effects).count();
        let mut unknown = Vec::new();
        for awaited in history.awaited() {
            let received =
                history.effects.iter().filter(|effect| is_received(effect, awaited.channel)).count();
            for call in client_calls(&awaited).map(|calls| calls.calls).unwrap_or_default() {
                let Some(answer) = self.scenario.tool_answer(&call.tool, &call.arguments) else {
                    unknown.push(format!("{} with {}", call.tool, call.arguments));
                    continue;
                };
                let mut result = json!({"content": answer.content, "is_error": answer.is_error});
                // Models number their calls anew in every conversation; replies are counted over the whole run.
                let key = match call.call_id.as_str() {
                    "" => format!("result {received}"),
                    id => {
                        result["call_id"] = id.into();
                        format!("reply {replies}, {id}")
                    }
                };
                let mail = NewMail::json(awaited.channel, &result)?.key(key).sender("scenario");
                store.post(&self.id, mail).await?;
            }
        }
        Ok(match unknown.is_empty() {
            true => Next::GoOn(replies),
            false => Next::Stuck(format!("`tools` does not say what a call gives: {}", unknown.join("; "))),
        })
    }
}

/// Whether something was taken from a channel.
fn is_received(effect: &Effect, wanted: &str) -> bool {
    matches!(&effect.current().detail, Detail::Receive { channel, received: Some(_), .. } if channel == wanted)
}
