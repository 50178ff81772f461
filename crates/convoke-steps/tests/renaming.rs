//! Workflows that change while runs of them are under way.

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, add};
use convoke_core::store::NewRun;
use convoke_core::{Answer, Error, Fork, RunId, RunStatus, Workflow};
use convoke_steps::{Chain, Loop};

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
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    assert_eq!(home.model.calls(), calls, "nothing is performed");
    refused.to_string()
}

#[tokio::test]
async fn a_step_that_was_renamed_after_it_had_effects_is_missed_before_anything_happens() {
    let (home, workflow) = (Home::new(echo()), before_and_after(&["a", "b"], &["c"]));
    let run = answered(&home, &workflow).await;
    let refused = refusal(&home, &before_and_after(&["a", "B"], &["c"]), &run).await;
    assert!(refused.contains("no longer has: `main/b` (new in it: `main/B`)"), "{refused}");
    for remedy in ["renamed", "Workflow::migrate", "fork"] {
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
async fn a_new_version_or_a_fork_before_the_step_goes_on() {
    let home = Home::new(echo());
    let run = answered(&home, &before_and_after(&["a", "b"], &[])).await;
    let changed = before_and_after(&["a", "c"], &[]);
    let versioned = changed.clone().version(2).migrate(1, Ok);
    let done = home.resume(&versioned, &run).await.completed().unwrap();
    assert_eq!(done.steps, ["a!", "c!", "well"]);

    let other = answered(&home, &before_and_after(&["a", "b"], &[])).await;
    let at = home.entries(&other).await.iter().find(|entry| entry.path.as_str() == "main/b").unwrap().seq;
    let fork = Fork::new(other.clone(), at).create(home.store()).await.unwrap();
    assert_eq!(home.resume(&changed, &fork).await.status, RunStatus::Suspended);
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
