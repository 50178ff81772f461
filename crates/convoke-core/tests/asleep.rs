//! Runs that wait for time to pass need no process while they do.

use std::time::Duration;

use crate::common::stored::{Home, NeverAnswers, asks, echo, says};
use crate::common::{Trail, millis};
use convoke_core::store::OnBusy;
use convoke_core::{
    Answer, Decision, Error, Launch, ModelRequest, Question, RunId, RunStatus, Runtime, StoreError,
    Timestamp, Visibility, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, Join, Parallel, StepExt, func, task_boxed};

fn sleeps(name: &str, duration: Duration) -> AsyncFunc<Trail> {
    let own = name.to_owned();
    task_boxed(name, move |scope, trail: &mut Trail| {
        let own = own.clone();
        Box::pin(async move {
            scope.sleep(duration).await?;
            trail.steps.push(own);
            Ok(())
        })
    })
}

fn impatient(home: &Home) -> Runtime {
    home.builder().patience(Duration::ZERO).build()
}

async fn wake(home: &Home, run: &RunId) -> Option<Timestamp> {
    home.store().run(run).await.unwrap().unwrap().wake
}

#[tokio::test]
async fn a_long_sleep_suspends_the_run_and_the_store_knows_when_it_goes_on() {
    let home = Home::new(echo());
    let three_days = Duration::from_secs(3 * 86_400);
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(sleeps("s", three_days)));
    let before = Timestamp::now();
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::Suspended);
    let words = outcome.error.unwrap().to_string();
    assert!(words.starts_with("sleeping until "), "{words}");
    let at = wake(&home, &outcome.run).await.unwrap();
    assert!(at >= before + three_days && at < before + three_days + Duration::from_secs(60));
    assert!(home.store().due(at - millis(1), 9).await.unwrap().is_empty());
    assert_eq!(home.store().due(at, 9).await.unwrap().len(), 1);
    // Whoever goes on too early sleeps on, until the same time.
    let again = home.resume(&workflow, &outcome.run).await;
    assert_eq!((again.status, home.model.calls()), (RunStatus::Suspended, 1));
    let then = wake(&home, &outcome.run).await.unwrap();
    assert!(then.since(at).max(at.since(then)) < millis(100), "{at} {then}");
}

#[tokio::test]
async fn a_sleep_that_is_over_is_over_when_the_run_goes_on() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(sleeps("s", millis(80))).then(says("b")));
    let run = impatient(&home).start(&workflow, Trail::default()).await.unwrap().run;
    assert_eq!(impatient(&home).resume(&workflow, run.clone()).await.unwrap().status, RunStatus::Suspended);
    tokio::time::sleep(millis(100)).await;
    let done = impatient(&home).resume(&workflow, run.clone()).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["s", "b!"]);
    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert_eq!((replay.state, replay.unused), (done, 0));
}

#[tokio::test]
async fn a_short_sleep_and_one_without_a_store_stay_here() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(sleeps("s", millis(20))));
    assert_eq!(home.start(&workflow, Trail::default()).await.status, RunStatus::Completed);
    let unstored = Runtime::builder().patience(Duration::ZERO).build();
    assert_eq!(unstored.start(&workflow, Trail::default()).await.unwrap().status, RunStatus::Completed);
}

#[tokio::test]
async fn what_lies_beside_a_sleeper_is_done_first_and_the_earliest_wakes_the_run() {
    let home = Home::new(echo());
    let keep = |into: &mut Trail, from: Trail| into.steps.extend(from.steps);
    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(sleeps("long", Duration::from_secs(7_200)), keep)
        .branch(says("a"), keep)
        .branch(sleeps("short", Duration::from_secs(3_600)), keep)
        .build()
        .unwrap();
    let outcome = home.start(&Workflow::new(fan), Trail::default()).await;
    assert_eq!((outcome.status, home.model.calls()), (RunStatus::Suspended, 1));
    let left = wake(&home, &outcome.run).await.unwrap().since(Timestamp::now());
    assert!((Duration::from_secs(3_500)..Duration::from_secs(3_601)).contains(&left), "{left:?}");
}

#[tokio::test]
async fn a_limit_set_within_the_run_ends_a_sleep_that_is_longer() {
    let home = Home::new(echo());
    let sleeper = sleeps("s", Duration::from_secs(3_600)).timeout(millis(20));
    let outcome = home.start(&Workflow::new(Chain::new("main").then(sleeper)), Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::TimedOut);
    // Also if each of several is shorter: a clock that begins anew whenever the run is suspended would never get there.
    let naps = (0..6).fold(Chain::new("naps"), |naps, _| naps.then(sleeps("nap", millis(20))));
    let workflow = Workflow::new(Chain::new("main").then(naps.timeout(millis(50))));
    let outcome = impatient(&home).start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::TimedOut);
    // What limits the run as a whole does not count while nobody works on it.
    let workflow = Workflow::new(Chain::new("main").then(sleeps("s", Duration::from_secs(3_600))));
    let outcome = home.runtime().start(&workflow, Trail::default()).timeout(Duration::from_secs(600));
    assert_eq!(outcome.await.unwrap().status, RunStatus::Suspended);
    // Unless it is a point in time: then the run is woken to be told that it is over.
    let soon = Timestamp::now() + millis(30);
    let launch = Launch::default().deadline(soon);
    let outcome = home.runtime().start(&workflow, Trail::default()).launch(launch).await.unwrap();
    assert_eq!((outcome.status, wake(&home, &outcome.run).await), (RunStatus::Suspended, Some(soon)));
    tokio::time::sleep(millis(40)).await;
    assert_eq!(home.resume(&workflow, &outcome.run).await.status, RunStatus::TimedOut);
}

#[tokio::test]
async fn a_question_that_expires_wakes_its_run_and_so_do_those_it_escalates_to() {
    let home = Home::new(echo());
    let otherwise = Decision::Text { text: "nobody".to_owned() };
    let question = Question::text("well?")
        .audience(["ann"])
        .escalates(millis(50), ["bob"])
        .expires_with(millis(120), otherwise);
    let asking = task_boxed("asks", move |scope, trail: &mut Trail| {
        let question = question.clone();
        Box::pin(async move {
            let answer = scope.ask(question).await?;
            trail.steps.push(format!("{:?}", answer.decision));
            Ok(())
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(asking));
    let asked = Timestamp::now();
    let run = home.start(&workflow, Trail::default()).await.run;
    let escalated = wake(&home, &run).await.unwrap();
    assert!(
        escalated.since(asked) >= millis(50) && escalated.since(asked) < millis(119),
        "others are asked first"
    );
    tokio::time::sleep(millis(60)).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Suspended);
    assert!(wake(&home, &run).await.unwrap().since(asked) >= millis(120), "then it expires");
    tokio::time::sleep(millis(80)).await;
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["Text { text: \"nobody\" }"]);
}

#[tokio::test]
async fn a_run_that_was_taken_over_makes_no_call_of_any_kind() {
    // With something written just before, and without.
    for quiet in [true, false] {
        let home = Home::new(echo());
        let store = std::sync::Arc::clone(home.store());
        let id: RunId = "taken".parse().unwrap();
        let stolen = id.clone();
        let steal = task_boxed("steal", move |scope, _: &mut Trail| {
            let (store, stolen) = (std::sync::Arc::clone(&store), stolen.clone());
            Box::pin(async move {
                store.claim(&stolen, OnBusy::TakeOver).await.map_err(Error::from)?;
                if !quiet {
                    scope.now().await?;
                }
                Ok(())
            })
        });
        let nothing = func("nothing", |_: &mut Trail| Ok::<_, Error>(()));
        let workflow = Workflow::new(Chain::new("main").then(steal).then(nothing).then(says("b")));
        let outcome = home.runtime().start(&workflow, Trail::default()).id(id).await.unwrap();
        let error = outcome.error.unwrap();
        assert!(matches!(error.root(), Error::Store(StoreError::Fenced { .. })), "{error}");
        assert_eq!(home.model.calls(), 0, "a run that is not ours any more must not spend");
    }
}

/// A step in which somebody else takes the run over.
fn is_taken_over(home: &Home, run: &RunId, within: bool) -> AsyncFunc<Trail> {
    let (store, run) = (std::sync::Arc::clone(home.store()), run.clone());
    task_boxed("steal", move |scope, _: &mut Trail| {
        let (store, run) = (std::sync::Arc::clone(&store), run.clone());
        Box::pin(async move {
            let steal = async || store.claim(&run, OnBusy::TakeOver).await.map(drop).map_err(Error::from);
            if !within {
                return steal().await;
            }
            // That it begins is kept before it does.
            let asking = scope.child("asking");
            let model = scope.default_model()?;
            let acts = scope.custom("act").perform(|_| async {
                steal().await?;
                asking.model(&model, ModelRequest::new("?"), Visibility::Streamed).await.map(drop)
            });
            acts.await
        })
    })
}

#[tokio::test]
async fn a_run_that_was_taken_over_after_its_last_word_was_kept_makes_no_further_call() {
    for within in [true, false] {
        let (home, id): (_, RunId) = (Home::new(echo()), "taken".parse().unwrap());
        let chain = Chain::new("main").then(says("a")).then(is_taken_over(&home, &id, within));
        let workflow = Workflow::new(chain.then(says("b")));
        let outcome = home.runtime().start(&workflow, Trail::default()).id(id).await.unwrap();
        let error = outcome.error.unwrap();
        assert!(matches!(error.root(), Error::Store(StoreError::Fenced { .. })), "{error}");
        assert_eq!(home.model.calls(), 1, "within: {within}");
    }
}

#[tokio::test]
async fn an_answer_given_through_the_store_is_heard_at_once_by_a_run_that_waits_for_a_person() {
    let home = Home::new(echo());
    let id: RunId = "asked".parse().unwrap();
    let workflow = Workflow::new(Chain::new("main").then(asks("well?")));
    let runtime = home.builder().responder(NeverAnswers).build();
    let running =
        std::future::IntoFuture::into_future(runtime.start(&workflow, Trail::default()).id(id.clone()));
    let answering = async {
        while home.asked(&id).await.is_empty() {
            tokio::time::sleep(millis(1)).await;
        }
        home.answer(&id, "well?", Answer::text("elsewhere")).await;
    };
    let (outcome, ()) = tokio::join!(running, answering);
    assert_eq!(outcome.unwrap().completed().unwrap().steps, ["elsewhere"]);
}
