//! The person of a scenario, who says its words and gives its answers.

use std::sync::{Arc, Mutex, PoisonError};

use convoke_core::{Answer, BoxFuture, EffectKind, PendingQuestion, QuestionId, Responder};
use convoke_eval::Scenario;
use convoke_eval::scenario::{PersonAnswer, TurnInput};
use convoke_history::{Detail, Effect, History};
use convoke_machine::conversation::TURN;

/// Says what the scenario says. Which turn it is follows from the questions that were asked, so it is the same in every process.
pub(super) struct Person {
    scenario: Arc<Scenario>,
    asked: Mutex<Asked>,
}

/// The questions that were asked so far, in order.
#[derive(Default)]
struct Asked {
    turns: Vec<QuestionId>,
    others: Vec<QuestionId>,
}

impl Person {
    /// Somebody who knows what was asked before.
    pub(super) fn new(scenario: Arc<Scenario>, history: &History) -> Self {
        let mut asked = Asked::default();
        for effect in history.effects.iter().filter(|effect| effect.kind == EffectKind::Ask) {
            let id = effect.key(&history.record.id);
            if is_turn(effect) { asked.turns.push(id) } else { asked.others.push(id) }
        }
        Self { scenario, asked: Mutex::new(asked) }
    }

    fn answer(&self, question: &PendingQuestion) -> Option<Answer> {
        let is_turn = question.question.title == TURN;
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let known = if is_turn { &mut asked.turns } else { &mut asked.others };
            known.iter().position(|id| *id == question.id).unwrap_or_else(|| {
                known.push(question.id.clone());
                known.len() - 1
            })
        };
        if !is_turn {
            // Whoever it is that may answer, the scenario speaks for them.
            let by = question.question.audience.first().cloned().unwrap_or_default();
            return self.scenario.answers.get(number).map(|given| answer(given).by(by));
        }
        match self.scenario.turns.get(number).map(|turn| &turn.input) {
            Some(TurnInput::Words(words)) => Some(Answer::text(words)),
            // It is sent once the run waits for it.
            Some(_) => None,
            None => Some(Answer::reject("the scenario is over")),
        }
    }
}

/// Whether an effect is the question what comes next in a conversation.
pub(super) fn is_turn(effect: &Effect) -> bool {
    matches!(&effect.current().detail, Detail::Ask { question, .. } if question.title == TURN)
}

fn answer(given: &PersonAnswer) -> Answer {
    match given {
        PersonAnswer::Reject(reason) => Answer::reject(reason),
        PersonAnswer::Revise(text) => Answer::revise(text),
        PersonAnswer::Choose(option) => Answer::choose(option),
        PersonAnswer::Text(text) => Answer::text(text),
        PersonAnswer::Json(value) => Answer::json(value.clone()),
        _ => Answer::approve(),
    }
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move { self.answer(question) })
    }
}
