//! Time and budgets of runs that are resumed: what was cut short stays cut short, and what ended the run gets another
//! chance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::stored::{Home, asks, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, add, at_once, millis, waits};
use convoke_core::{
    Answer, BoxFuture, Canceller, Error, EventKind, Fork, Limits, ModelError, ModelRequest, Outcome,
    PendingQuestion, Repeat, Responder, RunStatus, Step, ToolEffect, ToolSpec, Toolset, Visibility, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, Join, OnError, Parallel, StepExt, ToolStep, task_boxed};
use serde_json::json;

/// A chain that goes on whatever becomes of a step, and then asks a question.
fn coping_with(step: impl Step<Trail> + 'static) -> Workflow<Trail> {
    Workflow::new(Chain::new("main").then_or(step, OnError::Continue).then(add("next")).then(asks("well?")))
}

/// Suspends, is answered, and goes on.
async fn suspended_and_resumed(home: &Home, workflow: &Workflow<Trail>) -> (Outcome<Trail>, Outcome<Trail>) {
    let before = home.start(workflow, Trail::default()).await;
    assert_eq!(before.status, RunStatus::Suspended);
    assert_eq!(home.asked(&before.run).await, ["well?"]);
    home.answer(&before.run, "well?", Answer::text("well")).await;
    let after = home.resume(workflow, &before.run).await;
    (before, after)
}

fn call(tool: &TestTool) -> ToolStep<Trail, serde_json::Value> {
    let tools = Toolset::new().with(tool.clone()).unwrap();
    ToolStep::new("look", &tools, "weather", |_: &Trail| Ok::<_, Error>(json!({}))).discard()
}

fn slow_tool(repeat: Repeat) -> TestTool {
    let spec = ToolSpec::new("weather", "", ToolEffect::Writes.into()).repeat(repeat);
    TestTool::new(spec, Ok("sunny".into())).slow(Duration::from_secs(60))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_out_of_time_is_not_made_again_by_a_run_that_coped_with_it() {
    for repeat in [Repeat::Safe, Repeat::Never] {
        let tool = slow_tool(repeat);
        let workflow = coping_with(call(&tool).timeout(millis(50)));
        let (_, after) = suspended_and_resumed(&Home::new(echo()), &workflow).await;
        assert_eq!(after.completed().unwrap().steps, ["next", "well"]);
        assert_eq!(tool.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ended_the_run_out_of_time_is_in_doubt_unless_it_may_be_repeated() {
    let (home, safe) = (Home::new(echo()), slow_tool(Repeat::Safe));
    let workflow = Workflow::new(Chain::new("main").then(call(&safe)).timeout(millis(50)));
    let run = home.start(&workflow, Trail::default()).await.run;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::TimedOut);
    assert_eq!(safe.calls(), 2, "somebody wanted it tried again");

    let (home, never) = (Home::new(echo()), slow_tool(Repeat::Never));
    let workflow = Workflow::new(Chain::new("main").then(call(&never)).timeout(millis(50)));
    let run = home.start(&workflow, Trail::default()).await.run;
    let doubtful = home.resume(&workflow, &run).await;
    assert_eq!((doubtful.status, never.calls()), (RunStatus::Suspended, 1));
    assert!(home.asked(&run).await[0].contains("may have acted already"));
    let title = home.asked(&run).await.remove(0);
    home.answer(&run, &title, Answer::choose("done")).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Completed);
    assert_eq!(never.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_before_it_is_told_again_keeps_what_it_has_come_to_and_used() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(waits("b", 1_000)));
    let mut ended = home.runtime().start(&workflow, Trail::default()).timeout(millis(100)).await.unwrap();
    let run = ended.run.clone();
    for _ in 0..3 {
        assert_eq!((ended.status, ended.totals.model_calls), (RunStatus::TimedOut, 1));
        assert_eq!(ended.state.steps, ["a!"]);
        let record = home.store().run(&run).await.unwrap().unwrap();
        assert_eq!(record.totals, ended.totals);
        ended = home.resume(&workflow, &run).await;
    }
    let more = home.runtime().resume(&workflow, run).timeout(Duration::MAX).await.unwrap();
    assert_eq!(
        (more.totals.model_calls, more.completed().unwrap().steps),
        (1, vec!["a!".into(), "b".into()])
    );
}

#[tokio::test]
async fn a_run_that_does_not_fit_its_journal_has_used_what_that_says() {
    let home = Home::new(echo());
    let workflow = |words: &'static str| {
        let says = task_boxed("a", move |scope, _: &mut Trail| {
            Box::pin(async move {
                let model = scope.default_model()?;
                scope.model(&model, ModelRequest::new(words), Visibility::Streamed).await.map(drop)
            })
        });
        Workflow::new(Chain::new("main").then(says).then(asks("well?")))
    };
    let first = home.start(&workflow("a"), Trail::default()).await;
    // As if the process had died before the record said anything.
    let killed = home.with_entries(&first.run, |_| true).await;
    let unfit = home.resume(&workflow("b"), &killed).await;
    assert_eq!((unfit.status, unfit.totals), (RunStatus::Failed, first.totals));
    assert_eq!(home.store().run(&killed).await.unwrap().unwrap().totals, first.totals);
}

/// A step that takes 60 ms the first time it is run, and no time after that.
fn slow_at_first(
    name: &str,
    then: impl Fn() -> AsyncFunc<Trail> + Send + Sync + 'static,
) -> AsyncFunc<Trail> {
    let runs = Arc::new(AtomicUsize::new(0));
    task_boxed(name, move |scope, trail: &mut Trail| {
        let (first, inner) = (runs.fetch_add(1, Ordering::SeqCst) == 0, then());
        Box::pin(async move {
            if first {
                tokio::time::sleep(millis(60)).await;
            }
            inner.run(scope, trail).await
        })
    })
}

fn nothing() -> AsyncFunc<Trail> {
    task_boxed("nothing", |_, _| Box::pin(async { Ok(()) }))
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_out_of_time_before_it_began_does_not_begin_when_the_run_is_resumed() {
    // `a` is over just after the time of the chain is: `b` never begins.
    let home = Home::new(echo());
    let part = Chain::new("part").then(slow_at_first("a", nothing)).then(says("b")).timeout(millis(50));
    let (_, after) = suspended_and_resumed(&home, &coping_with(part)).await;
    assert_eq!(after.completed().unwrap().steps, ["next", "well"]);
    assert_eq!(home.model.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_was_out_of_time_before_it_began_is_not_performed_when_the_run_is_resumed() {
    let (home, tool) = (Home::new(echo()), TestTool::gives("weather", "sunny"));
    let called = tool.clone();
    let calls_tool = move || {
        let step = Arc::new(call(&called));
        task_boxed("call", move |scope, trail: &mut Trail| {
            let step = Arc::clone(&step);
            Box::pin(async move { step.run(scope, trail).await })
        })
    };
    let performs = || {
        task_boxed("custom", |scope, trail: &mut Trail| {
            Box::pin(async move {
                trail.text =
                    scope.custom("count").perform(|_| async { Ok::<_, Error>("done".to_owned()) }).await?;
                Ok(())
            })
        })
    };
    for step in [
        slow_at_first("model", || says("hello")).timeout(millis(50)),
        slow_at_first("tool", calls_tool).timeout(millis(50)),
        slow_at_first("custom", performs).timeout(millis(50)),
    ] {
        let (_, after) = suspended_and_resumed(&home, &coping_with(step)).await;
        let state = after.completed().unwrap();
        assert_eq!((state.steps.join(","), state.text.as_str()), ("next,well".to_owned(), ""));
    }
    assert_eq!((home.model.calls(), tool.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn branches_that_queued_when_time_was_up_do_not_begin_when_the_run_is_resumed() {
    let home = Home::new(echo());
    let fan = Parallel::builder("fan", Join::keep_succeeded())
        .branch(slow_at_first("a", nothing), |_, _| {})
        .branch(says("b"), |_, _| {})
        .branch(says("c"), |_, _| {})
        .concurrency(at_once(1))
        .build()
        .unwrap();
    let (_, after) = suspended_and_resumed(&home, &coping_with(fan.timeout(millis(50)))).await;
    assert_eq!(after.completed().unwrap().steps, ["next", "well"]);
    assert_eq!(home.model.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_leaf_that_was_dropped_out_of_time_gets_no_further_when_the_run_is_resumed() {
    let runs = Arc::new(AtomicUsize::new(0));
    let hangs_at_first = task_boxed("leaf", move |scope, trail: &mut Trail| {
        let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            let model = scope.default_model()?;
            scope.model(&model, ModelRequest::new("hello"), Visibility::Hidden).await?;
            trail.steps.push("half".into());
            if first {
                std::future::pending::<()>().await;
            }
            scope.model(&model, ModelRequest::new("again"), Visibility::Hidden).await?;
            trail.steps.push("whole".into());
            Ok(())
        })
    });
    let home = Home::new(echo());
    let (_, after) = suspended_and_resumed(&home, &coping_with(hangs_at_first.timeout(millis(50)))).await;
    assert_eq!(after.completed().unwrap().steps, ["half", "next", "well"]);
    assert_eq!(home.model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leaf_that_was_dropped_out_of_time_gets_as_far_again_however_long_that_takes() {
    // A machine that is slower the second time.
    let runs = AtomicU32::new(0);
    let counts = task_boxed("count", move |scope, trail: &mut Trail| {
        let wait = millis(1) * 1_000_u32.pow(runs.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move {
            for _ in 0..200 {
                scope.now().await?;
                trail.count += 1;
                // Work that is no effect, and has to be done again.
                tokio::time::sleep(wait).await;
            }
            std::future::pending().await
        })
    });
    let tells = task_boxed("tell", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let seen = ModelRequest::new(format!("{} seen", trail.count));
            trail.text = scope.model(&model, seen, Visibility::Hidden).await?.text();
            Ok(())
        })
    });
    let main = Chain::new("main").then_or(counts.timeout(Duration::from_secs(1)), OnError::Continue);
    let workflow = Workflow::new(main.then(tells).then(asks("well?")));
    let (_, after) = suspended_and_resumed(&Home::new(echo()), &workflow).await;
    assert_eq!(after.completed().unwrap().text, "200 seen!");
}

#[tokio::test(start_paused = true)]
async fn a_leaf_that_was_dropped_out_of_time_gets_as_far_again_however_slow_its_reader_is() {
    let talks = task_boxed("talk", |scope, trail: &mut Trail| {
        Box::pin(async move {
            for attempt in 0..300 {
                scope.emit(EventKind::RetryAttempt { attempt }).await;
            }
            let model = scope.default_model()?;
            scope.model(&model, ModelRequest::new("hello"), Visibility::Streamed).await?;
            trail.steps.push("half".into());
            std::future::pending().await
        })
    });
    let (home, workflow) = (Home::new(echo()), coping_with(talks.timeout(millis(50))));
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let mut events = home.runtime().resume(&workflow, run).stream();
    while events.next().await.is_some() {
        tokio::time::sleep(millis(100)).await;
    }
    let after = events.outcome().await.unwrap();
    assert_eq!(after.completed().unwrap().steps, ["half", "next", "well"]);
}

/// Nobody at home, but the line is open.
struct Silence;

impl Responder for Silence {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            if question.question.title == "hello?" { std::future::pending().await } else { None }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_out_of_time_is_not_asked_again_by_a_run_that_coped_with_it() {
    let (home, workflow) = (Home::new(echo()), coping_with(asks("hello?").timeout(millis(50))));
    let before = home.builder().responder(Silence).build().start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(
        (before.status, home.asked(&before.run).await),
        (RunStatus::Suspended, vec!["well?".to_owned()])
    );
    home.answer(&before.run, "well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &before.run).await.completed().unwrap().steps, ["next", "well"]);
}

fn two_branches() -> Workflow<Trail> {
    let take = |trail: &mut Trail, done: Trail| trail.steps.extend(done.steps);
    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(Chain::new("left").then(says("a")), take)
        .branch(Chain::new("right").then(says("b")), take)
        .build()
        .unwrap();
    Workflow::new(Chain::new("main").then(fan))
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_killed_when_its_time_was_up_goes_on_when_it_is_resumed() {
    let model = ScriptedModel::builder()
        .when(Match::any(), [Reply::text("late").hangs(), Reply::text("now"), Reply::text("then")])
        .build();
    let (home, workflow) =
        (Home::new(model), Workflow::new(Chain::new("main").then(says("a")).then(says("b"))));
    let late = home.runtime().start(&workflow, Trail::default()).timeout(millis(50)).await.unwrap();
    assert_eq!(late.status, RunStatus::TimedOut);
    // A run with the same past that was not told how the other ended: as if the process had died just before.
    let entries = home.entries(&late.run).await;
    let killed = Fork::new(late.run, entries.len() as u64 + 1).create(home.store()).await.unwrap();
    assert_eq!(home.resume(&workflow, &killed).await.completed().unwrap().steps, ["now", "then"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_out_of_time_in_several_branches_goes_on_in_all_of_them() {
    let model = ScriptedModel::builder()
        .when(Match::any(), [Reply::text("late").hangs(), Reply::text("late").hangs(), Reply::text("now")])
        .build();
    let (home, workflow) = (Home::new(model), two_branches());
    let late = home.runtime().start(&workflow, Trail::default()).timeout(millis(50)).await.unwrap();
    assert_eq!(late.status, RunStatus::TimedOut);
    let more = home.runtime().resume(&workflow, late.run).timeout(millis(500)).await.unwrap();
    assert_eq!(more.completed().unwrap().steps, ["now", "now"]);
}

#[tokio::test]
async fn a_run_that_was_out_of_budget_in_several_branches_goes_on_in_all_of_them() {
    let (home, workflow) = (Home::new(echo()), two_branches());
    let start = home.runtime().start(&workflow, Trail::default());
    let poor = start.limits(Limits::default().model_calls(0)).await.unwrap();
    assert_eq!((poor.status, poor.totals.model_calls), (RunStatus::BudgetExhausted, 0));
    let resume = home.runtime().resume(&workflow, poor.run.clone());
    let rich = resume.limits(Limits::default().model_calls(2)).await.unwrap();
    assert_eq!(rich.completed().unwrap().steps, ["a!", "b!"]);
}

#[tokio::test]
async fn calls_made_before_count_against_the_budget_of_a_resumed_run() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")).then(says("b")));
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let resume = home.runtime().resume(&workflow, run);
    let poor = resume.limits(Limits::default().model_calls(1)).await.unwrap();
    assert_eq!((poor.status, home.model.calls()), (RunStatus::BudgetExhausted, 1));
    assert_eq!(poor.totals.model_calls, 1);
}

#[tokio::test]
async fn a_call_the_budget_did_not_allow_is_not_counted_when_the_run_is_resumed() {
    let part = Chain::new("part").then(says("a")).then(says("b")).limits(Limits::default().model_calls(1));
    let (before, after) = suspended_and_resumed(&Home::new(echo()), &coping_with(part)).await;
    assert_eq!((before.totals.model_calls, after.totals.model_calls), (1, 1));
    assert_eq!(after.completed().unwrap().steps, ["a!", "next", "well"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_keeps_the_failures_it_had_coped_with() {
    let model = ScriptedModel::builder()
        .when(Match::any(), [Reply::error(ModelError::of_status(400, "no")), Reply::text("yes")])
        .build();
    // Copes with a failed call by itself, and then waits.
    let copes = task_boxed("copes", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let reply = scope.model(&model, ModelRequest::new("?"), Visibility::Hidden).await;
            trail.steps.push(reply.map_or_else(|_| "failed".to_owned(), |reply| reply.text()));
            scope.sleep(millis(100)).await
        })
    });
    let (home, workflow, canceller) = (Home::new(model), Workflow::new(copes), Canceller::new());
    let start = home.runtime().start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    let (cancelled, ()) = tokio::join!(start.into_future(), cancel);
    let cancelled = cancelled.unwrap();
    assert_eq!(cancelled.status, RunStatus::Cancelled);
    assert_eq!(home.resume(&workflow, &cancelled.run).await.completed().unwrap().steps, ["failed"]);
    assert_eq!(home.model.calls(), 1);
}
