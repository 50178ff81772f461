//! Tests of scripts in files.

use std::time::Duration;

use convoke_core::{
    FinishReason, Message, Model, ModelErrorKind, ModelReply, ModelRequest, Money, OutputSchema, Part,
    ToolResult, Transcript, Usage,
};
use convoke_models::ScriptedModel;
use serde_json::json;

const WEATHER: &str = r#"
name = "demo"
[[rule]]
when.last_contains = "weather"
reply = ["Let me look."]
tool_calls = [{ name = "weather", arguments = { city = "Oslo", day = 2026-02-03 } }]
[[rule]]
when.has_tool_result = true
reply = ["It is sunny in Oslo."]
[[rule]]
reply = ["I don't know."]
"#;

fn script(toml: &str) -> ScriptedModel {
    ScriptedModel::from_toml_str(toml).unwrap()
}

async fn say(model: &ScriptedModel, text: &str) -> ModelReply {
    model.answer(ModelRequest::new(text)).await.unwrap()
}

#[tokio::test]
async fn an_agents_conversation_runs_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weather.toml");
    std::fs::write(&file, WEATHER).unwrap();
    let model = ScriptedModel::from_file(&file).unwrap();
    assert_eq!(model.name(), "demo");

    let mut talk = Transcript::from("How is the weather?");
    let first = model.answer(ModelRequest::new(talk.clone())).await.unwrap();
    let call = first.tool_calls().remove(0);
    assert_eq!(first.text(), "Let me look.");
    assert_eq!(
        (call.name.as_str(), &call.arguments),
        ("weather", &json!({"city": "Oslo", "day": "2026-02-03"}))
    );

    talk.push(first.message);
    let result =
        ToolResult { call_id: call.id, name: call.name, content: "weather: sun".into(), is_error: false };
    talk.push(Message::tool_results([result]));
    let second = model.answer(ModelRequest::new(talk)).await.unwrap();
    assert_eq!(second.text(), "It is sunny in Oslo.");
    assert_eq!(say(&model, "Who are you?").await.text(), "I don't know.");
}

#[tokio::test]
async fn json_says_the_same_as_toml() {
    let table: toml::Table = WEATHER.replace("2026-02-03", "'2026-02-03'").parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weather.json");
    std::fs::write(&file, serde_json::to_string(&table).unwrap()).unwrap();
    let (from_toml, from_json) = (script(WEATHER), ScriptedModel::from_file(&file).unwrap());
    for question in ["the weather", "anything"] {
        assert_eq!(say(&from_toml, question).await, say(&from_json, question).await);
    }
}

#[tokio::test]
async fn every_part_of_a_reply_can_be_written() {
    let model = script(
        r#"
        price = { input = 1, output = 2.5 }
        [[rule]]
        json = { approved = true }
        reasoning = "Looks good."
        reasoning_signature = "sig"
        usage = { input_tokens = 1_000_000, output_tokens = 2_000_000, cached_input_tokens = 10 }
        finish = "length"
        chunks = 4
        "#,
    );
    let reply = say(&model, "judge").await;
    assert_eq!((reply.text().as_str(), reply.finish), (r#"{"approved":true}"#, FinishReason::Length));
    assert!(
        matches!(&reply.message.parts[0], Part::Reasoning { signature: Some(proof), .. } if proof == "sig")
    );
    assert_eq!(reply.usage, Usage { cached_input_tokens: 10, ..Usage::tokens(1_000_000, 2_000_000) });
    assert_eq!(model.price().unwrap().of(&reply.usage), Money::from_dollars(6));
}

#[tokio::test(start_paused = true)]
async fn faults_and_delays_can_be_written() {
    let model = script(
        r#"
        [[rule]]
        delay = "1.5s"
        times = 6
        reply = [
            { error = { status = 429, message = "slow down", retry_after = "2s" } },
            { error = { kind = "network" } },
            { text = "one two", fail_after = 1, error = { status = 500 } },
            { text = "one two", cut_after = 1 },
            { hangs = true },
            "recovered",
        ]
        "#,
    );
    let start = tokio::time::Instant::now();
    let busy = model.answer(ModelRequest::new("go")).await.unwrap_err();
    assert_eq!((busy.status, busy.retry_after), (Some(429), Some(Duration::from_secs(2))));
    assert_eq!(start.elapsed(), Duration::from_millis(1_500));
    for kind in [ModelErrorKind::Network, ModelErrorKind::Overloaded, ModelErrorKind::Interrupted] {
        assert_eq!(model.answer(ModelRequest::new("go")).await.unwrap_err().kind, kind);
    }
    let hanging = model.answer(ModelRequest::new("go"));
    assert!(tokio::time::timeout(Duration::from_secs(999), hanging).await.is_err());
    assert_eq!(say(&model, "go").await.text(), "recovered");
    assert!(model.answer(ModelRequest::new("go")).await.unwrap_err().message.contains("used up"));
}

#[tokio::test]
async fn all_conditions_of_a_rule_must_hold() {
    let model = script(
        r#"
        [[rule]]
        when = { last_contains = "cat", system_contains = "vet", offers_tools = false }
        reply = "yes"
        [[rule]]
        reply = "no"
        "#,
    );
    let talk = |system: &str, user: &str| {
        ModelRequest::new(Transcript::from_iter([Message::system(system), Message::user(user)]))
    };
    assert_eq!(model.answer(talk("you are a vet", "my cat")).await.unwrap().text(), "yes");
    assert_eq!(model.answer(talk("you are a chef", "my cat")).await.unwrap().text(), "no");
    assert_eq!(model.answer(talk("you are a vet", "my dog")).await.unwrap().text(), "no");
}

#[tokio::test]
async fn an_empty_text_is_an_empty_reply() {
    let error = script("[[rule]]\nreply = ''").answer(ModelRequest::new("x")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Empty);
}

#[tokio::test]
async fn a_rule_may_give_whatever_fits() {
    let model = ScriptedModel::from_toml_str("[[rule]]\nfits = true").unwrap();
    let mut request = ModelRequest::new("How many?");
    assert_eq!(model.answer(request.clone()).await.unwrap().text(), "A rehearsed answer.");
    let schema = json!({"type": "object", "properties": {"done": {"type": "boolean"}}});
    request.output = Some(OutputSchema { name: "Done".into(), description: String::new(), schema });
    assert_eq!(model.answer(request).await.unwrap().text(), r#"{"done":true}"#);
}
