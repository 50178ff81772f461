//! Questions and events that are told through a veil.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::Trail;
use crate::common::stored::{Home, echo};
use convoke_core::{Answer, Decision, EventKind, Question, QuestionKind, RunStatus, Veil, Workflow};
use convoke_steps::task_boxed;
use serde_json::{Value, json};

/// Hides a word.
struct Hides;

impl Veil for Hides {
    fn text(&self, text: &str) -> String {
        text.replace("hunter22", "#")
    }

    fn value(&self, value: &Value) -> Value {
        serde_json::from_str(&self.text(&value.to_string())).unwrap()
    }
}

/// Asks whether to use one of two words, under a veil if there is one by now.
fn asking(is_veiled: &Arc<AtomicBool>) -> Workflow<Trail> {
    let is_veiled = Arc::clone(is_veiled);
    Workflow::new(task_boxed("ask", move |scope, trail: &mut Trail| {
        let is_veiled = is_veiled.load(Ordering::Relaxed);
        Box::pin(async move {
            let scope = if is_veiled { scope.veiled(Arc::new(Hides)) } else { scope.clone() };
            let value = json!({"word": "hunter22"});
            scope.child("below").emit(EventKind::Custom { name: "word".to_owned(), value }).await;
            let question = Question::choice("hunter22?", ["hunter22", "other"]).details("or not hunter22");
            if let Decision::Choose { option } = scope.ask(question).await?.decision {
                trail.text = option;
            }
            Ok(())
        })
    }))
}

fn options(kind: &QuestionKind) -> &[String] {
    let QuestionKind::Choice { options } = kind else { panic!("{kind:?}") };
    options
}

#[tokio::test]
async fn what_is_hidden_is_in_no_question_and_no_event_and_the_answer_is_to_what_was_meant() {
    let home = Home::new(echo());
    let workflow = asking(&Arc::new(AtomicBool::new(true)));
    let start = home.builder().build().start(&workflow, Trail::default());
    let (events, outcome) = start.stream().collect().await;
    let outcome = outcome.unwrap();
    let told = format!("{events:?} {outcome:?}");
    assert!(!told.contains("hunter22") && told.contains("or not #"), "{told}");
    assert_eq!(options(&outcome.questions()[0].question.kind), ["#", "other"]);
    home.answer(&outcome.run, "#?", Answer::new(Decision::Choose { option: "#".to_owned() })).await;
    assert_eq!(home.resume(&workflow, &outcome.run).await.completed().unwrap().text, "hunter22");
}

#[tokio::test]
async fn a_question_that_was_asked_before_there_was_a_veil_is_the_same_question() {
    for word in ["hunter22", "other"] {
        let (home, is_veiled) = (Home::new(echo()), Arc::new(AtomicBool::new(false)));
        let workflow = asking(&is_veiled);
        let outcome = home.builder().build().start(&workflow, Trail::default()).await.unwrap();
        assert_eq!(options(&outcome.questions()[0].question.kind), ["hunter22", "other"]);
        home.answer(&outcome.run, "hunter22?", Answer::new(Decision::Choose { option: word.to_owned() }))
            .await;
        let first = home.resume(&workflow, &outcome.run).await;
        assert_eq!(first.status, RunStatus::Completed);
        is_veiled.store(true, Ordering::Relaxed);
        let told = home.builder().build().replay(&workflow, &outcome.run).await.unwrap();
        assert_eq!(told.state.text, word);
    }
}
