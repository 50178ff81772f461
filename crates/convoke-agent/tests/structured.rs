//! Answers with a shape.
use std::sync::Arc;

use convoke_agent::{StructuredAnswer, UnmarshalError, structured, structured_value};
use convoke_core::{
    BoxFuture, Error, FinishReason, Model, ModelErrorKind, ModelRequest, OutputSchema, Runtime, Scope, Step,
    Usage, Visibility, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct MovieReview {
    sentiment: String,
    #[schemars(range(min = 0, max = 1))]
    score: f64,
    note: Option<String>,
}

/// Asks for a review and keeps what comes of it.
struct Ask(Arc<dyn Model>);

type Asked = (Option<MovieReview>, Usage);

impl Step<Asked> for Ask {
    fn name(&self) -> &str {
        "judge"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Asked) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let request = ModelRequest::new("How was it?");
            let context = "workflow step \"judge\"";
            let answer: StructuredAnswer<MovieReview> =
                structured(scope, &self.0, request, Visibility::Streamed, context).await?;
            *state = (Some(answer.value), answer.usage);
            Ok(())
        })
    }
}

async fn ask(model: &ScriptedModel) -> Result<Asked, Error> {
    let state = (
        Some(MovieReview { sentiment: "old".into(), score: 0.1, note: Some("old".into()) }),
        Usage::default(),
    );
    Runtime::new().start(&Workflow::new(Ask(Arc::new(model.clone()))), state).await.unwrap().completed()
}

#[tokio::test]
async fn gains_014_016_an_answer_fills_the_type_and_replaces_what_was_there() {
    let model = ScriptedModel::replies([Reply::json(json!({"sentiment": "pos", "score": 0.5}))]);
    let (review, _) = ask(&model).await.unwrap();
    assert_eq!(review, Some(MovieReview { sentiment: "pos".into(), score: 0.5, note: None }));
    let output = model.last_request().unwrap().output.unwrap();
    assert_eq!(output.name, "movie_review");
    assert_eq!(output.schema["required"], json!(["sentiment", "score"]));
}

#[tokio::test]
async fn gains_015_what_is_not_json_is_an_error_that_carries_it() {
    let model = ScriptedModel::replies(["not json", "still not json"]);
    let error = ask(&model).await.unwrap_err();
    let unmarshal = error.downcast_ref::<UnmarshalError>().unwrap();
    assert_eq!(unmarshal.content, "still not json");
    assert_eq!(
        (unmarshal.target.as_str(), unmarshal.context.as_str()),
        ("MovieReview", "workflow step \"judge\"")
    );
    assert_eq!(
        error.to_string(),
        "workflow step \"judge\": failed to unmarshal response into MovieReview: it is not JSON: expected ident at line 1 column 2"
            .replace("expected ident at line 1 column 2", &serde_json::from_str::<Value>("still not json").unwrap_err().to_string())
    );
}

#[tokio::test]
async fn a_fence_is_tolerated() {
    let model = ScriptedModel::replies(["```json\n{\"sentiment\": \"pos\", \"score\": 1}\n```\n"]);
    assert_eq!(ask(&model).await.unwrap().0.unwrap().score, 1.0);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_corrected_once() {
    let usage = Usage::tokens(10, 5);
    let model = ScriptedModel::builder()
        .when(
            Match::last_contains("`/score`: 7 is greater than the maximum of 1"),
            Reply::json(json!({"sentiment": "pos", "score": 0.7})).usage(usage),
        )
        .otherwise(Reply::json(json!({"sentiment": "pos", "score": 7})).usage(usage))
        .build();
    let (review, total) = ask(&model).await.unwrap();
    assert_eq!(review.unwrap().score, 0.7);
    assert_eq!((total.total_tokens(), model.calls()), (30, 2));
}

#[tokio::test]
async fn half_an_answer_is_an_error_even_if_it_is_json() {
    let reply = Reply::json(json!({"sentiment": "pos", "score": 0.5})).finish(FinishReason::Length);
    let error = ask(&ScriptedModel::replies([reply])).await.unwrap_err();
    assert!(matches!(error, Error::Model(error) if error.kind == ModelErrorKind::Truncated));
}

struct AskValue(Arc<dyn Model>);

impl Step<Value> for AskValue {
    fn name(&self) -> &str {
        "value"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Value) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let output = OutputSchema {
                name: "verdict".to_owned(),
                description: String::new(),
                schema: json!({"type": "object", "properties": {"fine": {"type": "boolean"}}, "required": ["fine"]}),
            };
            let request = ModelRequest::new("Fine?");
            *state = structured_value(scope, &self.0, request, output, Visibility::Hidden, "").await?.value;
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_schema_without_a_type_gives_json() {
    let model =
        ScriptedModel::replies([json!({"fine": true}), json!({}), json!({"fine": 1})].map(Reply::json));
    let workflow = Workflow::new(AskValue(Arc::new(model)));
    let fine = Runtime::new().start(&workflow, Value::Null).await.unwrap().completed().unwrap();
    assert_eq!(fine, json!({"fine": true}));
    let error = Runtime::new().start(&workflow, Value::Null).await.unwrap().completed().unwrap_err();
    assert!(
        error.to_string().starts_with("failed to unmarshal response into verdict: `/fine`: 1 is not"),
        "{error}"
    );
}
