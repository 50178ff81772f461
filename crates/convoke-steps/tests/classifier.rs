//! One step out of several, chosen by a model.

use crate::common::events::told_of_steps;
use crate::common::{Trail, add, blamed, run_on, watch_on, with_model};
use convoke_core::{Error, ModelError, ModelErrorKind, ModelParams, Step, Workflow};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{BuildError, Chain, Classifier, ClassifierBuilder, StepsError};
use serde_json::json;

fn triage() -> ClassifierBuilder<Trail> {
    Classifier::builder("triage", |trail: &Trail| format!("billing or technical? {}", trail.text))
        .route("billing", add("refund"))
        .route("technical", add("debug"))
}

/// What ran when the model gave this answer, or why nothing did.
async fn routed(classifier: impl Step<Trail> + 'static, reply: impl Into<Reply>) -> Result<String, Error> {
    let model = ScriptedModel::replies([reply.into()]);
    let outcome = run_on(&with_model(&model), classifier, Trail::default()).await;
    outcome.completed().map(|trail| trail.steps.join(","))
}

/// Why the classifier of a chain did not run anything when the model gave this answer. A step's own error is not
/// wrapped; its parent says which step it was.
async fn refused(reply: impl Into<Reply>) -> Error {
    let chain = Chain::new("main").then(triage().build().unwrap()).then(add("after"));
    let error = routed(chain, reply).await.unwrap_err();
    let (step, source) = blamed(&error);
    assert_eq!(step, "triage");
    source.clone()
}

async fn triaged(reply: &str) -> Result<String, Error> {
    routed(triage().build().unwrap(), reply).await
}

fn steps_error(error: &Error) -> &StepsError {
    error.downcast_ref().unwrap()
}

#[tokio::test]
async fn gains_087_the_label_s_step_runs() {
    assert_eq!(triaged("billing").await.unwrap(), "refund");
}

#[tokio::test]
async fn gains_088_case_space_and_punctuation_do_not_matter() {
    assert_eq!(triaged("  Billing.\n").await.unwrap(), "refund");
    assert_eq!(triaged("BILLING!!").await.unwrap(), "refund");
    let capital = Classifier::builder("triage", |_: &Trail| "?").route("Billing", add("refund")).build();
    assert_eq!(routed(capital.unwrap(), "billing").await.unwrap(), "refund");
}

#[tokio::test]
async fn gains_089_the_label_may_come_as_json() {
    assert_eq!(triaged(r#"{"classification":"Technical"}"#).await.unwrap(), "debug");
}

#[tokio::test]
async fn gains_090_json_without_a_label_is_a_text_like_any_other() {
    for answer in [r#"{"classification":""}"#, "{broken"] {
        let error = refused(answer).await;
        let unknown =
            matches!(steps_error(&error), StepsError::UnknownClassification { label, .. } if label == answer);
        assert!(unknown, "{error}");
    }
}

#[tokio::test]
async fn gains_091_an_empty_answer_is_an_error_of_its_own() {
    assert_eq!(*steps_error(&refused(" \n").await), StepsError::EmptyClassification);
    // A reply with nothing in it at all is a failed call already.
    for nothing in [Reply::empty(), Reply::text("")] {
        let error = refused(nothing).await;
        assert!(matches!(error, Error::Model(error) if error.kind == ModelErrorKind::Empty));
    }
}

#[tokio::test]
async fn gains_092_an_unknown_label_is_named_with_those_there_are() {
    let error = refused("unknown").await;
    let (label, known) = ("unknown".to_owned(), "billing, technical".to_owned());
    assert_eq!(*steps_error(&error), StepsError::UnknownClassification { label, known });
    assert!(
        error
            .to_string()
            .starts_with(r#"unknown classification: "unknown"; the labels are billing, technical"#)
    );
}

#[tokio::test]
async fn gains_093_a_failed_call_fails_the_classifier() {
    let error = refused(ModelError::of_status(500, "down")).await;
    assert!(matches!(error, Error::Model(error) if *error == ModelError::of_status(500, "down")));
}

#[tokio::test]
async fn gains_094_space_before_the_dot_does_not_matter() {
    assert_eq!(triaged("billing .").await.unwrap(), "refund");
}

#[tokio::test]
async fn a_label_may_end_in_punctuation_itself() {
    let labels = || {
        let builder = Classifier::builder("sort", |_: &Trail| "?").route("Why?", add("explain"));
        builder.route("why", add("wonder")).build().unwrap()
    };
    assert_eq!(routed(labels(), r#"{"classification":"Why?"}"#).await.unwrap(), "explain");
    assert_eq!(routed(labels(), "why?").await.unwrap(), "explain");
    assert_eq!(routed(labels(), "Why!").await.unwrap(), "wonder");
}

#[test]
fn gains_095_labels_that_differ_in_case_only_are_refused() {
    let built = triage().route("BILLING", add("again")).build();
    let expected = BuildError::DuplicateName { step: "triage".into(), name: "BILLING".into() };
    assert_eq!(built.err(), Some(expected));
}

#[test]
fn a_classifier_without_labels_is_refused() {
    let built = Classifier::builder("triage", |_: &Trail| "?").otherwise(add("shelve")).build();
    assert_eq!(built.err(), Some(BuildError::Empty { step: "triage".into() }));
}

#[tokio::test]
async fn gains_096_a_default_takes_what_has_no_label() {
    let with_default = || triage().otherwise(add("shelve")).build().unwrap();
    assert_eq!(routed(with_default(), "weather").await.unwrap(), "shelve");
    assert_eq!(routed(with_default(), "billing").await.unwrap(), "refund", "only what has no label");
    let without = refused("weather").await;
    assert!(
        matches!(steps_error(&without), StepsError::UnknownClassification { label, .. } if label == "weather")
    );
}

#[tokio::test]
async fn gains_097_the_schema_asks_for_one_of_the_labels_in_declared_order() {
    let classifier = triage().build().unwrap();
    let schema = classifier.schema();
    assert_eq!(schema.name, "classification");
    let expected = json!({
        "type": "object",
        "properties": {"classification": {"type": "string", "enum": ["billing", "technical"]}},
        "required": ["classification"],
        "additionalProperties": false,
    });
    assert_eq!(schema.schema, expected);
    let model = ScriptedModel::replies(["billing"]);
    run_on(&with_model(&model), classifier, Trail::default()).await.completed().unwrap();
    assert_eq!(model.last_request().unwrap().output, Some(schema));
}

#[tokio::test]
async fn gains_098_the_model_s_words_are_hidden_and_the_route_is_told() {
    let model = ScriptedModel::replies(["bILLING."]);
    let spelled = Classifier::builder("triage", |_: &Trail| "?").route("Billing", add("refund")).build();
    let (events, _) = watch_on(&with_model(&model), spelled.unwrap(), Trail::default()).await;
    let expected = [
        "triage started",
        "triage route Billing",
        "triage/refund started",
        "triage/refund completed",
        "triage completed",
    ];
    assert_eq!(told_of_steps(&events), expected);
}

#[tokio::test]
async fn gains_099_what_the_run_sets_comes_after_what_the_classifier_sets() {
    let model = ScriptedModel::replies(["billing"]);
    let own = ModelParams::default().temperature(0.2).max_tokens(5);
    let workflow = Workflow::new(triage().system("Be brief.").params(own).build().unwrap());
    let start = with_model(&model).start(&workflow, Trail::saying("no refund"));
    start.params(ModelParams::default().temperature(0.9)).await.unwrap().completed().unwrap();
    let request = model.last_request().unwrap();
    assert_eq!((request.params.temperature, request.params.max_tokens), (Some(0.9), Some(5)));
    let said: Vec<String> = request.messages.iter().map(convoke_core::Message::text).collect();
    assert_eq!(said, ["Be brief.", "billing or technical? no refund"]);
}
