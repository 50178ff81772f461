//! Decisions about branches, kept when the run is resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Oops, Trail, add, fails, millis};
use convoke_core::{
    Answer, BoxFuture, Error, FinishReason, Fork, ModelError, PendingQuestion, Responder, RunStatus, Step,
    StoreError, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, Join, OnError, Parallel, ParallelBuilder, func, prompt, task_boxed};

/// What a branch starts from.
fn nothing(_: &Trail) -> Trail {
    Trail::default()
}

fn take(trail: &mut Trail, done: Trail) {
    trail.steps.extend(done.steps);
}

/// A step that takes this long the first time it is run, and that long every later time.
fn takes(name: &str, first: u64, later: u64) -> AsyncFunc<Trail> {
    let again = AtomicBool::new(false);
    let own = name.to_owned();
    task_boxed(name, move |_, trail: &mut Trail| {
        let patience = if again.swap(true, Ordering::SeqCst) { later } else { first };
        let own = own.clone();
        Box::pin(async move {
            tokio::time::sleep(millis(patience)).await;
            trail.steps.push(own);
            Ok(())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_race_has_the_same_winner_when_the_run_is_resumed() {
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .project(takes("a", 10, 40), nothing, take)
        .project(Chain::new("b branch").then(says("loser")).then(takes("b", 40, 10)), nothing, take)
        .build()
        .unwrap();
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(race).then(asks("well?")));
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["a", "well"]);
    assert_eq!(home.model.calls(), 1, "the loser's call is not made again");
    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert_eq!((replay.state, replay.unused), (done, 0), "the loser's call was made by this code");
}

#[tokio::test(start_paused = true)]
async fn the_same_branches_count_when_the_run_is_resumed() {
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .project(Chain::new("a").then(takes("wait", 10, 40)).then(fails("fail")), nothing, take)
        .project(takes("b", 20, 10), nothing, take)
        .project(takes("c", 30, 5), nothing, take)
        .finally(|trail: &mut Trail, report| {
            let failed: Vec<&str> = report.failed.iter().map(|(name, _)| name.as_str()).collect();
            trail.text = format!("{:?} {failed:?} {:?}", report.succeeded, report.abandoned);
            Ok::<_, Error>(())
        })
        .build()
        .unwrap();
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(race).then(asks("well?")));
    let before = home.start(&workflow, Trail::default()).await;
    assert_eq!(before.state.text, r#"["b"] ["a"] ["c"]"#);
    assert_eq!(home.resume(&workflow, &before.run).await.state, before.state);
}

#[tokio::test(start_paused = true)]
async fn what_the_loser_of_a_race_used_still_counts_when_the_run_is_resumed() {
    let slow = task_boxed("slow", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(500))));
    let quick = task_boxed("quick", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(50))));
    let race = Parallel::builder("race", Join::any().cancel_rest())
        .project(Chain::new("loser").then(says("hello")).then(slow), nothing, take)
        .project(quick, nothing, take)
        .build()
        .unwrap();
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(race).then(asks("well?")));
    let suspended = home.start(&workflow, Trail::default()).await;
    let resumed = home.resume(&workflow, &suspended.run).await;
    assert_eq!(suspended.totals.model_calls, 1);
    assert_eq!(resumed.totals, suspended.totals);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_branch_that_is_not_needed_is_withdrawn() {
    let wait = || task_boxed("work", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(10))));
    for join in [Join::any().cancel_rest(), Join::any().finish_rest()] {
        let parallel = Parallel::builder("fan", join)
            .project(asks("a?"), nothing, take)
            .project(wait(), nothing, take)
            .build()
            .unwrap();
        let (home, workflow) = (Home::new(echo()), Workflow::new(parallel));
        let outcome = home.start(&workflow, Trail::default()).await;
        assert_eq!(outcome.status, RunStatus::Completed);
        assert!(home.asked(&outcome.run).await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_branch_that_is_left_out_is_withdrawn_too() {
    let work = task_boxed("work", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(10))));
    let fan = Parallel::builder("fan", Join::any().finish_rest())
        .project(asks("a?"), nothing, take)
        .project(work, nothing, take)
        .build()
        .unwrap();
    let (home, workflow) = (Home::new(echo()), Workflow::new(fan));
    let run = home.start(&workflow, Trail::default()).await.run;
    // As if the process had been killed after the decision and before the question was withdrawn.
    let end = home.entries(&run).await.len() as u64 + 1;
    let killed = Fork::new(run, end).create(home.store()).await.unwrap();
    assert_eq!(home.asked(&killed).await, ["a?"]);
    assert_eq!(home.resume(&workflow, &killed).await.status, RunStatus::Completed);
    assert!(home.asked(&killed).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_fan_out_that_failed_is_withdrawn() {
    let breaks = || {
        task_boxed("b", |scope, _: &mut Trail| {
            Box::pin(async move {
                scope.sleep(millis(10)).await?;
                Err(Error::failed(Oops("b".into())))
            })
        })
    };
    for join in [Join::all().cancel_rest(), Join::all().finish_rest()] {
        let parallel = Parallel::builder("fan", join)
            .project(asks("a?"), nothing, take)
            .project(breaks(), nothing, take)
            .build()
            .unwrap();
        let chain = Chain::new("main").then_or(parallel, OnError::Continue).then(add("next"));
        let (home, workflow) = (Home::new(echo()), Workflow::new(chain));
        let outcome = home.start(&workflow, Trail::default()).await;
        assert_eq!(outcome.status, RunStatus::Completed);
        assert!(home.asked(&outcome.run).await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_too_late_changes_nothing() {
    let home = Home::new(echo());
    let store = Arc::clone(home.store());
    // While this branch works, somebody answers the question of the other.
    let answers = task_boxed("b", move |scope, trail: &mut Trail| {
        let store = Arc::clone(&store);
        Box::pin(async move {
            scope.sleep(millis(10)).await?;
            for pending in store.questions(Some(scope.run_id())).await? {
                // Told again, it is there already.
                match store.answer(scope.run_id(), &pending.id, Answer::text("late")).await {
                    Ok(_) | Err(StoreError::Answered { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            trail.steps.push("b".into());
            Ok(())
        })
    });
    let fan = Parallel::builder("fan", Join::any().finish_rest())
        .project(asks("a?"), nothing, take)
        .project(answers, nothing, take);
    let workflow = Workflow::new(Chain::new("main").then(fan.build().unwrap()).then(asks("well?")));
    let suspended = home.start(&workflow, Trail::default()).await;
    assert_eq!(suspended.state.steps, ["b"]);
    home.answer(&suspended.run, "well?", Answer::text("well")).await;
    let done = home.resume(&workflow, &suspended.run).await.completed().unwrap();
    assert_eq!(done.steps, ["b", "well"]);
}

/// Somebody who knows an answer to everything.
struct Clever;

impl Responder for Clever {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async { Some(Answer::text(format!("clever about {}", question.question.title))) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_was_not_needed_is_not_needed_later_either() {
    let work = task_boxed("b", |scope, _: &mut Trail| Box::pin(scope.sleep(millis(10))));
    let fan = Parallel::builder("fan", Join::any().finish_rest())
        .project(asks("a?"), nothing, take)
        .project(work, nothing, take)
        .build()
        .unwrap();
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(fan).then(asks("well?")));
    let run = home.start(&workflow, Trail::default()).await.run;
    let attended = home.builder().responder(Clever).build();
    let done = attended.resume(&workflow, run).await.unwrap().completed().unwrap();
    assert_eq!(done.steps, ["clever about well?"]);
}

#[tokio::test]
async fn a_fan_out_that_failed_by_one_branch_goes_on_with_all_of_them_when_resumed() {
    let model = ScriptedModel::builder()
        .when(Match::last_equals("b"), [Reply::error(ModelError::of_status(500, "down")), Reply::text("b!")])
        .otherwise(Reply::text("fine").delay(millis(1)))
        .build();
    let fan = Parallel::builder("fan", Join::all().cancel_rest())
        .project(says("a"), nothing, take)
        .project(says("b"), nothing, take)
        .project(says("c"), nothing, take)
        .build()
        .unwrap();
    let (home, workflow) =
        (Home::new(model), Workflow::new(Chain::new("main").then(fan).then(asks("well?"))));
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!(failed.status, RunStatus::Failed);
    let suspended = home.resume(&workflow, &failed.run).await;
    assert_eq!(suspended.state.steps, ["fine", "b!", "fine"]);
    let calls = home.model.calls();
    home.answer(&failed.run, "well?", Answer::text("well")).await;
    let done = home.resume(&workflow, &failed.run).await.completed().unwrap();
    assert_eq!(done.steps, ["fine", "b!", "fine", "well"]);
    assert_eq!(home.model.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_that_failed_by_a_function_goes_on_with_all_branches_when_resumed() {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let buggy = func("b", move |trail: &mut Trail| {
        trail.steps.push("b".into());
        if is_mended.load(Ordering::SeqCst) { Ok(()) } else { Err(Oops("b".into())) }
    });
    let fan = Parallel::builder("fan", Join::all().cancel_rest())
        .project(asks("a?"), nothing, take)
        .project(Chain::new("b branch").then(says("hello")).then(buggy), nothing, take)
        .project(says("c"), nothing, take)
        .build()
        .unwrap();
    let (home, workflow) = (Home::new(echo()), Workflow::new(fan));
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!(failed.status, RunStatus::Failed);
    assert!(home.asked(&failed.run).await.is_empty(), "a failed run asks nothing");
    mended.store(true, Ordering::SeqCst);
    let suspended = home.resume(&workflow, &failed.run).await;
    assert_eq!(suspended.status, RunStatus::Suspended);
    home.answer(&failed.run, "a?", Answer::text("a")).await;
    let done = home.resume(&workflow, &failed.run).await.completed().unwrap();
    assert_eq!(done.steps, ["a", "hello!", "b", "c!"]);
}

/// A branch whose model's reply must be whole.
fn branch(name: &str) -> impl Step<Trail> + 'static {
    let own = name.to_owned();
    let asked = prompt(name, move |_: &Trail| own.clone()).text(|trail| &mut trail.text);
    let note = func("note", |trail: &mut Trail| {
        trail.steps.push(std::mem::take(&mut trail.text));
        Ok::<_, Error>(())
    });
    Chain::new(format!("{name} branch")).then(asked).then(note)
}

/// A model whose first reply to each of these is of no use: it fails, or is cut off.
fn useless_at_first(names: &[&str], useless: impl Fn() -> Reply) -> ScriptedModel {
    let mut model = ScriptedModel::builder();
    for name in names {
        model = model.when(Match::last_equals(*name), [useless(), Reply::text(format!("{name}!"))]);
    }
    model.build()
}

fn fail_fast(name: &str) -> ParallelBuilder<Trail> {
    Parallel::builder(name, Join::all().cancel_rest())
}

#[tokio::test]
async fn all_branches_that_failed_side_by_side_are_performed_anew_by_one_resume() {
    for useless in [
        || Reply::error(ModelError::of_status(500, "down")),
        || Reply::text("").finish(FinishReason::Length),
        || Reply::text("no").finish(FinishReason::ContentFilter),
    ] {
        let within =
            fail_fast("within").project(branch("c"), nothing, take).project(branch("d"), nothing, take);
        let fan = fail_fast("fan")
            .project(branch("a"), nothing, take)
            .project(branch("b"), nothing, take)
            .project(within.build().unwrap(), nothing, take)
            .build()
            .unwrap();
        let home = Home::new(useless_at_first(&["a", "b", "c", "d"], useless));
        let workflow = Workflow::new(Chain::new("main").then(fan));
        let failed = home.start(&workflow, Trail::default()).await;
        assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 4));
        let error = failed.error.unwrap();
        assert_eq!(error.failed_paths().len(), 1, "one decided the outcome: {error}");
        let done = home.resume(&workflow, &failed.run).await.completed().unwrap();
        assert_eq!(
            (done.steps, home.model.calls()),
            (["a!", "b!", "c!", "d!"].map(str::to_owned).to_vec(), 8)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_keeps_the_failures_it_had_coped_with_when_others_ended_the_run() {
    let copes = Chain::new("copes").then_or(branch("a"), OnError::Continue).then(branch("b"));
    let fan = fail_fast("fan")
        .project(copes, nothing, take)
        .project(branch("c"), nothing, take)
        .project(Chain::new("d chain").then(branch("d")), nothing, take)
        .build()
        .unwrap();
    let down = || Reply::error(ModelError::of_status(500, "down"));
    let model = ScriptedModel::builder()
        .when(Match::last_equals("a"), down())
        .when(Match::last_equals("b"), Reply::text("b!"))
        .when(Match::last_equals("c"), [down().delay(millis(20)), Reply::text("c!")])
        .when(Match::last_equals("d"), [down().delay(millis(20)), Reply::text("d!")])
        .build();
    let home = Home::new(model);
    let workflow = Workflow::new(Chain::new("main").then(fan));
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 4));
    let done = home.resume(&workflow, &failed.run).await.completed().unwrap();
    assert_eq!((done.steps, home.model.calls()), (["b!", "c!", "d!"].map(str::to_owned).to_vec(), 6));
}
