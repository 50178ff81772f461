//! Runs that continue with another state: the same run, without its past.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_core::store::{Batch, NewMail, NewRun, RunRecord};
use convoke_core::{
    Answer, BoxFuture, EffectKind, EffectRequest, Error, EventKind, Fork, IdempotencyKey, InterceptedEffect,
    Interceptor, Invocation, Limits, Question, RunId, RunStatus, Runtime, Scope, StepEnd, Tool, ToolEffect,
    ToolSpec, Toolset, Verdict, Workflow, cancel_for_good,
};
use convoke_history::{Detail, History};
use convoke_steps::{AsyncFunc, Chain, Join, OnError, Parallel, Retry, RetryPolicy, ToolStep, task_boxed};
use serde_json::json;

use crate::common::stored::{Home, asks, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, add};

/// A step that continues until the run has had so many generations.
fn continues(generations: u32) -> AsyncFunc<Trail> {
    task_boxed("continues", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.count += 1;
            match scope.generation() + 1 < generations {
                true => scope.continue_with(trail),
                false => Ok(()),
            }
        })
    })
}

/// A chain with these steps that is run in so many generations.
fn repeated<const N: usize>(generations: u32, steps: [AsyncFunc<Trail>; N]) -> Workflow<Trail> {
    let chain = steps.into_iter().fold(Chain::new("main"), Chain::then);
    Workflow::new(chain.then(continues(generations)))
}

async fn record(home: &Home, run: &RunId) -> RunRecord {
    home.store().run(run).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_run_that_continues_is_the_same_run_from_its_first_step_on() {
    let home = Home::new(echo());
    let workflow = repeated(3, [says("a")]);
    let (events, outcome) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.totals.model_calls), (RunStatus::Completed, 3));
    let run = outcome.run.clone();
    let done = outcome.completed().unwrap();
    assert_eq!((done.steps, done.count), (vec!["a!".to_owned(); 3], 3));
    let record = record(&home, &run).await;
    assert_eq!((record.generation.number, record.totals.model_calls), (2, 3));

    let entries = home.entries(&run).await;
    let kinds: Vec<EffectKind> = entries.iter().map(|entry| entry.effect).collect();
    use EffectKind::{Continue, Model};
    assert_eq!(kinds, [Model, Continue, Model, Continue, Model], "all of it is still there");
    assert!(entries.iter().zip(1..).all(|(entry, seq)| entry.seq == seq));
    assert_eq!(record.generation.begins_at, 5);

    let told = |wanted: fn(&EventKind) -> bool| events.iter().filter(|event| wanted(&event.kind)).count();
    assert_eq!(told(|kind| matches!(kind, EventKind::RunStarted { .. })), 1);
    assert_eq!(told(|kind| matches!(kind, EventKind::RunContinued { .. })), 2);
    assert_eq!(told(|kind| matches!(kind, EventKind::RunEnded(_))), 1);
    assert_eq!(told(|kind| matches!(kind, EventKind::StepStarted { .. })), 9);
    assert_eq!(told(|kind| matches!(kind, EventKind::StepEnded(StepEnd::Completed))), 9, "none has failed");
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));

    let replay = home.runtime().replay(&workflow, &run).await.unwrap();
    assert_eq!((replay.unused, replay.error.is_none(), replay.state.count), (0, true, 3));
    let again = home.resume(&workflow, &run).await;
    assert_eq!((again.completed().unwrap().count, home.model.calls()), (3, 3));
}

#[tokio::test]
async fn a_run_that_nobody_keeps_continues_as_well() {
    let runtime = Runtime::builder().model(echo()).build();
    let done = runtime.start(&repeated(3, [says("a")]), Trail::default()).await.unwrap();
    assert_eq!(done.completed().unwrap().steps, ["a!", "a!", "a!"]);
}

#[tokio::test]
async fn a_run_that_waits_in_a_later_generation_goes_on_there() {
    let home = Home::new(echo());
    let workflow = repeated(3, [says("a"), asks("well?")]);
    let mut outcome = home.start(&workflow, Trail::default()).await;
    let mut questions = Vec::new();
    for number in 0..3 {
        assert_eq!(outcome.status, RunStatus::Suspended);
        questions.push(home.store().questions(Some(&outcome.run)).await.unwrap().remove(0).id);
        home.answer(&outcome.run, "well?", Answer::text(format!("well {number}"))).await;
        outcome = home.resume(&workflow, &outcome.run).await;
    }
    let run = outcome.run.clone();
    assert_eq!(outcome.completed().unwrap().steps, ["a!", "well 0", "a!", "well 1", "a!", "well 2"]);
    assert_eq!(home.model.calls(), 3, "nothing is asked again");
    let expected = (0..3).map(|number| IdempotencyKey::derive_in(&run, number, &"main/well?".into(), 0));
    assert_eq!(questions, expected.collect::<Vec<_>>(), "each is a question of its own");
    let history = History::load(&**home.store(), &run).await.unwrap();
    let asked = history.effects.iter().filter(|effect| effect.kind == EffectKind::Ask);
    assert_eq!(asked.map(|effect| effect.key(&run)).collect::<Vec<_>>(), questions);
}

#[tokio::test]
async fn keys_and_random_numbers_are_of_one_generation() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let note = task_boxed("note", move |scope, _: &mut Trail| {
        let notes = Arc::clone(&notes);
        Box::pin(async move {
            let random = scope.random();
            scope.custom("act").perform(|key| async move { Ok::<_, Error>(key.to_string()) }).await.map(
                |key: String| {
                    notes.lock().unwrap().push((key, random));
                },
            )
        })
    });
    let home = Home::new(echo());
    let run = home.start(&repeated(3, [note]), Trail::default()).await.run;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen[0].0, IdempotencyKey::derive(&run, &"main/note".into(), 1).to_string());
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert!(seen[one].0 != seen[other].0 && seen[one].1 != seen[other].1, "{seen:?}");
    }
}

#[tokio::test]
async fn limits_hold_over_all_generations() {
    let home = Home::new(echo());
    let workflow = repeated(9, [says("a"), asks("well?")]);
    let limits = Limits::default().model_calls(2);
    let mut outcome = home.runtime().start(&workflow, Trail::default()).limits(limits).await.unwrap();
    while outcome.status == RunStatus::Suspended {
        home.answer(&outcome.run, "well?", Answer::text("well")).await;
        outcome = home.resume(&workflow, &outcome.run).await;
    }
    assert_eq!((outcome.status, outcome.totals.model_calls), (RunStatus::BudgetExhausted, 2));
    assert_eq!(home.model.calls(), 2);
    let more = home.runtime().resume(&workflow, outcome.run).limits(Limits::default().model_calls(3));
    assert_eq!((more.await.unwrap().status, home.model.calls()), (RunStatus::Suspended, 3));
}

#[tokio::test]
async fn limits_that_are_set_later_count_what_was_used_before_them() {
    let home = Home::new(echo());
    let workflow = repeated(9, [says("a"), asks("well?")]);
    let run = home.start(&workflow, Trail::default()).await.run;
    for _ in 0..2 {
        home.answer(&run, "well?", Answer::text("well")).await;
        let _ = home.resume(&workflow, &run).await;
    }
    home.answer(&run, "well?", Answer::text("well")).await;
    let limited = home.runtime().resume(&workflow, run).limits(Limits::default().model_calls(3));
    assert_eq!((limited.await.unwrap().status, home.model.calls()), (RunStatus::BudgetExhausted, 3));
}

#[tokio::test]
async fn mail_is_taken_once_whichever_generation_takes_it() {
    let home = Home::new(echo());
    let takes = || {
        task_boxed("takes", |scope, trail: &mut Trail| {
            Box::pin(async move {
                trail.steps.push(scope.receive::<String>("letters").await?.payload);
                Ok(())
            })
        })
    };
    let workflow = repeated(3, [takes()]);
    let impatient = home.builder().patience(Duration::ZERO).build();
    let mut outcome = impatient.start(&workflow, Trail::default()).await.unwrap();
    for letters in [&["x", "y"][..], &["z"]] {
        for letter in letters {
            home.store().post(&outcome.run, NewMail::json("letters", letter).unwrap()).await.unwrap();
        }
        assert_eq!(outcome.status, RunStatus::Suspended);
        outcome = impatient.resume(&workflow, outcome.run).await.unwrap();
    }
    assert_eq!(outcome.completed().unwrap().steps, ["x", "y", "z"]);
}

/// Asks about every call; approvals may cover all of them.
struct Asks;

impl Interceptor for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        if !matches!(about.request, EffectRequest::Tool { .. }) {
            return Box::pin(async { Ok(Verdict::Allow) });
        }
        Box::pin(async { Ok(Verdict::ask(Question::approval("May it?").covers("looking"))) })
    }
}

#[tokio::test]
async fn what_is_approved_for_the_run_is_not_asked_in_a_later_generation_but_in_a_fork() {
    let (home, tool) = (Home::new(echo()), TestTool::gives("look", "seen"));
    let tools = Toolset::new().with(tool.clone()).unwrap();
    let look = ToolStep::new("look", &tools, "look", |_: &Trail| Ok::<_, Error>(json!({}))).discard();
    let workflow = Workflow::new(Chain::new("main").then(asks("well?")).then(look).then(continues(3)));
    let runtime = home.builder().interceptor(Asks).build();
    let run = runtime.start(&workflow, Trail::default()).await.unwrap().run;
    for (title, answer) in [
        ("well?", Answer::text("well")),
        ("May it?", Answer::approve().for_run()),
        ("well?", Answer::text("well")),
    ] {
        home.answer(&run, title, answer).await;
        let _ = runtime.resume(&workflow, run.clone()).await.unwrap();
    }
    assert_eq!((home.asked(&run).await, tool.calls()), (vec!["well?".to_owned()], 2));
    let end = home.entries(&run).await.len() as u64;
    let fork = Fork::new(run, end + 1).create(home.store()).await.unwrap();
    home.answer(&fork, "well?", Answer::text("well")).await;
    assert_eq!(runtime.resume(&workflow, fork.clone()).await.unwrap().status, RunStatus::Suspended);
    assert_eq!(home.asked(&fork).await, ["May it?"]);
}

/// A run with the first so many entries of another one, as a process leaves it that is killed.
async fn killed_after(home: &Home, workflow: &Workflow<Trail>, run: &RunId, entries: usize) -> RunId {
    let past = home.entries(run).await.into_iter().take(entries).collect();
    let died = workflow.new_run(RunId::mint(), json!(Trail::default()).to_string());
    let died = NewRun { past: Batch { entries: past, ..Batch::default() }, ..died };
    let lease = home.store().create(died).await.unwrap();
    home.store().release(&lease);
    lease.run
}

#[tokio::test]
async fn a_run_that_is_killed_before_it_has_continued_comes_to_that_end_again() {
    let home = Home::new(echo());
    let workflow = repeated(2, [says("a")]);
    let run = home.start(&workflow, Trail::default()).await.run;
    let died = killed_after(&home, &workflow, &run, 1).await;
    let outcome = home.resume(&workflow, &died).await;
    assert_eq!((outcome.totals.model_calls, home.model.calls()), (2, 3), "one for the second generation");
    assert_eq!(outcome.completed().unwrap().steps, ["a!", "a!"]);
}

#[tokio::test]
async fn whoever_starts_a_run_once_more_with_what_it_began_with_goes_on_with_it() {
    let home = Home::new(echo());
    let (workflow, id): (_, RunId) = (repeated(2, [asks("well?")]), "mine".parse().unwrap());
    let start = |state| home.runtime().start(&workflow, state).id(id.clone());
    let _ = start(Trail::saying("first")).await.unwrap();
    home.answer(&id, "well?", Answer::text("well")).await;
    assert_eq!(start(Trail::saying("first")).await.unwrap().status, RunStatus::Suspended);
    assert_eq!(record(&home, &id).await.generation.number, 1);
    assert_eq!(start(Trail::saying("first")).await.unwrap().status, RunStatus::Suspended);
    let refused = start(Trail::saying("second")).await.unwrap_err().to_string();
    assert!(refused.contains("began with another state"), "{refused}");
}

#[tokio::test]
async fn nobody_who_copes_with_failures_keeps_a_run_from_continuing() {
    let policy = RetryPolicy::attempts(3).unwrap();
    let chain = Chain::new("main")
        .then_or(add("before"), OnError::Continue)
        .then_or(Retry::new(continues(3), policy), OnError::Continue);
    let done = Home::new(echo()).start(&Workflow::new(chain), Trail::default()).await;
    assert_eq!(done.completed().unwrap().count, 3);
}

#[tokio::test]
async fn a_branch_cannot_continue_for_the_whole_run() {
    let branches = Parallel::builder("fan", Join::all().finish_rest())
        .branch(continues(2), |trail: &mut Trail, branch: Trail| trail.count += branch.count)
        .branch(add("other"), |_: &mut Trail, _: Trail| {})
        .build()
        .unwrap();
    let home = Home::new(echo());
    let outcome = home.start(&Workflow::new(branches), Trail::default()).await;
    let refused = outcome.error.unwrap().to_string();
    assert!(refused.contains("`fan/continues` is a branch or a call of a tool"), "{refused}");
    assert_eq!(record(&home, &outcome.run).await.generation.number, 0);
}

/// A tool that wants the whole run to continue.
struct Presumptuous(ToolSpec);

impl Tool for Presumptuous {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move { call.scope.child("inside").continue_with("anything").map(|()| String::new()) })
    }
}

#[tokio::test]
async fn a_tool_cannot_continue_for_the_whole_run() {
    let tool = Presumptuous(ToolSpec::new("go", "", ToolEffect::Reads.into()));
    let tools = Toolset::new().with(tool).unwrap();
    let step = ToolStep::new("step", &tools, "go", |_: &Trail| Ok::<_, Error>(json!({}))).discard();
    let outcome = Home::new(echo()).start(&Workflow::new(step), Trail::default()).await;
    let refused = outcome.error.unwrap().to_string();
    assert!(refused.contains("only the whole run can continue"), "{refused}");
}

#[tokio::test]
async fn a_state_that_is_not_the_workflows_is_refused() {
    let step =
        task_boxed("step", |scope, _: &mut Trail| Box::pin(async move { scope.continue_with("words") }));
    let outcome = Home::new(echo()).start(&Workflow::new(step), Trail::default()).await;
    let refused = outcome.error.unwrap().to_string();
    assert!(refused.contains("the state of the whole workflow"), "{refused}");
}

#[tokio::test]
async fn a_question_that_was_not_answered_is_not_left_behind() {
    let step = task_boxed("step", |scope, trail: &mut Trail| {
        Box::pin(async move {
            match scope.ask(Question::text("well?")).await {
                Ok(_) if scope.generation() > 0 => Ok(()),
                // It does not care whether it was answered.
                _ => scope.continue_with(trail),
            }
        })
    });
    let (home, workflow) = (Home::new(echo()), Workflow::new(Chain::new("main").then(step)));
    let first = home.start(&workflow, Trail::default()).await;
    assert_eq!((first.status, home.asked(&first.run).await.len()), (RunStatus::Suspended, 1));
    assert_eq!(record(&home, &first.run).await.generation.number, 0);
    home.answer(&first.run, "well?", Answer::text("yes")).await;
    assert_eq!(home.resume(&workflow, &first.run).await.status, RunStatus::Suspended);
    assert_eq!(record(&home, &first.run).await.generation.number, 1);
}

/// Asks twice; later code continues after the first answer, at once or only where it had not gone on.
fn learns(learnt: Option<bool>) -> Workflow<Trail> {
    Workflow::new(task_boxed("step", move |scope: &Scope, trail: &mut Trail| {
        Box::pin(async move {
            scope.ask(Question::text("one?")).await?;
            trail.count += 1;
            if learnt.is_some_and(|is_careful| !(is_careful && scope.composing().has_recorded_next())) {
                return scope.continue_with(trail);
            }
            scope.ask(Question::text("two?")).await?;
            Ok(())
        })
    }))
}

#[tokio::test]
async fn a_run_that_went_on_is_not_made_to_forget_that() {
    let home = Home::new(echo());
    let run = home.start(&learns(None), Trail::default()).await.run;
    home.answer(&run, "one?", Answer::text("1")).await;
    let _ = home.resume(&learns(None), &run).await;
    assert_eq!(home.asked(&run).await, ["two?"]);
    let diverged = home.resume(&learns(Some(false)), &run).await.error.unwrap();
    assert!(matches!(diverged, Error::Diverged(_)), "{diverged}");
    assert_eq!(home.resume(&learns(Some(true)), &run).await.status, RunStatus::Suspended);
    assert_eq!(home.asked(&run).await, ["two?"], "it goes on as it did");
    home.answer(&run, "two?", Answer::text("2")).await;
    assert_eq!(home.resume(&learns(Some(true)), &run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_fork_begins_with_what_the_last_generation_began_with() {
    let home = Home::new(echo());
    let workflow = repeated(2, [says("a"), asks("well?")]);
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("one")).await;
    let _ = home.resume(&workflow, &run).await;
    home.answer(&run, "well?", Answer::text("two")).await;
    let done = home.resume(&workflow, &run).await;
    assert_eq!((done.totals.model_calls, home.model.calls()), (2, 2));

    let earlier = Fork::new(run.clone(), 2).create(home.store()).await.unwrap_err().to_string();
    assert!(earlier.contains("has continued since entry 2"), "{earlier}");
    let at = home.entries(&run).await.iter().rfind(|entry| entry.effect == EffectKind::Ask).unwrap().seq;
    let fork = Fork::new(run.clone(), at).with_outcome(json!(Answer::text("three")));
    let fork = fork.create(home.store()).await.unwrap();
    let other = home.resume(&workflow, &fork).await;
    assert_eq!((other.totals.model_calls, home.model.calls()), (2, 2), "what came before is shared");
    assert_eq!(other.completed().unwrap().steps, ["a!", "one", "a!", "three"]);
}

#[tokio::test]
async fn a_version_migrates_the_state_that_its_generation_began_with() {
    let version = |number: u32, name: &str| {
        let chain = Chain::new("main").then(Chain::new(name).then(asks("well?"))).then(continues(3));
        let marked = |mut state: serde_json::Value| {
            state["text"] = json!(format!("{}+", state["text"].as_str().unwrap_or_default()));
            Ok(state)
        };
        let workflow = Workflow::new(chain).named("flow").version(number);
        workflow.migrate(1, marked).migrate(2, marked).renamed(1, "main/one", "two")
    };
    let home = Home::new(echo());
    let run = home.start(&version(1, "one"), Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("x")).await;
    // The step goes by its old name to the end of the generation, and by its new one from the next on.
    let second = home.resume(&version(2, "two"), &run).await;
    assert_eq!((second.status, second.state.text.as_str()), (RunStatus::Suspended, "+"));
    assert_eq!(home.entries(&run).await.last().unwrap().path.as_str(), "main/two/well?");
    assert_eq!(record(&home, &run).await.version, 2);
    let same = home.resume(&version(2, "two"), &run).await;
    assert_eq!(same.state.text, "+", "what this version began is not migrated to it");
    let third = home.resume(&version(3, "two"), &run).await;
    assert_eq!(third.state.text, "++");
}

#[tokio::test]
async fn a_run_that_would_continue_for_ever_can_be_told_to_end() {
    let home = Home::new(echo());
    let workflow = repeated(u32::MAX, [says("a")]);
    let id: RunId = "endless".parse().unwrap();
    let (workflow, runtime, run) = (workflow.clone(), home.runtime(), id.clone());
    let endless = tokio::spawn(async move { runtime.start(&workflow, Trail::default()).id(run).await });
    while home.store().run(&id).await.unwrap().is_none_or(|record| record.generation.number < 3) {
        tokio::task::yield_now().await;
    }
    cancel_for_good(&**home.store(), &id, "enough").await.unwrap();
    assert_eq!(endless.await.unwrap().unwrap().status, RunStatus::Cancelled);
}

#[tokio::test]
async fn the_history_has_all_generations() {
    let home = Home::new(echo());
    let run = home.start(&repeated(3, [says("a")]), Trail::default()).await.run;
    let history = History::load(&**home.store(), &run).await.unwrap();
    let said = |detail: &Detail| match detail {
        Detail::Model { reply: Some(reply), .. } => reply.text(),
        Detail::Continue { generation } => format!("generation {generation}"),
        other => format!("{other:?}"),
    };
    let told: Vec<String> = history.effects.iter().map(|effect| said(&effect.current().detail)).collect();
    assert_eq!(told, ["a!", "generation 1", "a!", "generation 2", "a!"]);
    assert_eq!(history.spent().model_calls, 3);
}
