//! Workflows that change while runs of them are under way.

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, add};
use convoke_core::store::NewRun;
use convoke_core::{Answer, Error, Fork, ModelRequest, RunId, RunStatus, Visibility, Workflow};
use convoke_steps::{Chain, Loop, task_boxed};

/// Steps that have the model speak, around a question.
fn before_and_after(before: &[&str], after: &[&str]) -> Workflow<Trail> {
    let chain = before.iter().fold(Chain::new("main"), |chain, name| chain.then(says(name)));
    Workflow::new(after.iter().fold(chain.then(asks("well?")), |chain, name| chain.then(says(name))))
}

/// A run that waits for an answer, and has it.
async fn answered(home: &Home, workflow: &Workflow<Trail>) -> RunId {
    let run = home.start(workflow, Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    run
}

async fn refusal(home: &Home, workflow: &Workflow<Trail>, run: &RunId) -> String {
    let calls = home.model.calls();
    let refused = home.runtime().resume(workflow, run.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_) | Error::StepsMissing(_)), "{refused:?}");
    assert_eq!(home.model.calls(), calls, "nothing is performed");
    refused.to_string()
}

#[tokio::test]
async fn a_step_that_was_renamed_after_it_had_effects_is_missed_before_anything_happens() {
    let (home, workflow) = (Home::new(echo()), before_and_after(&["a", "b"], &["c"]));
    let run = answered(&home, &workflow).await;
    let refused = refusal(&home, &before_and_after(&["a", "B"], &["c"]), &run).await;
    assert!(refused.contains("no longer has: `main/b` (new in it: `main/B`)"), "{refused}");
    for remedy in ["renamed", "Workflow::migrate", "Workflow::dropped", "fork"] {
        assert!(refused.contains(remedy), "{refused}");
    }
    let done = home.resume(&workflow, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["a!", "b!", "well", "c!"], "the run is as it was");
}

#[tokio::test]
async fn a_chain_that_was_moved_or_renamed_is_missed() {
    let nested = |name: &str| {
        Workflow::new(Chain::new("main").then(Chain::new(name).then(says("a"))).then(asks("well?")))
    };
    let home = Home::new(echo());
    let run = answered(&home, &nested("inner")).await;
    assert!(refusal(&home, &nested("outer"), &run).await.contains("`main/inner`"));
    let flat = before_and_after(&["a"], &[]);
    assert!(refusal(&home, &flat, &run).await.contains("`main/inner`"));
    let root = Workflow::new(Chain::new("other").then(says("a"))).named("main");
    assert!(refusal(&home, &root, &run).await.contains("`main` (new in it: `other`)"));
}

#[tokio::test]
async fn steps_that_had_no_effects_and_new_ones_may_change() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a"], &["b"])).await;
    let changed = Chain::new("main").then(add("new")).then(says("a")).then(asks("well?")).then(says("c"));
    let done = home.resume(&Workflow::new(changed), &run).await.completed().unwrap();
    assert_eq!(done.steps, ["new", "a!", "well", "c!"]);
}

#[tokio::test]
async fn steps_may_change_their_order() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a", "b"], &[])).await;
    let done = home.resume(&before_and_after(&["b", "a"], &[]), &run).await.completed().unwrap();
    assert_eq!((done.steps, home.model.calls()), (vec!["b!".into(), "a!".into(), "well".into()], 2));
}

#[tokio::test]
async fn one_of_two_steps_of_the_same_name_is_missed() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a", "a"], &[])).await;
    assert!(refusal(&home, &before_and_after(&["a"], &[]), &run).await.contains("`main/a#2`"));
}

#[tokio::test]
async fn what_a_loop_repeats_is_found_in_every_round() {
    let rounds = |extra: bool| {
        let body = Chain::new("round").then(says("a"));
        let body = if extra { body.then(add("more")) } else { body };
        let twice = Loop::times("twice", 2, body);
        Workflow::new(Chain::new("main").then(twice).then(asks("well?")))
    };
    let home = Home::new(echo());
    let run = answered(&home, &rounds(false)).await;
    assert!(home.resume(&rounds(true), &run).await.completed().is_ok());
}

#[tokio::test]
async fn a_step_that_was_added_on_the_way_is_missed_like_any_other() {
    let home = Home::new(echo());
    let two = |names: &[&str]| {
        let chain =
            names.iter().fold(Chain::new("main").then(asks("well?")), |chain, name| chain.then(says(name)));
        Workflow::new(chain.then(asks("really?")))
    };
    let run = answered(&home, &two(&[])).await;
    assert_eq!(home.resume(&two(&["added"]), &run).await.status, RunStatus::Suspended);
    home.answer(&run, "really?", Answer::text("yes")).await;
    assert!(refusal(&home, &two(&["renamed"]), &run).await.contains("`main/added`"));
}

#[tokio::test]
async fn a_new_version_alone_does_not_do_again_what_was_done() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a", "b"], &[])).await;
    let changed = before_and_after(&["a", "c"], &[]);
    let versioned = changed.clone().version(2).migrate(1, Ok);
    let refused = refusal(&home, &versioned, &run).await;
    assert!(refused.contains("no longer has: `main/b` (new in it: `main/c`)"), "{refused}");
    // It is to go, and something else is to come.
    let dropped = versioned.dropped(1, "main/b");
    assert_eq!(home.resume(&dropped, &run).await.completed().unwrap().steps, ["a!", "c!", "well"]);

    let other = answered(&home, &before_and_after(&["a", "b"], &[])).await;
    let at = home.entries(&other).await.iter().find(|entry| entry.path.as_str() == "main/b").unwrap().seq;
    let fork = Fork::new(other.clone(), at).create(home.store()).await.unwrap();
    assert_eq!(home.resume(&changed, &fork).await.status, RunStatus::Suspended);
}

/// A chain of two questions around a step of this name.
fn between_questions(name: &str) -> Workflow<Trail> {
    let inner = Chain::new(name).then(says("deep"));
    Workflow::new(Chain::new("main").then(asks("one?")).then(inner).then(asks("two?")).then(says("last")))
}

#[tokio::test]
async fn a_run_keeps_its_names_over_several_versions_and_older_code_is_refused() {
    let home = Home::new(echo());
    let second = || between_questions("two").version(2).migrate(1, Ok).renamed(1, "main/one", "two");
    let third = || {
        let third = between_questions("three").version(3).migrate(1, Ok).migrate(2, Ok);
        third.renamed(1, "main/one", "two").renamed(2, "main/two", "three")
    };
    let run = home.start(&between_questions("one"), Trail::default()).await.run;
    home.answer(&run, "one?", Answer::text("1")).await;
    assert_eq!(home.resume(&second(), &run).await.status, RunStatus::Suspended);
    let record = home.store().run(&run).await.unwrap().unwrap();
    assert_eq!((record.version, record.latest), (1, 2));
    home.answer(&run, "two?", Answer::text("2")).await;
    let refused = refusal(&home, &between_questions("one"), &run).await;
    assert!(refused.contains("version 2 of `main` has gone on with run"), "{refused}");
    assert_eq!(home.resume(&third(), &run).await.completed().unwrap().steps, ["1", "deep!", "2", "last!"]);
    assert_eq!(home.model.calls(), 2, "nothing was done twice");
    let replay = home.runtime().replay(&third(), &run).await.unwrap();
    assert_eq!((replay.state.steps.len(), replay.unused), (4, 0));
    let paths: Vec<String> = home.entries(&run).await.iter().map(|entry| entry.path.to_string()).collect();
    assert!(paths.contains(&"main/one/deep".to_owned()), "{paths:?}");
    // A run that begins now has the names of now.
    let new = home.start(&third(), Trail::default()).await.run;
    home.answer(&new, "one?", Answer::text("1")).await;
    home.resume(&third(), &new).await.completed().unwrap_err();
    let paths: Vec<String> = home.entries(&new).await.iter().map(|entry| entry.path.to_string()).collect();
    assert!(paths.contains(&"main/three/deep".to_owned()), "{paths:?}");
}

#[tokio::test]
async fn steps_within_renamed_steps_are_renamed_and_dropped_by_the_names_of_their_time() {
    let workflow = |outer: &str, inner: &[&str]| {
        let inner = inner
            .iter()
            .fold(Chain::new(outer), |chain, name| chain.then(Chain::new(*name).then(says("deep"))));
        Workflow::new(Chain::new("main").then(inner).then(asks("well?")))
    };
    let home = Home::new(echo());
    let run = answered(&home, &workflow("a", &["x/1", "y"])).await;
    let third = workflow("b", &["z#2"]).version(3).migrate(1, Ok).migrate(2, Ok);
    let third = third.renamed(1, "main/a", "b").renamed(2, "main/b/x%2f1", "z#2").dropped(2, "main/b/y");
    assert_eq!(home.resume(&third, &run).await.completed().unwrap().steps, ["deep!", "well"]);
    assert_eq!(home.model.calls(), 2, "what x did is found by z");
}

/// A step that asks, and says more once its code has changed.
fn changing(known: std::ops::RangeInclusive<u32>) -> Workflow<Trail> {
    let step = task_boxed("talk", move |scope, trail: &mut Trail| {
        let known = known.clone();
        Box::pin(async move {
            let model = scope.default_model()?;
            let say =
                async |text: &str| scope.model(&model, ModelRequest::new(text), Visibility::Streamed).await;
            trail.steps.push(say("hello").await?.text());
            if *known.end() > 1 && scope.version("a second word", known)? > 1 {
                trail.steps.push(say("more").await?.text());
            }
            scope.ask(convoke_core::Question::text("well?")).await?;
            Ok(())
        })
    });
    Workflow::new(step)
}

#[tokio::test]
async fn a_change_inside_a_step_is_for_runs_that_had_not_come_to_it() {
    let home = Home::new(echo());
    let old = home.start(&changing(1..=1), Trail::default()).await.run;
    let new = home.start(&changing(1..=2), Trail::default()).await.run;
    for (run, said) in [(old, vec!["hello!"]), (new.clone(), vec!["hello!", "more!"])] {
        home.answer(&run, "well?", Answer::text("well")).await;
        let done = home.runtime().replay(&changing(1..=2), &run).await.unwrap();
        assert_eq!(done.state.steps, said);
        assert_eq!(home.resume(&changing(1..=2), &run).await.completed().unwrap().steps, said);
    }
    let waiting = home.start(&changing(1..=2), Trail::default()).await.run;
    let refused = home.resume(&changing(3..=4), &waiting).await.error.unwrap().to_string();
    assert!(refused.contains("uses version 2 of") && refused.contains("knows 3 to 4"), "{refused}");
}

#[tokio::test]
async fn a_run_whose_outline_was_not_kept_goes_on_as_well_as_it_can() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a"], &[])).await;
    let record = home.store().run(&run).await.unwrap().unwrap();
    assert!(record.outline.is_some());
    let entries = home.entries(&run).await;
    let old = NewRun {
        launch: Default::default(),
        id: RunId::mint(),
        workflow: record.workflow,
        version: record.version,
        input: record.input,
        outline: None,
        seed: record.seed,
        forked_from: None,
        past: convoke_core::store::Batch { entries, ..Default::default() },
    };
    let lease = home.store().create(old).await.unwrap();
    home.store().release(&lease);
    let outcome = home.resume(&before_and_after(&["b"], &[]), &lease.run).await;
    assert_eq!((outcome.status, outcome.state.steps), (RunStatus::Suspended, vec!["b!".to_owned()]));
}
