//! Runs that anybody can go on with: by name, within the limits they were started with.

use std::time::Duration;

use crate::common::stored::{Home, asks, echo, says};
use crate::common::{Trail, millis, waits};
use convoke_core::store::RunQuery;
use convoke_core::{
    Answer, Error, Fork, Launch, Limits, Registry, RunId, RunOptions, RunStatus, Runner, StoreError,
    Timestamp, Workflow,
};
use convoke_steps::Chain;
use serde_json::{Value, json};

fn workflow() -> Workflow<Trail> {
    Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")).then(says("b")))
}

/// A registry of another process.
fn registry(workflows: impl IntoIterator<Item = Workflow<Trail>>) -> Registry {
    let registry = Registry::new();
    workflows.into_iter().for_each(|workflow| registry.register(Runner::new(&workflow)));
    registry
}

fn steps(state: &Value) -> Vec<&str> {
    state["steps"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_run_that_was_started_by_name_is_answered_gone_on_with_replayed_and_forked_by_name() {
    let home = Home::new(echo());
    let runner = registry([workflow()]).get("main").unwrap();
    let id: RunId = "named".parse().unwrap();
    let began = runner.run(&home.runtime(), None, Some(id.clone()), RunOptions::default()).await.unwrap();
    assert_eq!(began.status, RunStatus::Suspended);
    home.answer(&id, "well?", Answer::text("well")).await;

    let elsewhere = registry([workflow()]);
    let done = home.runtime().go_on(&elsewhere, id.clone()).await.unwrap().completed().unwrap();
    assert_eq!(steps(&done), ["a!", "well", "b!"]);
    assert_eq!(home.model.calls(), 2, "what was done is not done again");
    let again = home.runtime().go_on(&elsewhere, id.clone()).await.unwrap();
    assert_eq!(again.completed().unwrap(), done, "a completed run gives its outcome again");

    let replay = home.runtime().replay_any(&elsewhere, &id).await.unwrap();
    assert_eq!((replay.state, replay.unused), (done, 0));
    let fork = Fork::new(id, 4).create(home.store()).await.unwrap();
    let (events, forked) = home.runtime().go_on(&elsewhere, fork).stream().collect().await;
    assert_eq!(steps(&forked.unwrap().completed().unwrap()), ["a!", "well", "b!"]);
    assert!(!events.is_empty());
    assert_eq!(home.model.calls(), 3, "only what follows the fork");
}

#[tokio::test]
async fn a_typed_run_is_gone_on_with_by_name_too() {
    let home = Home::new(echo());
    let run = home.start(&workflow(), Trail::saying("x")).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let done = home.runtime().go_on(&registry([workflow()]), run).await.unwrap().completed().unwrap();
    assert_eq!((steps(&done), &done["text"]), (vec!["a!", "well", "b!"], &json!("x")));
}

#[tokio::test]
async fn limits_hold_whoever_goes_on() {
    let home = Home::new(echo());
    let start = home.runtime().start(&workflow(), Trail::default()).limits(Limits::default().model_calls(1));
    let run = start.await.unwrap().run;
    home.answer(&run, "well?", Answer::text("well")).await;
    for _ in 0..2 {
        let outcome = home.runtime().go_on(&registry([workflow()]), run.clone()).await.unwrap();
        assert_eq!(outcome.status, RunStatus::BudgetExhausted);
    }
    // More is given once, and holds from then on.
    let mut more = RunOptions::default();
    more.launch = more.launch.limits(Limits::default().model_calls(2));
    let done = home.runtime().go_on(&registry([workflow()]), run.clone()).options(more).await.unwrap();
    assert_eq!(steps(&done.completed().unwrap()), ["a!", "well", "b!"]);
    let record = home.store().run(&run).await.unwrap().unwrap();
    assert_eq!(record.launch.limits, Some(Limits::default().model_calls(2)));
}

#[tokio::test(start_paused = true)]
async fn time_at_work_is_counted_over_the_whole_life_and_waiting_is_not() {
    let workflow = || {
        let chain = Chain::new("main").then(waits("a", 60)).then(asks("well?"));
        Workflow::new(chain.then(waits("b", 60)).then(asks("and?")).then(waits("c", 60)))
    };
    let home = Home::new(echo());
    let run = home.runtime().start(&workflow(), Trail::default()).timeout(millis(150)).await.unwrap().run;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    home.answer(&run, "well?", Answer::text("well")).await;
    let second = home.resume(&workflow(), &run).await;
    assert_eq!(second.status, RunStatus::Suspended, "an hour of waiting is no work: {:?}", second.error);
    home.answer(&run, "and?", Answer::text("and")).await;
    let third = home.resume(&workflow(), &run).await;
    assert_eq!(third.status, RunStatus::TimedOut, "60 of 150 ms were left twice, and 30 then");
    assert!(third.error.unwrap().to_string().contains("150ms"));
    let worked = home.store().run(&run).await.unwrap().unwrap().worked;
    assert!((millis(150)..millis(160)).contains(&worked), "{worked:?}");
    let more = home.runtime().resume(&workflow(), run).timeout(Duration::MAX).await.unwrap();
    assert_eq!(more.completed().unwrap().steps, ["a", "well", "b", "and", "c"]);
}

#[tokio::test]
async fn a_deadline_holds_for_a_run_that_waited_too() {
    let home = Home::new(echo());
    let soon = Launch::default().deadline(Timestamp::now() + millis(40));
    let run = home.runtime().start(&workflow(), Trail::default()).launch(soon).await.unwrap().run;
    home.answer(&run, "well?", Answer::text("well")).await;
    tokio::time::sleep(millis(50)).await;
    assert_eq!(home.resume(&workflow(), &run).await.status, RunStatus::TimedOut);
    assert_eq!(home.model.calls(), 1, "nothing is begun after it");
}

#[tokio::test]
async fn what_a_run_was_started_with_is_in_its_record_from_the_first_moment() {
    let home = Home::new(echo());
    let launch = Launch::default()
        .label("customer", "ann")
        .parent("parent".parse().unwrap())
        .thread("kitchen")
        .started_by("ben")
        .host(json!({"door": "test"}));
    let start = home.runtime().start(&workflow(), Trail::default()).launch(launch.clone());
    let run = start.label("kind", "trial").await.unwrap().run;
    let record = home.store().run(&run).await.unwrap().unwrap();
    assert_eq!(record.launch, launch.label("kind", "trial"));
    let query = RunQuery { thread: Some("kitchen".to_owned()), ..RunQuery::default() };
    assert_eq!(home.store().runs(&query).await.unwrap()[0].id, run);
    let fork = Fork::new(run, 1).create(home.store()).await.unwrap();
    assert_eq!(home.store().run(&fork).await.unwrap().unwrap().launch, record.launch);
}

#[tokio::test]
async fn versions_stand_side_by_side_and_each_run_has_its_own() {
    let home = Home::new(echo());
    let shout =
        || Workflow::new(Chain::new("main").then(says("a")).then(asks("well?")).then(says("B"))).version(2);
    let run = home.start(&workflow(), Trail::default()).await.run;
    home.answer(&run, "well?", Answer::text("well")).await;
    let both = registry([workflow(), shout()]);
    assert_eq!(
        (both.get("main").unwrap().version(), both.len()),
        (2, 1),
        "what is new begins with the newest"
    );
    let done = home.runtime().go_on(&both, run).await.unwrap().completed().unwrap();
    assert_eq!(steps(&done), ["a!", "well", "b!"], "and what is old goes on with its own");
    // Without its own, the next one must know how to take it over.
    let run = home.start(&workflow(), Trail::default()).await.run;
    let refused = home.runtime().go_on(&registry([shout()]), run.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("no migration"), "{refused}");
    let newer = home.start(&shout(), Trail::default()).await.run;
    let refused = home.runtime().go_on(&registry([workflow()]), newer).await.unwrap_err();
    assert!(refused.to_string().contains("and only older ones are known here: 1"), "{refused}");
}

#[tokio::test]
async fn nobody_goes_on_with_what_is_not_known() {
    let home = Home::new(echo());
    let run = home.start(&workflow(), Trail::default()).await.run;
    let unknown = home.runtime().go_on(&Registry::new(), run.clone()).await.unwrap_err();
    assert!(unknown.to_string().contains("workflow not found: main"), "{unknown}");
    let absent = home.runtime().go_on(&registry([workflow()]), "absent".parse().unwrap()).await.unwrap_err();
    assert!(matches!(absent, Error::Store(StoreError::NotFound { .. })), "{absent:?}");
    let (events, refused) = home.runtime().go_on(&Registry::new(), run).stream().collect().await;
    assert_eq!((events.len(), refused.is_err()), (1, true), "its end, and nothing else");
}
