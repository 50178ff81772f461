//! Writes the body of a request.

use convoke_core::{ModelError, ModelParams, ModelRequest, OutputSchema, ToolChoice, ToolDefinition};
use serde_json::{Map, Value, json};

use super::contents;
use super::thinking::{self, Generation};
use crate::provider::json::{add_extra, invalid};

/// More strings to stop at than this are refused.
const MOST_STOPS: usize = 5;

/// Seeds have 31 bits.
const SEEDS: u64 = 1 << 31;

/// The whole body.
pub(super) fn body(model: &str, request: &ModelRequest, origin: &str) -> Result<Value, ModelError> {
    let mut body = Map::new();
    let (system, contents) = contents::write(Generation::of(model), origin, &request.messages)?;
    if contents.is_empty() {
        return Err(invalid("Gemini needs something to answer; add a user's message"));
    }
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({ "parts": system }));
    }
    body.insert("contents".into(), Value::Array(contents));
    if has_tools(model, request)? {
        let declarations: Vec<_> = request.tools.iter().map(declaration).collect();
        body.insert("tools".into(), json!([{ "functionDeclarations": declarations }]));
        if let Some(mode) = mode(request.tool_choice) {
            body.insert("toolConfig".into(), json!({ "functionCallingConfig": { "mode": mode } }));
        }
    }
    let config = config(model, &request.params, request.output.as_ref())?;
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    add_extra(&mut body, request.params.extra.as_ref())?;
    Ok(Value::Object(body))
}

/// Whether tools are declared. Models before generation 3 refuse them beside a shape for the answer.
fn has_tools(model: &str, request: &ModelRequest) -> Result<bool, ModelError> {
    if request.tools.is_empty() {
        return match request.tool_choice {
            ToolChoice::Required => Err(invalid("a tool must be called, but the request has none")),
            ToolChoice::Auto | ToolChoice::None => Ok(false),
        };
    }
    if request.output.is_none() || Generation::of(model) == Generation::Level {
        return Ok(true);
    }
    if request.tool_choice == ToolChoice::None {
        return Ok(false);
    }
    Err(invalid(format!(
        "{model} cannot both call tools and answer in a given shape; use Gemini 3 or later, or ask for the shape in a \
         request without tools"
    )))
}

fn declaration(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    })
}

/// The way calls are made, unless it is the usual one.
fn mode(choice: ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("NONE"),
        ToolChoice::Required => Some("ANY"),
    }
}

fn config(
    model: &str,
    params: &ModelParams,
    output: Option<&OutputSchema>,
) -> Result<Map<String, Value>, ModelError> {
    let mut config = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(name.to_owned(), value);
        }
    };
    put("maxOutputTokens", params.max_tokens.map(Value::from));
    put("temperature", params.temperature.map(Value::from));
    put("topP", params.top_p.map(Value::from));
    put("seed", params.seed.map(|seed| Value::from(seed % SEEDS)));
    if params.stop.len() > MOST_STOPS {
        return Err(invalid(format!(
            "Gemini stops at {MOST_STOPS} strings at most, not {}",
            params.stop.len()
        )));
    }
    put("stopSequences", (!params.stop.is_empty()).then(|| json!(params.stop)));
    if let Some(effort) = params.reasoning {
        put("thinkingConfig", thinking::config(model, effort)?);
    }
    if let Some(output) = output {
        put("responseMimeType", Some("application/json".into()));
        put("responseJsonSchema", Some(output.schema.clone()));
    }
    Ok(config)
}
