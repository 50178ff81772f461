//! What the journal of a run says, for assertions.

use convoke_core::{Decision, ModelReply};
use convoke_eval::observation::{ObservedCall, ObservedTurn, ObservedUsage};
use convoke_eval::{Facts, Observation};
use convoke_history::{Detail, Effect, History};
use convoke_machine::conversation::TOOL_RESULTS;
use serde_json::Value;

use super::person::is_turn;
use crate::definition::Definition;

/// What is known of a run.
pub(super) fn observe(history: &History, definition: &dyn Definition) -> Observation {
    let state = history.ending.as_ref().and_then(|ending| ending.state.as_ref());
    let facts = state.map(|state| definition.facts(state)).unwrap_or_default();
    let result = state.and_then(|state| definition.result(state)).unwrap_or_default();
    let spent = history.spent();
    let status = serde_json::to_value(history.record.status).unwrap_or_default();
    let waits = history.questions.iter().map(|question| question.pending.question.title.as_str());
    let waits: Vec<&str> = waits.collect();
    let error = history.ending.as_ref().and_then(|ending| ending.error.clone());
    let error = match waits.is_empty() {
        true => error,
        false => Some(format!("nobody answers: {}", waits.join("; "))),
    };
    Observation {
        status: status.as_str().unwrap_or_default().to_owned(),
        error,
        turns: turns(history, &facts, &result),
        calls: replies(&history.effects).flat_map(calls).collect(),
        usage: ObservedUsage {
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
            tokens: spent.usage.total_tokens(),
            cost: spent.whole_cost().map(dollars),
        },
        result,
        facts,
    }
}

/// What models said in these effects, in order.
pub(super) fn replies(effects: &[Effect]) -> impl Iterator<Item = &ModelReply> {
    effects.iter().filter_map(|effect| match &effect.current().detail {
        Detail::Model { reply, .. } => reply.as_deref(),
        _ => None,
    })
}

fn calls(reply: &ModelReply) -> Vec<ObservedCall> {
    let calls = reply.tool_calls().into_iter();
    calls.map(|call| ObservedCall { tool: call.name, arguments: call.arguments }).collect()
}

/// The turns of a conversation: what lies between one question what comes next and the following one, which says what was answered.
fn turns(history: &History, facts: &Facts, result: &str) -> Vec<ObservedTurn> {
    let effects = &history.effects;
    let asked: Vec<usize> = (0..effects.len()).filter(|index| is_turn(&effects[*index])).collect();
    let mut turns: Vec<ObservedTurn> = Vec::new();
    for (number, begin) in asked.iter().enumerate() {
        let next = asked.get(number + 1).map(|next| &effects[*next]);
        let end = asked.get(number + 1).copied().unwrap_or(effects.len());
        let within = &effects[*begin..end];
        if next.is_none() && !within.iter().any(is_arrival) {
            continue;
        }
        let (from, before, _) = said(&effects[*begin]);
        let (state, now, trouble) = match next {
            Some(next) => said(next),
            None => (facts.state.clone(), (!result.is_empty()).then(|| result.to_owned()), String::new()),
        };
        let speaks = before != now || replies(within).any(|reply| !reply.text().is_empty());
        turns.push(ObservedTurn {
            content: now.filter(|_| speaks).unwrap_or_default(),
            from,
            state,
            calls: replies(within).flat_map(calls).collect(),
            trouble: (!trouble.is_empty()).then_some(trouble),
        });
    }
    turns
}

/// Whether something came of which a turn begins: words, or an event.
fn is_arrival(effect: &Effect) -> bool {
    match &effect.current().detail {
        Detail::Ask { answer: Some(answer), .. } if is_turn(effect) => {
            matches!(answer.decision, Decision::Text { .. })
        }
        Detail::Receive { channel, received: Some(_) } => channel != TOOL_RESULTS,
        _ => false,
    }
}

/// What a question says that asks what comes next: the state, what was said last, and what went wrong.
fn said(effect: &Effect) -> (Option<String>, Option<String>, String) {
    let Detail::Ask { question, .. } = &effect.current().detail else { return Default::default() };
    let text = |name: &str| question.subject.get(name).and_then(Value::as_str).map(str::to_owned);
    (text("state"), text("said"), question.details.clone())
}

/// Money as reports have it. No sum of an eval is so large that its cents are lost.
#[allow(clippy::cast_precision_loss)]
fn dollars(money: convoke_core::Money) -> f64 {
    money.as_micros() as f64 / 1e6
}
