//! Grammars that constrain replies.
//!
//! A reply that must have a shape, or may call tools, is decoded under a grammar, so that what it says is always valid:
//!
//! | the request has | the reply is |
//! |---|---|
//! | a schema | JSON that fits it |
//! | tools it must call | calls between `<tool_call>` tags |
//! | tools it may call | text, until a call begins: then that call, and others after it |
//! | both | JSON that fits the schema, or calls |
//!
//! A call begins with the opening tag, or with `{"name": "<a declared tool>", "arguments":` however it got there: some
//! models write calls without tags whatever they are told. From there on the grammar knows the tool and its schema.
//! JSON has no free white space: a small model may write nothing else for ever. For the same reason a list in an answer has an end,
//! if its schema names none.

use std::fmt::Write as _;

use convoke_core::{ModelError, ModelErrorKind, ModelRequest, ToolChoice, ToolDefinition};
use llguidance::api::TopLevelGrammar;
use serde_json::{Value, json};

use crate::prompt::offered_tools;
use crate::reply::{CLOSE, OPEN};

/// So many items a list in an answer has at most, if its schema says nothing else.
const LONGEST_LIST: u64 = 24;

/// The grammar for a request's reply; `None` if it may be any text.
pub(crate) fn for_request(
    request: &ModelRequest,
    calls_per_reply: u32,
) -> Result<Option<TopLevelGrammar>, ModelError> {
    let tools = offered_tools(request);
    let output = match &request.output {
        Some(output) => {
            Some(strict(&with_ends(&output.schema), &format!("the output schema `{}`", output.name))?)
        }
        None => None,
    };
    if tools.is_empty() {
        if request.tool_choice == ToolChoice::Required {
            return Err(invalid("a tool must be called, but the request has none".to_owned()));
        }
        return Ok(output.map(TopLevelGrammar::from_json_schema));
    }
    let mut lark = String::new();
    match (request.tool_choice, &output) {
        (ToolChoice::Required, _) => lark.push_str("start: OPEN tagged\n"),
        (_, Some(output)) => {
            writeln(&mut lark, &format!("start: answer | OPEN tagged | bare\nanswer: %json {output}"));
            bare_calls_as_json(&mut lark, tools);
        }
        (_, None) => {
            lark.push_str("start: TEXT | until_tag tagged | bare\n");
            text_and_calls(&mut lark, tools);
        }
    }
    tagged_calls(&mut lark, tools, calls_per_reply)?;
    Ok(Some(TopLevelGrammar::from_lark(lark)))
}

/// Calls between tags; the first opening tag is read already.
fn tagged_calls(lark: &mut String, tools: &[ToolDefinition], at_most: u32) -> Result<(), ModelError> {
    writeln(lark, &format!("OPEN: {}", quoted(OPEN)));
    writeln(lark, &format!("tagged: call (again call){{0,{}}}", at_most - 1));
    writeln(lark, &format!("again: {}", quoted(&format!("\n{OPEN}"))));
    let choices: Vec<_> = (0..tools.len()).map(|index| format!("call_{index}")).collect();
    writeln(lark, &format!("call: ({}) {}", choices.join(" | "), quoted(&format!("}}\n{CLOSE}"))));
    for (index, tool) in tools.iter().enumerate() {
        let head = format!("\n{{\"name\": {}, \"arguments\": ", quoted(&tool.name));
        writeln(lark, &format!("call_{index}: {} arguments_{index}", quoted(&head)));
        let schema = strict(&tool.parameters, &format!("the parameters of the tool `{}`", tool.name))?;
        writeln(lark, &format!("arguments_{index}: %json {schema}"));
    }
    Ok(())
}

/// Text that ends, or goes on until a call begins; without tags, one call and no more.
fn text_and_calls(lark: &mut String, tools: &[ToolDefinition]) {
    let heads: Vec<_> = tools.iter().map(|tool| bare_head(&tool.name)).collect();
    writeln(lark, &format!("TEXT: /(.|\\n)+/ & ~/(.|\\n)*({OPEN}|{})(.|\\n)*/", heads.join("|")));
    writeln(lark, &format!("until_tag[lazy]: /(.|\\n)*{OPEN}/"));
    writeln(lark, &format!("bare: ({}) BARE_END", bare_choices(tools)));
    writeln(lark, r"BARE_END: /\s{0,4}\}(\s{0,4}```)?/");
    for (index, head) in heads.iter().enumerate() {
        writeln(lark, &format!("bare_{index}: until_{index} \" \"? arguments_{index}"));
        writeln(lark, &format!("until_{index}[lazy]: /(.|\\n)*{head}/"));
    }
}

/// One call without tags and without text, where an answer in JSON may stand instead. Both are cut into the same small
/// parts: a grammar decides between parts, not within one.
fn bare_calls_as_json(lark: &mut String, tools: &[ToolDefinition]) {
    writeln(lark, &format!("bare: ({}) \"}}\"", bare_choices(tools)));
    for (index, tool) in tools.iter().enumerate() {
        let parts = ["{", "\"name\"", ": ", &quoted(&tool.name), ", ", "\"arguments\"", ": "];
        let parts: Vec<_> = parts.into_iter().map(quoted).collect();
        writeln(lark, &format!("bare_{index}: {} arguments_{index}", parts.join(" ")));
    }
}

fn bare_choices(tools: &[ToolDefinition]) -> String {
    let choices: Vec<_> = (0..tools.len()).map(|index| format!("bare_{index}")).collect();
    choices.join(" | ")
}

/// What begins a call without tags, as a regular expression.
fn bare_head(name: &str) -> String {
    let name = regex_escape(&quoted(name));
    format!(r#"\{{\s*"name"\s*:\s*{name}\s*,\s*"arguments"\s*:"#)
}

/// A schema whose lists have an end.
fn with_ends(schema: &Value) -> Value {
    match schema {
        Value::Array(parts) => parts.iter().map(with_ends).collect(),
        Value::Object(members) => {
            let mut members: serde_json::Map<_, _> =
                members.iter().map(|(name, part)| (name.clone(), with_ends(part))).collect();
            let least = members.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            if members.get("type").is_some_and(|kind| kind == "array") && !members.contains_key("maxItems") {
                members.insert("maxItems".to_owned(), LONGEST_LIST.max(least).into());
            }
            Value::Object(members)
        }
        other => other.clone(),
    }
}

/// A schema with the white space of its JSON fixed.
fn strict(schema: &Value, what: &str) -> Result<Value, ModelError> {
    let mut schema = match schema {
        Value::Object(members) => members.clone(),
        Value::Bool(true) => serde_json::Map::new(),
        other => return Err(invalid(format!("{what} is not a JSON Schema but {other}"))),
    };
    let spacing = json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "});
    schema.insert("x-guidance".to_owned(), spacing);
    Ok(Value::Object(schema))
}

fn writeln(lark: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(lark, "{line}");
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn regex_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

pub(crate) fn invalid(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
