//! Outcomes that are put in place of recorded ones where a run is forked, and what a fork does anew.

use convoke_core::{
    Answer, Decision, EffectKind, FinishReason, Message, ModelReply, Money, Role, Timestamp, Usage,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{Attempt, Detail, Effect, EffectStatus, History, ToolOutcome};

impl Attempt {
    /// The outcome in which the model said this, or the tool gave it; `None` for any other effect.
    #[must_use]
    pub fn replied_instead(&self, text: &str) -> Option<Value> {
        match &self.detail {
            Detail::Model { model, reply, .. } => Some(json!(ModelReply {
                message: Message::new(Role::Assistant, text),
                finish: FinishReason::Stop,
                // Nobody was paid for this text.
                usage: Usage { cost: Some(Money::ZERO), ..Usage::default() },
                model: reply.as_ref().map_or(model, |reply| &reply.model).clone(),
                request_id: None,
            })),
            Detail::Tool { .. } => Some(json!(ToolOutcome { content: text.to_owned(), is_error: false })),
            _ => None,
        }
    }
}

/// Checks that the program which resumes a run will be able to read an outcome of this kind.
///
/// # Errors
/// Why not.
pub fn check_outcome(kind: EffectKind, outcome: &Value) -> Result<(), serde_json::Error> {
    match kind {
        EffectKind::Model => readable::<ModelReply>(outcome),
        EffectKind::Tool => readable::<ToolOutcome>(outcome),
        EffectKind::Ask => readable::<Answer>(outcome),
        EffectKind::Sleep => readable::<()>(outcome),
        EffectKind::Now => readable::<Timestamp>(outcome),
        // Only the program knows the types of its own effects.
        _ => Ok(()),
    }
}

fn readable<T: DeserializeOwned>(value: &Value) -> Result<(), serde_json::Error> {
    T::deserialize(value).map(drop)
}

/// An outcome of this kind as the journal keeps it, for people to go by.
#[must_use]
pub fn outcome_example(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Model => {
            r#"{"message":{"role":"assistant","parts":[{"type":"text","text":"Hello"}]},"finish":"stop","model":"NAME"}"#
        }
        EffectKind::Tool => r#"{"content":"what the model gets to read","is_error":false}"#,
        EffectKind::Ask => r#"{"decision":{"type":"approve"},"by":"NAME","at":0}"#,
        EffectKind::Sleep => "null",
        EffectKind::Now => "1767603600000000",
        _ => r#""any JSON the program understands""#,
    }
}

/// Whether an effect may change the world.
fn acts(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::Tool | EffectKind::Custom)
}

impl History {
    /// The acts that a fork at this entry performs anew although they were begun before it. One that ended at this very entry is
    /// not among them if `replaced` is given in its place.
    #[must_use]
    pub fn cut_by_fork(&self, at: u64, replaced: Option<&Value>) -> Vec<&Effect> {
        let is_cut = |attempt: &Attempt| {
            let ended = attempt.ended.map_or(u64::MAX, |mark| mark.seq);
            let is_replaced = replaced.is_some() && ended == at;
            attempt.begun.is_some_and(|mark| mark.seq < at) && ended >= at && !is_replaced
        };
        let cut = |effect: &&Effect| acts(effect) && effect.attempts.iter().any(is_cut);
        self.effects.iter().filter(cut).collect()
    }

    /// The acts that came after this entry, and may be performed again by a fork there. What is `replaced` is not.
    #[must_use]
    pub fn acts_after_fork(&self, at: u64, replaced: Option<&Value>) -> Vec<&Effect> {
        let is_after = |effect: &&Effect| {
            let attempt = effect.current();
            let is_replaced = replaced.is_some() && attempt.marks().any(|mark| mark.seq == at);
            // Only what must not be repeated blindly has its beginning written down.
            acts(effect) && attempt.begun.is_some() && attempt.first_seq() >= at && !is_replaced
        };
        self.effects.iter().filter(is_after).collect()
    }

    /// The effect that decided how the run ended, and would decide it alike if it were resumed: a person's no, or else the last
    /// thing a model said.
    #[must_use]
    pub fn decisive_effect(&self) -> Option<&Effect> {
        // What was decided before the run last continued is not to be decided anew.
        let current = || self.effects.iter().filter(|it| it.generation == self.record.generation.number);
        let finished = || current().filter(|effect| effect.status() == EffectStatus::Finished);
        let is_no = |effect: &&Effect| match &effect.current().detail {
            Detail::Ask { answer: Some(answer), .. } => match &answer.decision {
                Decision::Reject { .. } | Decision::Revise { .. } => true,
                Decision::Choose { option } => option == "stop",
                _ => false,
            },
            _ => false,
        };
        let said_no = finished().filter(is_no).max_by_key(|effect| effect.last_seq());
        said_no.or_else(|| {
            finished()
                .filter(|effect| effect.kind == EffectKind::Model)
                .max_by_key(|effect| effect.last_seq())
        })
    }
}

impl Effect {
    /// Returns what it is called: its tool or its own name, or else its kind.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.current().detail {
            Detail::Tool { tool: name, .. } | Detail::Custom { name, .. } => name,
            _ => self.kind.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_what_its_kind_gives() {
        for kind in EffectKind::ALL {
            let example = serde_json::from_str(outcome_example(kind)).unwrap();
            assert!(check_outcome(kind, &example).is_ok(), "{kind}");
        }
        assert!(check_outcome(EffectKind::Tool, &json!({"text": "no content"})).is_err());
    }
}
