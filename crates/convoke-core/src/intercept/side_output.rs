//! Questions and events of tools, passed through interceptors before others see them.

use super::SideOutput;
use crate::Scope;
use crate::ask::{Answer, Decision, Question, QuestionKind};
use crate::event::EventKind;

impl Scope {
    /// The question as it may be heard. `None` if that is how it was asked.
    pub(crate) fn screened_question(&self, question: &Question) -> Option<Question> {
        match self.screened(|| SideOutput::Question(Box::new(question.clone())))? {
            SideOutput::Question(heard) if *heard != *question => Some(*heard),
            _ => None,
        }
    }

    /// The event as it may be heard. What the kernel reports by itself is told of calls as whoever makes them knows them.
    pub(crate) fn screened_event(&self, kind: EventKind) -> EventKind {
        match kind {
            EventKind::Custom { name, value } if self.around.is_some() => {
                match self.screened(|| SideOutput::Event { name: name.clone(), value: value.clone() }) {
                    Some(SideOutput::Event { name, value }) => EventKind::Custom { name, value },
                    _ => EventKind::Custom { name, value },
                }
            }
            other => other,
        }
    }
}

impl Question {
    /// An answer to this question, which was asked in the place of another one, as one to that.
    pub(crate) fn meant(&self, mut answer: Answer, instead_of: &Self) -> Answer {
        if let (
            QuestionKind::Choice { options: shown },
            QuestionKind::Choice { options },
            Decision::Choose { option },
        ) = (&self.kind, &instead_of.kind, &mut answer.decision)
            && let Some(chosen) = shown.iter().position(|shown| shown == option)
            && let Some(meant) = options.get(chosen)
        {
            option.clone_from(meant);
        }
        answer
    }
}
