//! Runs keep the rules they were begun under, whatever build goes on with them.
use std::sync::Arc;

use crate::run_support::{Rig, prompts};
use convoke_core::store::Store;
use convoke_core::{EffectKind, Fork, RunId, Runtime};
use convoke_goals::{Goal, GoalState, Input, Output, PreparedWorkflow, Sequence, Values, Workflow};
use convoke_models::{Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::json;

/// Begins a run, and forks it where it begins, as a build before there were rules would have begun it.
async fn begun_earlier(prepared: &PreparedWorkflow, inputs: [(&str, &str); 1]) -> (Runtime, RunId) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let state = prepared.bind(inputs.into_iter().collect::<Values>()).unwrap().state;
    let outcome = runtime.start(&prepared.workflow(), state).await.unwrap();
    let entries = store.entries(&outcome.run, 1, 1_000).await.unwrap();
    let first = entries.iter().find(|entry| entry.effect == EffectKind::Custom).unwrap();
    let earlier = Fork::new(outcome.run, first.seq).with_outcome(json!("<workspace>")).create(&store).await;
    (runtime, earlier.unwrap())
}

async fn resumed(runtime: &Runtime, prepared: &PreparedWorkflow, run: RunId) -> GoalState {
    runtime.resume(&prepared.workflow(), run).await.unwrap().completed().unwrap()
}

#[tokio::test]
async fn a_run_begun_before_inputs_were_fenced_goes_on_with_the_prompts_it_has() {
    let model = ScriptedModel::builder().otherwise("done").build();
    let tree = Workflow::new("w")
        .input(Input::new("data"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Sum up $data")));
    let prepared = Rig::new(&model).prepare(tree);
    let (runtime, run) = begun_earlier(&prepared, [("data", "<b>bold</b>")]).await;
    resumed(&runtime, &prepared, run).await;
    let prompts = prompts(&model);
    assert!(prompts[0].contains("Sum up \n[data "), "{}", prompts[0]);
    assert!(prompts[1].contains("Sum up <b>bold</b>\n"), "{}", prompts[1]);
}

#[tokio::test]
async fn a_run_begun_before_prose_was_an_output_has_its_output_asked_for_once_more() {
    let model = ScriptedModel::builder()
        .when(convoke_models::Match::last_contains("cannot be used"), Reply::text(r#"{"a": "x"}"#))
        .otherwise("The answer is x.")
        .build();
    let goal = Goal::new("g", "Do $data").output(Output::new("a"));
    let tree = Workflow::new("w").input(Input::new("data")).sequence(Sequence::new("s").goal(goal));
    let prepared = Rig::new(&model).prepare(tree);
    let (runtime, run) = begun_earlier(&prepared, [("data", "it")]).await;
    assert_eq!(model.calls(), 1);
    let state = resumed(&runtime, &prepared, run).await;
    assert_eq!((state.text("a").as_deref(), model.calls()), (Some("x"), 3));
}

#[tokio::test]
async fn a_run_begun_by_a_newer_build_is_refused_and_not_asked_otherwise() {
    let model = ScriptedModel::builder().otherwise("done").build();
    let tree = Workflow::new("w")
        .input(Input::new("data"))
        .sequence(Sequence::new("s").goal(Goal::new("g", "Sum up $data")));
    let prepared = Rig::new(&model).prepare(tree);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let state = prepared.bind(Values::from_iter([("data", "x")])).unwrap().state;
    let outcome = runtime.start(&prepared.workflow(), state).await.unwrap();
    let entries = store.entries(&outcome.run, 1, 1_000).await.unwrap();
    let first = entries.iter().find(|entry| entry.effect == EffectKind::Custom).unwrap();
    let newer = json!({"workspace": "", "rules": 99});
    let newer = Fork::new(outcome.run, first.seq).with_outcome(newer).create(&store).await.unwrap();
    let error = runtime.resume(&prepared.workflow(), newer).await.unwrap().error.unwrap();
    assert!(error.to_string().contains("newer version of Convoke"), "{error}");
    assert_eq!(model.calls(), 1);
}
