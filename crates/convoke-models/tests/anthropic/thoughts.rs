//! Tests of reasoning settings, and of which thoughts go back.

use convoke_core::{Message, ModelParams, ModelRequest, Part, ReasoningEffort, Role, ToolChoice};
use serde_json::{Value, json};

use super::{OPUS, SONNET, body, with};
use crate::common::weather;

#[tokio::test]
async fn every_family_thinks_as_it_can() {
    use ReasoningEffort::{High, Low, Medium, Off};
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    for (name, effort, thinking, output) in [
        ("claude-3-5-haiku-20241022", Some(High), Value::Null, Value::Null),
        (SONNET, None, Value::Null, Value::Null),
        (SONNET, Some(Off), Value::Null, Value::Null),
        (SONNET, Some(Low), budget(2_048), Value::Null),
        (SONNET, Some(Medium), budget(8_192), Value::Null),
        (SONNET, Some(High), budget(24_576), Value::Null),
        ("claude-opus-4-8", None, Value::Null, Value::Null),
        ("claude-opus-4-8", Some(Off), Value::Null, Value::Null),
        ("claude-opus-4-8", Some(Medium), adaptive.clone(), json!({"effort": "medium"})),
        (OPUS, None, Value::Null, Value::Null),
        (OPUS, Some(Off), json!({"type": "disabled"}), Value::Null),
        (OPUS, Some(High), adaptive.clone(), json!({"effort": "high"})),
        ("claude-fable-5-1", Some(Low), adaptive.clone(), json!({"effort": "low"})),
    ] {
        let mut params = ModelParams::default();
        params.reasoning = effort;
        let body = body(name, with(params)).await;
        assert_eq!((&body["thinking"], &body["output_config"]), (&thinking, &output), "{name} {effort:?}");
        let most = body["max_tokens"].as_u64().unwrap();
        assert!(most > thinking["budget_tokens"].as_u64().unwrap_or(0), "{name} {effort:?}");
    }
    let params = ModelParams::default().reasoning(High).max_tokens(4_000);
    assert_eq!(body(SONNET, with(params)).await["thinking"], budget(3_000));
    let params = ModelParams::default().reasoning(High).max_tokens(1_025);
    assert_eq!(body(SONNET, with(params)).await["thinking"], budget(1_024));
}

#[tokio::test]
async fn sampling_is_left_out_where_it_says_nothing() {
    let thoughtful = ModelParams::default().reasoning(ReasoningEffort::Low);
    for (name, mut params) in [(OPUS, ModelParams::default()), (SONNET, thoughtful.clone())] {
        params.temperature = Some(1.0);
        assert_eq!(body(name, with(params)).await["temperature"], Value::Null);
    }
    let mut params = thoughtful;
    params.top_p = Some(0.97);
    assert_eq!(body(SONNET, with(params)).await["top_p"], json!(0.97));
}

#[tokio::test]
async fn a_model_that_thinks_by_itself_does_not_when_it_must_call_a_tool() {
    let request = ModelRequest {
        tools: vec![weather()],
        tool_choice: ToolChoice::Required,
        ..ModelRequest::new("Weather in Oslo?")
    };
    let body = body(OPUS, request).await;
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
}

#[tokio::test]
async fn thoughts_that_are_not_claudes_stay_here() {
    let thought = |signature: Option<&str>| Part::Reasoning {
        text: "hm".into(),
        signature: signature.map(str::to_owned),
    };
    let parts = vec![thought(None), thought(Some("gAAAAB")), Part::Text { text: "Yes.".into() }];
    let transcript =
        vec![Message::user("Hi"), Message { role: Role::Assistant, parts }, Message::user("Sure?")];
    let body = body(OPUS, ModelRequest::new(transcript)).await;
    assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": "Yes."}]));
}
