//! What must not be seen of what is said in a scope.
//!
//! Whoever gives a tool a secret in the place of a mark takes it out of the tool's result again. A tool can say more than its
//! result: it asks people, and reports how far it is. That goes through its scope, so the scope has the veil.

use std::sync::Arc;

use serde_json::Value;

use super::Scope;
use crate::ask::{Answer, Decision, Question, QuestionKind};
use crate::event::EventKind;

/// Takes out of texts what must not be seen.
pub trait Veil: Send + Sync {
    /// A text without it.
    fn text(&self, text: &str) -> String;

    /// A value without it.
    fn value(&self, value: &Value) -> Value;
}

impl Scope {
    /// The same scope, in which questions and events of a caller's own are told through a veil. So they are in every scope
    /// below it.
    #[must_use]
    pub fn veiled(&self, veil: Arc<dyn Veil>) -> Self {
        Self { veil: Some(veil), ..self.clone() }
    }

    /// The question as it may be seen. `None` if there is nothing to hide.
    pub(crate) fn veiled_question(&self, question: &Question) -> Option<Question> {
        let veil = self.veil.as_deref()?;
        let kind = match &question.kind {
            QuestionKind::Choice { options } => {
                QuestionKind::Choice { options: options.iter().map(|option| veil.text(option)).collect() }
            }
            other => other.clone(),
        };
        let veiled = Question {
            kind,
            title: veil.text(&question.title),
            details: veil.text(&question.details),
            subject: veil.value(&question.subject),
            covers: veil.text(&question.covers),
            ..question.clone()
        };
        (veiled != *question).then_some(veiled)
    }

    /// The event as it may be seen. What the kernel reports by itself is told of calls as whoever makes them knows them.
    pub(super) fn veiled_event(&self, kind: EventKind) -> EventKind {
        match (self.veil.as_deref(), kind) {
            (Some(veil), EventKind::Custom { name, value }) => {
                EventKind::Custom { name: veil.text(&name), value: veil.value(&value) }
            }
            (_, kind) => kind,
        }
    }
}

impl Question {
    /// An answer to this question, which was seen through a veil, as one to the question that was meant.
    pub(crate) fn unveiled(&self, mut answer: Answer, meant: &Self) -> Answer {
        if let (
            QuestionKind::Choice { options: shown },
            QuestionKind::Choice { options },
            Decision::Choose { option },
        ) = (&self.kind, &meant.kind, &mut answer.decision)
            && let Some(chosen) = shown.iter().position(|shown| shown == option)
        {
            option.clone_from(&options[chosen]);
        }
        answer
    }
}
