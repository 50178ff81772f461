//! Answers that do not count.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::Trail;
use crate::common::stored::{Home, asks, echo, says};
use convoke_core::{
    Answer, BoxFuture, Canceller, EffectKind, Error, EventKind, PendingQuestion, Question, Responder, RunId,
    RunStatus, Runtime, Workflow,
};
use convoke_steps::{Chain, task_boxed};

/// Somebody who has the same answer every time, at once.
#[derive(Clone)]
struct Always(Answer, Arc<Mutex<Vec<String>>>);

impl Always {
    fn saying(answer: Answer) -> Self {
        Self(answer, Arc::default())
    }

    /// The details of the questions it was asked.
    fn asked(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Responder for Always {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        self.1.lock().unwrap().push(question.question.details.clone());
        Box::pin(async { Some(self.0.clone()) })
    }
}

fn asking(question: Question) -> Workflow<Trail> {
    Workflow::new(task_boxed("ask", move |scope, trail: &mut Trail| {
        let question = question.clone();
        Box::pin(async move {
            trail.text = scope.ask(question).await?.by;
            Ok(())
        })
    }))
}

#[tokio::test]
async fn one_person_who_approves_again_and_again_does_not_make_a_quorum_and_the_run_suspends() {
    let (home, ann) = (Home::new(echo()), Always::saying(Answer::approve().by("ann")));
    let workflow = asking(Question::approval("ship?").details("Version 2.").quorum(2));
    let runtime = home.builder().responder(ann.clone()).build();
    let outcome = runtime.start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    let told = "Version 2.\n\nThe answer just given does not count: `ann` has approved already, and 2 different people \
                must.";
    assert_eq!(ann.asked(), ["Version 2.", "Version 2.", told, told]);
    // What is left of the question is as it was asked.
    assert_eq!(outcome.questions()[0].question.details, "Version 2.");
    home.answer(&outcome.run, "ship?", Answer::approve().by("ann")).await;
    home.answer(&outcome.run, "ship?", Answer::approve().by("bob")).await;
    assert_eq!(home.resume(&workflow, &outcome.run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn somebody_the_question_is_not_for_is_told_so_and_the_run_suspends() {
    for answer in [Answer::approve().by("bob"), Answer::approve()] {
        let stranger = Always::saying(answer);
        let runtime = Runtime::builder().responder(stranger.clone()).build();
        let workflow = asking(Question::approval("ship?").audience(["ann", "carl"]));
        assert_eq!(runtime.start(&workflow, Trail::default()).await.unwrap().status, RunStatus::Suspended);
        let asked = stranger.asked();
        assert_eq!(asked.len(), 3);
        assert!(asked[0].is_empty() && asked[1].contains("the question is for ann, carl"), "{asked:?}");
    }
}

/// Those who may answer the open questions of a run, and how long they have.
async fn terms(home: &Home, run: &RunId) -> Vec<(Vec<String>, Option<Duration>)> {
    let open = home.store().questions(Some(run)).await.unwrap().into_iter().map(|pending| pending.question);
    open.map(|question| (question.audience, question.expiry.map(|expiry| expiry.after))).collect()
}

const DAY: Duration = Duration::from_secs(86_400);

fn with_terms(home: &Home) -> Runtime {
    home.builder().answered_by(["ann"]).answered_within(Some(DAY)).build()
}

#[tokio::test]
async fn questions_that_do_not_say_who_answers_and_until_when_are_asked_as_the_runtime_says() {
    let home = Home::new(echo());
    for (question, expected) in [
        (Question::approval("ship?"), (vec!["ann".to_owned()], Some(DAY))),
        (Question::text("who?").audience(["bob"]), (vec!["bob".to_owned()], Some(DAY))),
        (Question::confirm("now?").expires_after(2 * DAY), (vec!["ann".to_owned()], Some(2 * DAY))),
        (Question::text("what next?").turn(), (Vec::new(), None)),
    ] {
        let (workflow, title) = (asking(question.clone()), question.title);
        let run = with_terms(&home).start(&workflow, Trail::default()).await.unwrap().run;
        assert_eq!(terms(&home, &run).await, [expected], "{title}");
    }
}

#[tokio::test]
async fn a_question_that_was_asked_before_is_for_whom_it_was_for() {
    let (home, workflow) = (Home::new(echo()), asking(Question::approval("ship?")));
    let asked = home.start(&workflow, Trail::default()).await.run;
    let again = with_terms(&home).resume(&workflow, asked.clone()).await.unwrap();
    assert_eq!((again.status, terms(&home, &asked).await), (RunStatus::Suspended, vec![(Vec::new(), None)]));
    home.answer(&asked, "ship?", Answer::approve().by("bob")).await;
    let done = with_terms(&home).resume(&workflow, asked).await.unwrap();
    assert_eq!(done.completed().unwrap().text, "bob");
    // So is one that was for somebody, whoever goes on with the run.
    let asked = with_terms(&home).start(&workflow, Trail::default()).await.unwrap().run;
    home.answer(&asked, "ship?", Answer::approve().by("bob")).await;
    assert_eq!(home.resume(&workflow, &asked).await.status, RunStatus::Suspended);
    home.answer(&asked, "ship?", Answer::approve().by("ann")).await;
    assert_eq!(home.resume(&workflow, &asked).await.completed().unwrap().text, "ann");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_with_what_would() {
    let clumsy = Always::saying(Answer::text("perhaps"));
    let runtime = Runtime::builder().responder(clumsy.clone()).build();
    let workflow = asking(Question::choice("which?", ["red", "blue"]));
    assert_eq!(runtime.start(&workflow, Trail::default()).await.unwrap().status, RunStatus::Suspended);
    assert!(clumsy.asked().last().unwrap().contains("give one of: red, blue"), "{:?}", clumsy.asked());
}

/// Answers for somebody else each time, and cancels the run meanwhile.
struct Crowd(Canceller, Mutex<u32>);

impl Responder for Crowd {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        let mut number = self.1.lock().unwrap();
        *number += 1;
        if *number == 3 {
            self.0.cancel("enough");
        }
        let answer = Answer::approve().by(format!("person {number}"));
        Box::pin(async { Some(answer) })
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_answers_come_without_a_pause() {
    let canceller = Canceller::new();
    let runtime = Runtime::builder().responder(Crowd(canceller.clone(), Mutex::default())).build();
    let workflow = asking(Question::approval("ship?").quorum(1_000_000));
    let outcome = runtime.start(&workflow, Trail::default()).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
}

/// Asks two things side by side, and ends as the first answer says, whatever becomes of the second.
fn ends_with_the_first() -> Workflow<Trail> {
    Workflow::new(task_boxed("both", |scope, _: &mut Trail| {
        Box::pin(async move {
            let (one, two) = (scope.child("one"), scope.child("two"));
            let (first, _) =
                tokio::join!(one.ask(Question::approval("first?")), two.ask(Question::approval("second?")));
            match first?.is_approval() {
                true => Err(Error::failed("it broke")),
                false => Err(Error::Halted("enough".into())),
            }
        })
    }))
}

#[tokio::test]
async fn a_run_that_is_halted_leaves_no_question_behind() {
    let (home, workflow) = (Home::new(echo()), ends_with_the_first());
    let run = home.start(&workflow, Trail::default()).await.run;
    assert_eq!(home.asked(&run).await, ["first?", "second?"]);
    home.answer(&run, "first?", Answer::reject("no")).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Halted);
    assert_eq!(home.asked(&run).await, Vec::<String>::new());
}

#[tokio::test]
async fn one_that_waits_keeps_what_is_still_open() {
    let (home, workflow) = (Home::new(echo()), ends_with_the_first());
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "first?", Answer::approve()).await;
    // What fails while it waits for somebody waits.
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
    assert_eq!(home.asked(&run).await, ["second?"]);
}

#[tokio::test]
async fn a_scope_knows_whether_somebody_is_there_to_answer() {
    let workflow = || {
        Workflow::new(task_boxed("look", |scope, trail: &mut Trail| {
            trail.count = u64::from(scope.is_attended());
            Box::pin(async { Ok(()) })
        }))
    };
    let attended = Runtime::builder().responder(Always::saying(Answer::approve())).build();
    for (runtime, expected) in [(attended, 1), (Runtime::new(), 0)] {
        assert_eq!(runtime.start(&workflow(), Trail::default()).await.unwrap().state.count, expected);
    }
}

#[tokio::test]
async fn a_question_that_was_not_asked_before_the_run_ended_is_not_told() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")));
    let run = home.start(&workflow, Trail::default()).await.run;
    let asked = async |run: &RunId| {
        let told = home.runtime().replay(&workflow, run).await.unwrap();
        told.events.iter().filter(|event| matches!(event.kind, EventKind::QuestionAsked { .. })).count()
    };
    let unasked = home.with_entries(&run, |entry| entry.effect != EffectKind::Ask).await;
    assert_eq!((asked(&run).await, asked(&unasked).await), (1, 0));
}
