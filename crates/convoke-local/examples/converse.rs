//! Talk to a local model that has two tools, as an agent would: `converse MODEL.gguf "What is 12 times 7?"`.
//!
//! The tools answer in the program; see how well a model calls them before you give it real ones.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use convoke_core::{
    CallContext, IdempotencyKey, Message, Model, ModelReply, ModelRequest, Path, ReplyBuilder, RunId,
    ToolCall, ToolDefinition, ToolResult,
};
use convoke_local::{LocalModel, LocalSettings};
use futures_util::StreamExt;
use serde_json::json;

const TURNS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(question)) = (arguments.next(), arguments.next()) else {
        return Err("usage: converse MODEL.gguf QUESTION".into());
    };
    let model = LocalModel::open(file, LocalSettings::default()).await?;
    let system = Message::system(
        "You are a helpful assistant. Use a tool when it helps, then answer in one sentence.",
    );
    let mut request = ModelRequest::new(vec![system, Message::user(question)]);
    request.tools = tools();
    for turn in 1..=TURNS {
        let reply = ask(&model, request.clone(), turn).await?;
        println!(
            "[turn {turn}, {} + {} tokens] {}",
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            reply.text()
        );
        let calls = reply.tool_calls();
        request.messages.push(reply.message);
        if calls.is_empty() {
            return Ok(());
        }
        let results: Vec<_> = calls.iter().map(call).collect();
        request.messages.push(Message::tool_results(results));
    }
    println!("no answer after {TURNS} turns");
    Ok(())
}

fn tools() -> Vec<ToolDefinition> {
    let number = json!({"type": "number"});
    let tool = |name: &str, description: &str, properties: serde_json::Value, required: &[&str]| {
        ToolDefinition {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
        }
    };
    vec![
        tool(
            "get_weather",
            "Tells the current weather in a city.",
            json!({"city": {"type": "string"}}),
            &["city"],
        ),
        tool(
            "calculate",
            "Calculates with two numbers.",
            json!({"operation": {"enum": ["add", "subtract", "multiply", "divide"]}, "a": number, "b": number}),
            &["operation", "a", "b"],
        ),
    ]
}

fn call(call: &ToolCall) -> ToolResult {
    let number = |name: &str| call.arguments[name].as_f64().unwrap_or(f64::NAN);
    let content = match (call.name.as_str(), call.arguments["operation"].as_str()) {
        ("get_weather", _) => {
            format!("{}: light rain, 8 degrees", call.arguments["city"].as_str().unwrap_or("?"))
        }
        (_, Some("add")) => (number("a") + number("b")).to_string(),
        (_, Some("subtract")) => (number("a") - number("b")).to_string(),
        (_, Some("multiply")) => (number("a") * number("b")).to_string(),
        _ => (number("a") / number("b")).to_string(),
    };
    println!("    {} {} -> {content}", call.name, call.arguments);
    ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error: false }
}

async fn ask(model: &LocalModel, request: ModelRequest, turn: usize) -> Result<ModelReply, Box<dyn Error>> {
    let run: RunId = "converse".parse()?;
    let key = IdempotencyKey::derive(&run, &Path::from("main"), u32::try_from(turn)?);
    let mut builder = ReplyBuilder::new(model.name(), turn.to_string());
    let mut pieces = model.reply(request, CallContext { key });
    while let Some(piece) = pieces.next().await {
        builder.add(&piece?);
    }
    Ok(builder.finish()?)
}
