//! Tests of structured answers.

use convoke_core::{
    FinishReason, Message, ModelParams, ModelRequest, OutputSchema, ReasoningEffort, ToolChoice,
};
use serde_json::{Value, json};

use super::{OPUS, body, ended, hello, model, person, refusal};
use crate::common::weather;
use crate::server::{Answer, Server, ask};

#[tokio::test]
async fn a_shape_is_enforced_by_models_that_can() {
    let body = body(OPUS, ModelRequest { output: Some(person()), ..ModelRequest::new("Who?") }).await;
    let schema = json!({
        "type": "object",
        "description": "Somebody.",
        "properties": {"age": {"type": "integer", "description": "Must satisfy: {\"minimum\":0}"}},
        "additionalProperties": false,
    });
    assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}));
    assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn any_other_shape_is_that_of_a_tool_whose_arguments_are_the_answer() {
    const ANSWER: &str = "convoke_final_answer";
    let asked = |tools, tool_choice, params| ModelRequest {
        tools,
        tool_choice,
        output: Some(person()),
        params,
        ..ModelRequest::new("Who?")
    };
    let old = "claude-sonnet-4-20250514";
    let none = ModelParams::default;
    let body_alone = body(old, asked(vec![], ToolChoice::Auto, none())).await;
    assert_eq!(
        body_alone["tools"],
        json!([{
            "name": ANSWER,
            "description": "Gives your final answer (person). Call it once, alone, when you know the answer. Somebody.",
            "input_schema": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}},
            "cache_control": {"type": "ephemeral"},
        }])
    );
    let named = json!({"type": "tool", "name": ANSWER});
    assert_eq!(body_alone["tool_choice"], named);
    let thoughtful = || ModelParams::default().reasoning(ReasoningEffort::Low);
    for (choice, params, expected, tools) in [
        (ToolChoice::Auto, none(), json!({"type": "any"}), json!(["weather", ANSWER])),
        (ToolChoice::None, none(), named, json!(["weather", ANSWER])),
        (ToolChoice::Required, none(), json!({"type": "any"}), json!(["weather"])),
        (ToolChoice::Auto, thoughtful(), Value::Null, json!(["weather", ANSWER])),
        (ToolChoice::None, thoughtful(), Value::Null, json!([ANSWER])),
    ] {
        let body = body(old, asked(vec![weather()], choice, params)).await;
        let names = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
        assert_eq!((&body["tool_choice"], names.collect::<Value>()), (&expected, tools), "{choice:?}");
    }
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let ages = OutputSchema { name: "ages".into(), description: String::new(), schema: map.clone() };
    let body = body(OPUS, ModelRequest { output: Some(ages), ..ModelRequest::new("Who?") }).await;
    assert_eq!((&body["output_config"], &body["tools"][0]["input_schema"]), (&Value::Null, &map));
    let list =
        OutputSchema { name: "list".into(), description: String::new(), schema: json!({"type": "array"}) };
    let message = refusal(old, ModelRequest { output: Some(list), ..ModelRequest::new("Who?") }).await;
    assert!(message.contains("put it into a field of one"), "{message}");
}

#[tokio::test]
async fn an_answer_in_a_tools_arguments_is_text() {
    let start = json!({"type": "tool_use", "id": "t1", "name": "convoke_final_answer", "input": {}});
    let more = |json: &str| {
        json!({
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": json},
        })
    };
    let streamed = Answer::typed_events(ended(
        [
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            more(""),
            more("{\"age\""),
            more(":30}"),
        ],
        "tool_use",
    ));
    let block = json!({"type": "tool_use", "id": "t1", "name": "convoke_final_answer", "input": {"age": 30}});
    let whole = Answer::json(200, json!({"type": "message", "content": [block], "stop_reason": "tool_use"}));
    for answer in [streamed, whole] {
        let server = Server::start([answer]).await;
        let reply = ask(&model(&server, OPUS), ModelRequest::new("Who?")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("{\"age\":30}", FinishReason::Stop));
    }
}

#[tokio::test]
async fn words_around_an_answer_in_a_tools_arguments_are_no_part_of_it() {
    let shape = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let wanted = OutputSchema { name: "ages".into(), description: String::new(), schema: shape };
    let request = || ModelRequest { output: Some(wanted.clone()), ..ModelRequest::new("Who?") };
    let text = |words: &str| json!({"type": "text", "text": words});
    let hidden = |data: &str| json!({"type": "redacted_thinking", "data": data});
    let tool =
        |name: &str, input: &Value| json!({"type": "tool_use", "id": name, "name": name, "input": input});
    let answer = tool("convoke_final_answer", &json!({"age": 30}));
    let weather = tool("weather", &json!({}));
    for (blocks, expected) in [
        (vec![text("I will now answer."), answer.clone(), text("That was it.")], "{\"age\":30}"),
        (vec![hidden("b25l"), text("Well."), hidden("dHdv"), answer.clone(), answer.clone()], "{\"age\":30}"),
        (vec![text("I cannot "), text("say.")], "I cannot say."),
        (vec![text("First the weather."), weather], "First the weather."),
    ] {
        let streamed = blocks.iter().zip(0..).flat_map(|(block, index)| {
            let json = block["input"].to_string();
            let delta = json!({"type": "input_json_delta", "partial_json": json});
            let mut begun = block.clone();
            begun["input"] = json!({});
            let begin = json!({"type": "content_block_start", "index": index, "content_block": begun});
            let more = json!({"type": "content_block_delta", "index": index, "delta": delta});
            if block["type"] == "tool_use" { vec![begin, more] } else { vec![begin] }
        });
        let document = json!({"type": "message", "content": blocks.clone(), "stop_reason": "end_turn"});
        for answer in [Answer::typed_events(ended(streamed, "end_turn")), Answer::json(200, document)] {
            let server = Server::start([answer, hello()]).await;
            let model = model(&server, OPUS);
            let reply = ask(&model, request()).await.unwrap();
            assert_eq!(reply.text(), expected);
            // The thoughts go back as they came, in their places.
            let conversation = vec![Message::user("Who?"), reply.message, Message::user("Sure?")];
            ask(&model, ModelRequest::new(conversation)).await.unwrap();
            let sent = server.last().body["messages"][1]["content"].clone();
            let is_hidden = |block: &&Value| block["type"] == "redacted_thinking";
            let sent: Vec<_> = sent.as_array().unwrap().iter().filter(is_hidden).cloned().collect();
            let came: Vec<_> = blocks.iter().filter(is_hidden).cloned().collect();
            assert_eq!(sent, came);
        }
    }
}
