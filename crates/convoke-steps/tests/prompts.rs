//! Prompts: a model asked once.

use crate::common::events::{end, spoken, told, told_of_steps};
use crate::common::{Trail, add, run, run_on, watch_on, with_model};
use convoke_agent::UnmarshalError;
use convoke_core::{Error, EventKind, FinishReason, ModelError, ModelErrorKind, ModelParams, Step, Workflow};
use convoke_models::scripted::Chunks;
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{Classifier, Prompt, StepExt, prompt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

fn greet() -> Prompt<Trail> {
    prompt("greet", |trail: &Trail| format!("Greet {}", trail.text)).text(|trail| &mut trail.text)
}

#[tokio::test]
async fn gains_011_the_field_holds_the_reply() {
    let model = ScriptedModel::replies(["Hello, World!"]);
    let outcome = run_on(&with_model(&model), greet(), Trail::saying("the world")).await;
    assert_eq!(outcome.completed().unwrap().text, "Hello, World!");
    assert_eq!(model.last_request().unwrap().messages.last().unwrap().text(), "Greet the world");
}

#[tokio::test]
async fn gains_012_the_pieces_of_a_reply_make_the_field() {
    let model = ScriptedModel::replies([Reply::text("Hello").chunks(Chunks::Characters(2))]);
    let (events, outcome) = watch_on(&with_model(&model), greet(), Trail::default()).await;
    assert_eq!(spoken(&events), "Hello");
    let expected = [
        "run started",
        "greet started",
        "greet message started",
        r#"greet says "He""#,
        r#"greet says "ll""#,
        r#"greet says "o""#,
        "greet message ended",
        "greet completed",
        "run completed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).state.as_ref().unwrap()["text"], "Hello");
    assert_eq!(outcome.completed().unwrap().text, "Hello");
}

#[tokio::test]
async fn gains_013_a_reply_is_one_message_with_one_id() {
    let model = ScriptedModel::replies([Reply::text("Hi").chunks(Chunks::Characters(1))]);
    let (events, _) = watch_on(&with_model(&model), greet(), Trail::default()).await;
    let expected = [
        "greet started",
        "greet message started",
        r#"greet says "H""#,
        r#"greet says "i""#,
        "greet message ended",
        "greet completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
    let mut ids: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MessageStarted { id, .. }
            | EventKind::MessageDelta { id, .. }
            | EventKind::MessageEnded { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Mood {
    sentiment: String,
    #[serde(default)]
    score: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Review {
    mood: Mood,
}

fn judge() -> Prompt<Review> {
    prompt("judge", |_: &Review| "How does it feel?").json(|review| &mut review.mood)
}

fn good() -> Review {
    Review { mood: Mood { sentiment: "good".into(), score: Some(0.9) } }
}

#[tokio::test]
async fn gains_014_a_structured_reply_fills_the_field() {
    let model = ScriptedModel::replies([r#"{"sentiment":"pos","score":0.5}"#]);
    let outcome = run_on(&with_model(&model), judge(), Review::default()).await;
    let mood = Mood { sentiment: "pos".into(), score: Some(0.5) };
    assert_eq!(outcome.completed().unwrap(), Review { mood });
    assert_eq!(model.last_request().unwrap().output.unwrap().name, "mood");
}

#[tokio::test]
async fn gains_015_a_reply_without_the_shape_is_an_error_that_carries_it() {
    // The model is told what is wrong and asked once more first.
    let model = ScriptedModel::replies(["not json", "still not json"]);
    let outcome = run_on(&with_model(&model), judge(), good()).await;
    let error = outcome.error.unwrap();
    let unmarshal = error.downcast_ref::<UnmarshalError>().unwrap();
    assert_eq!(
        (unmarshal.content.as_str(), unmarshal.context.as_str()),
        ("still not json", r#"workflow step "judge""#)
    );
    assert!(unmarshal.target.contains("Mood"));
    assert_eq!(outcome.state, good());
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn gains_016_a_structured_field_is_replaced_not_merged() {
    let model = ScriptedModel::replies([r#"{"sentiment":"bad"}"#]);
    let outcome = run_on(&with_model(&model), judge(), good()).await;
    assert_eq!(outcome.completed().unwrap().mood, Mood { sentiment: "bad".into(), score: None });
}

#[tokio::test]
async fn gains_018_what_the_run_sets_overrides_what_the_step_sets() {
    let model = ScriptedModel::replies(["Hi"]);
    let step = prompt("greet", |_: &Trail| "Greet me")
        .params(ModelParams::default().temperature(0.2).max_tokens(9))
        .text(|trail| &mut trail.text);
    let start = with_model(&model).start(&Workflow::new(step), Trail::default());
    start.params(ModelParams::default().temperature(0.9)).await.unwrap().completed().unwrap();
    let params = model.last_request().unwrap().params;
    assert_eq!((params.temperature, params.max_tokens), (Some(0.9), Some(9)));
}

#[tokio::test]
async fn gains_019_a_step_sends_its_own_schema_whatever_the_run_sets() {
    // A run cannot set a schema here; what it can set leaves the step's alone.
    let of_run = ModelParams::default().temperature(0.9).max_tokens(5);
    let model = ScriptedModel::replies([r#"{"sentiment":"pos"}"#, "yes"]);
    let start = with_model(&model).start(&Workflow::new(judge()), Review::default());
    start.params(of_run.clone()).await.unwrap().completed().unwrap();
    let request = model.last_request().unwrap();
    let sent = request.output.unwrap();
    assert_eq!((sent.name.as_str(), &sent.schema["required"]), ("mood", &json!(["sentiment"])));
    assert_eq!(request.params.temperature, Some(0.9));

    let step =
        Classifier::builder("sort", |_: &Trail| "yes or no?").route("yes", add("yes")).build().unwrap();
    let start = with_model(&model).start(&Workflow::new(step), Trail::default());
    start.params(of_run).await.unwrap().completed().unwrap();
    let sent = model.last_request().unwrap().output.unwrap();
    assert_eq!(sent.schema["properties"]["classification"]["enum"], json!(["yes"]));
}

#[tokio::test]
async fn gains_020_a_call_that_fails_at_once_tells_of_no_message() {
    let model = ScriptedModel::replies([ModelError::of_status(500, "down")]);
    let (events, _) = watch_on(&with_model(&model), greet(), Trail::default()).await;
    assert_eq!(told(&events), ["run started", "greet started", "greet failed", "run failed"]);
    assert_eq!(end(&events).error.as_deref(), Some("model call failed: down"));
}

#[tokio::test]
async fn gains_021_022_a_reply_that_breaks_off_is_closed_and_leaves_the_field_alone() {
    let broken = Reply::text("one two three").fail_after(2, ModelError::of_status(500, "down"));
    let model = ScriptedModel::replies([broken]);
    let (events, outcome) = watch_on(&with_model(&model), greet(), Trail::saying("before")).await;
    // The message is closed before the step is, so that no client is left with a dangling one.
    let expected = [
        "run started",
        "greet started",
        "greet message started",
        r#"greet says "one ""#,
        r#"greet says "two ""#,
        "greet message cut off",
        "greet failed",
        "run failed",
    ];
    assert_eq!(told(&events), expected);
    assert_eq!(end(&events).error.as_deref(), Some("model call failed: down"));
    assert_eq!(outcome.state.text, "before");
}

fn kind_of(error: &Error) -> ModelErrorKind {
    match error {
        Error::Model(error) => error.kind,
        other => panic!("this is no error of a model: {other:?}"),
    }
}

#[tokio::test]
async fn gains_023_a_stream_without_an_end_is_a_failure() {
    let model = ScriptedModel::replies([Reply::text("one two").cut_after(2)]);
    let (events, outcome) = watch_on(&with_model(&model), greet(), Trail::saying("before")).await;
    let error = outcome.error.unwrap();
    assert_eq!(kind_of(&error), ModelErrorKind::Interrupted);
    assert!(error.to_string().contains("ended before"), "{error}");
    assert_eq!(told_of_steps(&events)[4..], ["greet message cut off", "greet failed"]);
    assert_eq!(outcome.state.text, "before");
}

#[tokio::test]
async fn a_reply_that_was_cut_off_or_is_empty_is_a_failure() {
    let cut_off = Reply::text("And then").finish(FinishReason::Length);
    let model = ScriptedModel::replies([cut_off, Reply::empty()]);
    for expected in [ModelErrorKind::Truncated, ModelErrorKind::Empty] {
        let outcome = run_on(&with_model(&model), greet(), Trail::saying("before")).await;
        assert_eq!(kind_of(&outcome.error.unwrap()), expected);
        assert_eq!(outcome.state.text, "before");
    }
}

#[tokio::test]
async fn gains_024_a_discarded_reply_is_told_and_not_kept() {
    let model = ScriptedModel::replies(["Hello"]);
    let step = prompt("greet", |_: &Trail| "Greet me").discard();
    let (events, outcome) = watch_on(&with_model(&model), step, Trail::default()).await;
    assert_eq!(spoken(&events), "Hello");
    assert_eq!(outcome.completed().unwrap(), Trail::default());
}

#[tokio::test]
async fn a_prompt_without_a_model_says_what_to_do() {
    let error = run(greet()).await.error.unwrap();
    assert_eq!(kind_of(&error), ModelErrorKind::Missing);
}

#[tokio::test]
async fn a_step_s_model_comes_before_the_run_s() {
    let (of_run, of_part, of_step) =
        (ScriptedModel::replies(["run"]), ScriptedModel::replies(["part"]), ScriptedModel::replies(["step"]));
    let own = prompt("own", |_: &Trail| "?").model(of_step).text(|trail| &mut trail.text);
    assert_eq!(run_on(&with_model(&of_run), own, Trail::default()).await.state.text, "step");
    let part = greet().default_model(of_part);
    assert_eq!(run_on(&with_model(&of_run), part, Trail::default()).await.state.text, "part");
    assert_eq!(run_on(&with_model(&of_run), greet(), Trail::default()).await.state.text, "run");
}

#[tokio::test]
async fn a_panic_in_a_function_of_a_prompt_fails_the_prompt() {
    let asking = prompt("asking", |_: &Trail| -> String { panic!("a bug") }).discard();
    let storing = prompt("storing", |_: &Trail| "?").text(|_| panic!("a bug"));
    let sorting =
        Classifier::builder("sorting", |_: &Trail| -> String { panic!("a bug") }).route("a", add("a"));
    let model = ScriptedModel::builder().otherwise("Hello").build();
    let steps: [Box<dyn Step<Trail>>; 3] =
        [Box::new(asking), Box::new(storing), Box::new(sorting.build().unwrap())];
    for step in steps {
        let (name, runtime) = (step.name().to_owned(), with_model(&model));
        let (_, outcome) = watch_on(&runtime, step, Trail::default()).await;
        assert!(matches!(outcome.error, Some(Error::Panicked { path, .. }) if path.as_str() == name));
    }
}
