//! Approval by people: the questions they are asked, what their answers mean, and how often they may send work back.

use std::time::Duration;

use convoke_core::{Answer, Decision, Error, Question, Scope};
use serde_json::{Value, json};

use super::pipeline::{NextAction, count, or_none};
use super::{Correction, CorrectionSource, Review, SupervisedTask, Trigger};

/// How often a person may send the same goal back.
const REVISIONS: usize = 10;

/// The policy for asking people.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HumanPolicy {
    /// Those who may answer; empty: anyone.
    pub audience: Vec<String>,
    /// How long an answer is waited for, after which it counts as a rejection. `None`: as long as it takes.
    pub expiry: Option<Duration>,
    /// Nobody is ever asked: where a person would have to decide, the goal is halted.
    pub unattended: bool,
}

impl HumanPolicy {
    /// The question about a result: everything there is to judge by is its subject, the whole output included.
    pub(super) fn question(&self, review: &Review<'_>, about: &str) -> Question {
        let Review { step, kind, goal, product, corrections, triggers, .. } = review;
        let details = format!("{about}\n\nWhat is to be achieved:\n{goal}");
        let mut subject = json!({
            "step": step,
            "kind": kind,
            "goal": goal,
            "output": product.text,
            "fields": product.fields,
            "tools": product.tools,
            "triggers": triggers,
            "attempt": review.attempt(),
        });
        let mut also = |name: &str, value: Value| subject[name] = value;
        match review.commitment {
            Ok(commitment) => also("commitment", json!(commitment)),
            Err(why) => also("commitment_unavailable", json!(why)),
        }
        match review.assessment {
            Ok(assessment) => also("assessment", json!(assessment)),
            Err(why) => also("assessment_unavailable", json!(why)),
        }
        if !product.missing.is_empty() {
            also("missing", json!(product.missing));
        }
        if let Some(why) = &product.incomplete {
            also("incomplete", json!(why));
        }
        if let Some(limit) = product.unconverged {
            also("unconverged", json!(limit));
        }
        if !corrections.is_empty() {
            also("corrections", json!(corrections));
        }
        let question = Question::approval(format!("Is this what {kind} {step:?} is to give?"))
            .details(details)
            .about(subject)
            .audience(self.audience.clone());
        match self.expiry {
            Some(after) => question.expires_after(after),
            None => question,
        }
    }
}

impl SupervisedTask<'_> {
    /// Asks a person, and does as they say.
    pub(super) async fn person(
        &self,
        scope: &Scope,
        review: &Review<'_>,
        about: &str,
    ) -> Result<NextAction, Error> {
        if self.human.unattended {
            return Err(
                self.halted(&format!("a person has to decide about it, and nobody may be asked. {about}"))
            );
        }
        let answer = scope.ask(self.human.question(review, about)).await?;
        self.emit(scope, "human", answer_json(&answer)).await;
        let by = if answer.by.is_empty() { "a person" } else { &answer.by };
        let text = match answer.decision {
            Decision::Approve => return Ok(NextAction::Accepted),
            Decision::Revise { text } => text,
            Decision::Reject { reason } => {
                return Err(self.halted(&format!("rejected by {by}: {}", or_none(&reason))));
            }
            // An approval is answered by nothing else: the kernel sees to that.
            other => return Err(self.halted(&format!("{by} gave an answer of another kind: {other:?}"))),
        };
        if text.trim().is_empty() {
            return Err(
                self.halted(&format!("rejected by {by}, who asked for a revision without saying which"))
            );
        }
        if count(review.own_corrections(), CorrectionSource::Human) >= REVISIONS {
            return Err(self.halted(&format!(
                "people have sent it back {REVISIONS} times, which is the limit. The last revision asked for: {text}"
            )));
        }
        Ok(NextAction::Again(Correction { source: CorrectionSource::Human, text }))
    }
}

/// An answer, for listeners.
fn answer_json(answer: &Answer) -> Value {
    let mut document = json!({"by": answer.by});
    match &answer.decision {
        Decision::Approve => document["decision"] = json!("approve"),
        Decision::Revise { text } => {
            document["decision"] = json!("revise");
            document["text"] = json!(text);
        }
        Decision::Reject { reason } => {
            document["decision"] = json!("reject");
            document["reason"] = json!(reason);
        }
        other => document["decision"] = json!(other),
    }
    document
}

/// Why a person is asked, in words for them.
pub(super) fn noticed(triggers: &[Trigger]) -> String {
    if triggers.is_empty() {
        return "Nothing about it was noticed; it is to be looked at before it counts.".to_owned();
    }
    let triggers: Vec<String> = triggers.iter().map(|trigger| format!("- {}", trigger.words())).collect();
    format!("What was noticed:\n{}", triggers.join("\n"))
}
