//! One step out of several, chosen by a model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::common::events::told_of_steps;
use crate::common::{Trail, add, run_on, watch_on, with_model};
use convoke_core::{Error, ModelError, ModelErrorKind, ModelParams, Workflow};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{BuildError, Classifier, ClassifierBuilder, StepsError};
use serde_json::json;

fn triage() -> ClassifierBuilder<Trail> {
    Classifier::builder("triage", |trail: &Trail| format!("billing or technical? {}", trail.text))
        .route("billing", add("refund"))
        .route("technical", add("debug"))
}

/// What ran when the model gave this answer, or why nothing did.
async fn routed(classifier: Classifier<Trail>, reply: impl Into<Reply>) -> Result<String, Error> {
    let model = ScriptedModel::replies([reply.into()]);
    let outcome = run_on(&with_model(&model), classifier, Trail::default()).await;
    outcome.completed().map(|trail| trail.steps.join(","))
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
        let error = triaged(answer).await.unwrap_err();
        let unknown =
            matches!(steps_error(&error), StepsError::UnknownClassification { label, .. } if label == answer);
        assert!(unknown, "{error}");
    }
}

#[tokio::test]
async fn gains_091_an_empty_answer_is_an_error_of_its_own() {
    let error = triaged(" \n").await.unwrap_err();
    assert_eq!(*steps_error(&error), StepsError::EmptyClassification);
    // A reply with nothing in it at all is a failed call already.
    let error = routed(triage().build().unwrap(), Reply::empty()).await.unwrap_err();
    assert!(matches!(error, Error::Model(error) if error.kind == ModelErrorKind::Empty));
}

#[tokio::test]
async fn gains_092_an_unknown_label_is_named_with_those_there_are() {
    let error = triaged("unknown").await.unwrap_err();
    // A parent says which step it was; the classifier's own error is not wrapped.
    assert!(
        error
            .to_string()
            .starts_with(r#"unknown classification: "unknown"; the labels are billing, technical"#)
    );
}

#[tokio::test]
async fn gains_093_a_failed_call_fails_the_classifier() {
    let error = routed(triage().build().unwrap(), ModelError::of_status(500, "down")).await.unwrap_err();
    assert!(matches!(error, Error::Model(error) if error.status == Some(500)));
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
    let classifier = triage().otherwise(add("shelve")).build().unwrap();
    assert_eq!(routed(classifier, "weather").await.unwrap(), "shelve");
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
    let model = ScriptedModel::replies(["BILLING."]);
    let (events, _) = watch_on(&with_model(&model), triage().build().unwrap(), Trail::default()).await;
    let expected = [
        "triage started",
        "triage route billing",
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
