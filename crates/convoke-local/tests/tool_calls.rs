//! Tests of tool calls in replies, whole and in pieces of every size.

use convoke_core::{FinishReason, ReplyBuilder, ReplyDelta};
use convoke_local::ToolCallReader;
use serde_json::{Value, json};

/// The text and the calls of a reply that comes in pieces of so many characters.
fn read(reply: &str, size: usize) -> (String, Vec<(String, Value)>) {
    let mut reader = ToolCallReader::new(["add", "get \"x\""]);
    let characters: Vec<char> = reply.chars().collect();
    let mut deltas = Vec::new();
    for piece in characters.chunks(size) {
        deltas.extend(reader.read(&piece.iter().collect::<String>()));
    }
    deltas.extend(reader.finish());
    let mut builder = ReplyBuilder::new("m", "1");
    for delta in &deltas {
        builder.add(delta);
    }
    // Text makes an empty reply legal; it is taken off again.
    builder.add(&ReplyDelta::Text("!".into()));
    builder.add(&ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None });
    let reply = builder.finish().expect("a reply");
    let text = reply.text().strip_suffix('!').expect("the added text").to_owned();
    (text, reply.tool_calls().into_iter().map(|call| (call.name, call.arguments)).collect())
}

fn assert_reads(reply: &str, text: &str, calls: &[(&str, Value)]) {
    let calls: Vec<_> =
        calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
    for size in 1..=reply.chars().count() {
        assert_eq!(read(reply, size), (text.to_owned(), calls.clone()), "in pieces of {size}");
    }
}

#[test]
fn calls_between_tags() {
    let one =
        "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": [1, {\"b\": \"}]\\\"\"}]}}\n</tool_call>";
    let two = "<tool_call>{\"name\":\"get \\\"x\\\"\",\"arguments\":{}}</tool_call>";
    let arguments = json!({"a": [1, {"b": "}]\""}]});
    assert_reads(one, "", &[("add", arguments.clone())]);
    assert_reads(
        &format!(" Let me see.\n{one}\n{two}\n"),
        " Let me see.\n",
        &[("add", arguments), ("get \"x\"", json!({}))],
    );
}

#[test]
fn calls_without_tags() {
    let call = "{\n  \"name\" : \"add\",\n  \"arguments\": {\"a\": 1}\n}";
    let calls = [("add", json!({"a": 1}))];
    assert_reads(call, "", &calls);
    assert_reads(&format!("I call:\n```json\n{call}\n```"), "I call:\n", &calls);
    assert_reads(&format!("```\n{call}"), "", &calls);
    assert_reads(&format!("{call}\n```\n"), "", &calls);
}

#[test]
fn everything_else_is_text() {
    for text in [
        "no calls < here { or ` there",
        "<tool_call> is how to call",
        "{\"name\": \"Bob\", \"arguments\": {}}",
        "{\"name\": \"add\", \"age\": 5}",
        "{\"name\": \"add\", \"arguments\": \"none\"}",
        "{\"arguments\": {}, \"name\": \"add\"}",
        "```json\n{\"a\": 1}\n``` and ``inline`` <b>é</b>",
        "  leading space stays",
        "a call that breaks off: <tool_call>\n{\"name\": \"ad",
    ] {
        assert_reads(text, text, &[]);
    }
}

#[test]
fn arguments_are_streamed_as_they_come() {
    let mut reader = ToolCallReader::new(["add"]);
    reader.read("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\"");
    let more = reader.read(": 12");
    assert_eq!(more, [ReplyDelta::ToolCallArguments { index: 0, delta: ": 12".into() }]);
    assert_eq!(reader.calls(), 1);
}

#[test]
fn without_tools_a_reply_is_passed_on_untouched() {
    let mut reader = ToolCallReader::default();
    assert_eq!(reader.read(" <tool_call>"), [ReplyDelta::Text(" <tool_call>".into())]);
    assert_eq!(reader.finish(), []);
}
