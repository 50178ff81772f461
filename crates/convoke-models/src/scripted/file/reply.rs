//! Reads one reply of a rule.

use convoke_core::FinishReason;
use serde_json::{Map, Value};

use super::section::Section;
use super::{fault, values};
use crate::scripted::reply::ScriptedCall;
use crate::scripted::{Chunks, Reply, ScriptError, ScriptLocation};

/// The keys of a reply.
pub(super) const KEYS: [&str; 16] = [
    "text",
    "json",
    "fits",
    "tool_calls",
    "reasoning",
    "reasoning_signature",
    "usage",
    "finish",
    "chunks",
    "delay",
    "delay_per_chunk",
    "error",
    "fail_after",
    "cut_after",
    "hangs",
    "hangs_after",
];

/// The same beside `reply`, which is the text there.
pub(super) fn rule_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().filter(|key| *key != "text")
}

const CALL_KEYS: [&str; 3] = ["name", "arguments", "id"];

/// What stands in this table.
pub(super) fn read(section: &mut Section) -> Result<Reply, ScriptError> {
    if section.has("text") && section.has("json") {
        return Err(section.conflict("text", "json", "keep one of them"));
    }
    let fitting = section.switch("fits")?.then(Reply::fitting).unwrap_or_default();
    let json = section.take("json").map(|value| value.to_string());
    let usage = section.section("usage", &values::USAGE_KEYS)?;
    Ok(Reply {
        text: section.text("text")?.or(json),
        calls: calls(section)?,
        reasoning: section.text("reasoning")?,
        signature: section.text("reasoning_signature")?,
        usage: usage.map(values::usage).transpose()?,
        finish: section.read(
            "finish",
            "\"stop\", \"tool_calls\", \"length\" or \"content_filter\"",
            finish,
        )?,
        chunks: section.read(
            "chunks",
            "\"words\", \"whole\" or a number of characters, 1 or more",
            chunks,
        )?,
        delay: section.duration("delay")?,
        delay_per_chunk: section.duration("delay_per_chunk")?,
        fault: fault::read(section)?,
        ..fitting
    })
}

/// A reply with the rule's defaults, if it says something and everything in it can be heard.
pub(super) fn completed(place: &ScriptLocation, reply: Reply, defaults: Reply) -> Result<Reply, ScriptError> {
    let says = |reply: &Reply| reply.text.is_some() || reply.computed.is_some() || !reply.calls.is_empty();
    let speaks = says(&reply);
    let reply = reply.or(defaults);
    match &reply.fault {
        None if !says(&reply) => Err(ScriptError::NoReply { place: place.clone() }),
        Some(fault) if fault.after == 0 && speaks => Err(ScriptError::Conflict {
            place: place.clone(),
            first: "reply",
            second: fault::key(fault),
            remedy: "nothing would be heard of the reply; say with `fail_after`, `hangs_after` or `cut_after` how \
                     many pieces come first",
        }),
        _ => Ok(reply),
    }
}

fn calls(section: &mut Section) -> Result<Vec<ScriptedCall>, ScriptError> {
    let list = section.list("tool_calls")?.unwrap_or_default();
    let numbered = (1..).map(|number| section.name(&format!("tool_calls.{number}"))).zip(list);
    numbered
        .map(|(name, value)| call(Section::open(section.place.clone(), &name, value, &CALL_KEYS)?))
        .collect()
}

fn call(mut section: Section) -> Result<ScriptedCall, ScriptError> {
    let name = section.text("name")?.ok_or_else(|| section.missing("name", "the tool's name in quotes"))?;
    let arguments = section.read("arguments", "a table, or a text to be sent as it is", |value| {
        (value.is_object() || value.is_string()).then(|| value.clone())
    })?;
    let id = section.text("id")?;
    Ok(ScriptedCall { id, name, arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())) })
}

fn finish(value: &Value) -> Option<FinishReason> {
    serde_json::from_value(value.clone()).ok()
}

fn chunks(value: &Value) -> Option<Chunks> {
    match value.as_str() {
        Some("words") => Some(Chunks::Words),
        Some("whole") => Some(Chunks::Whole),
        Some(_) => None,
        None => usize::try_from(value.as_u64()?).ok().filter(|size| *size > 0).map(Chunks::Characters),
    }
}
