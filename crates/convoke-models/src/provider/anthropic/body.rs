//! Writes requests for Anthropic's Messages API.

use convoke_core::{ModelError, ModelRequest, ToolChoice};
use serde_json::{Map, Value, json};

use super::family::Family;
use super::tools::{AnswerShape, Tools};
use super::{messages, reasoning};
use crate::provider::PromptCache;
use crate::provider::json::{add_extra, invalid};

/// Writes a request down.
pub(super) fn write(
    model: &str,
    request: &ModelRequest,
    cache: PromptCache,
    origin: &str,
) -> Result<Value, ModelError> {
    let family = Family::of(model);
    let params = &request.params;
    let max_tokens = params.max_tokens.unwrap_or(family.max_tokens);
    let must_call = request.tool_choice == ToolChoice::Required;
    if must_call && request.tools.is_empty() {
        return Err(invalid("a tool must be called, but there is none; give the model tools"));
    }
    let reasoning = reasoning::plan(family, params, max_tokens, must_call)?;
    let conversation = messages::write(&request.messages, origin)?;
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(model));
    put("max_tokens", json!(max_tokens));
    put("stream", json!(true));
    put("messages", Value::Array(conversation.messages));
    let answer = request.output.as_ref().map(|wanted| AnswerShape::of(wanted, family)).transpose()?;
    let tools = Tools::of(request, answer.as_ref(), reasoning.thinks);
    let mut output = Map::new();
    if let Some(AnswerShape::Text { schema }) = answer {
        output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
    if let Some(effort) = reasoning.effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    if !output.is_empty() {
        put("output_config", Value::Object(output));
    }
    if let Some(thinking) = reasoning.thinking {
        put("thinking", thinking);
    }
    if !params.stop.is_empty() {
        put("stop_sequences", json!(params.stop));
    }
    let mark = mark(cache);
    for (key, blocks) in [("tools", tools.definitions), ("system", conversation.system)] {
        if !blocks.is_empty() {
            put(key, Value::Array(marked(blocks, mark.as_ref())));
        }
    }
    if let Some(choice) = tools.choice {
        put("tool_choice", choice);
    }
    if let Some(mark) = mark {
        // Up to and with the last message, wherever that is: the messages themselves never change.
        put("cache_control", mark);
    }
    reasoning::sample(&mut body, family, reasoning.thinks, params)?;
    add_extra(&mut body, params.extra.as_ref())?;
    Ok(Value::Object(body))
}

/// What the provider is asked to keep, and for how long.
fn mark(cache: PromptCache) -> Option<Value> {
    match cache {
        PromptCache::Automatic => Some(json!({"type": "ephemeral"})),
        PromptCache::Hour => Some(json!({"type": "ephemeral", "ttl": "1h"})),
        PromptCache::Off => None,
    }
}

/// The blocks, with a mark on the last one: everything up to it is kept.
fn marked(mut blocks: Vec<Value>, mark: Option<&Value>) -> Vec<Value> {
    if let (Some(last), Some(mark)) = (blocks.last_mut(), mark) {
        last["cache_control"] = mark.clone();
    }
    blocks
}
