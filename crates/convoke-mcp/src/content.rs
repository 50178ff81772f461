//! Renders the results of servers as text.
//!
//! A tool's result is a text. Pictures, sounds and other bytes are described in it, and their data is left out: it says so,
//! and a model that needs it must ask for it in another way.

use convoke_core::json_text;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// A call's result as text: texts one after the other, everything else on lines of its own, structured content last,
/// unless one of the texts says the same.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    let mut text = blocks(&result.content);
    if let Some(structured) = &result.structured_content
        && !result.content.iter().any(|block| repeats(block, structured))
    {
        own_line(&mut text, &json_text(structured));
    }
    text
}

/// Pieces of content as text.
pub(crate) fn blocks<'a>(blocks: impl IntoIterator<Item = &'a ContentBlock>) -> String {
    let mut text = String::new();
    let mut ends_line = false;
    for block in blocks {
        if let ContentBlock::Text(piece) = block {
            if ends_line {
                text.push('\n');
            }
            text.push_str(&piece.text);
            ends_line = false;
        } else {
            own_line(&mut text, &described(block));
            ends_line = true;
        }
    }
    text
}

/// What a resource holds, as text.
pub(crate) fn resource(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            left_out(&format!("resource {uri}"), mime_type.as_deref().unwrap_or("bytes"), blob)
        }
        _ => "[a resource of a kind that is not known here]".to_owned(),
    }
}

fn described(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(piece) => piece.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.as_deref().map_or(String::new(), |kind| format!(" ({kind})"));
            format!("[resource {}: {}{kind}]", link.uri, link.name)
        }
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}

fn left_out(what: &str, kind: &str, data: &str) -> String {
    let bytes = data.trim_end_matches('=').len() * 3 / 4;
    format!("[{what}, {kind}, {bytes} bytes: left out, because a tool's result is text]")
}

fn own_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Whether a text says the same as structured content: it is its JSON, or the only thing that is in it.
fn repeats(block: &ContentBlock, value: &Value) -> bool {
    let ContentBlock::Text(piece) = block else { return false };
    let only = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    only.and_then(Value::as_str) == Some(&piece.text)
        || serde_json::from_str::<Value>(&piece.text).is_ok_and(|said| said == *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(json: Value) -> String {
        text_of(&serde_json::from_value(json).unwrap())
    }

    #[test]
    fn agentcore_138_texts_are_joined_as_they_are() {
        let content = json!([{"type": "text", "text": "hello "}, {"type": "text", "text": "world"}]);
        assert_eq!(result(json!({"content": content})), "hello world");
    }

    #[test]
    fn what_is_not_text_is_described_on_lines_of_its_own() {
        let content = json!([
            {"type": "text", "text": "before"},
            {"type": "image", "mimeType": "image/png", "data": "AAECAw=="},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/plain"},
            {"type": "text", "text": "after"},
        ]);
        let text = result(json!({"content": content}));
        let expected = "before\n[image, image/png, 4 bytes: left out, because a tool's result is text]\n\
            [resource file:///a]\ninside\n[resource file:///b: b (text/plain)]\nafter";
        assert_eq!(text, expected);
    }

    #[test]
    fn structured_content_is_said_once() {
        let structured = json!({"sum": 3});
        let both =
            json!({"content": [{"type": "text", "text": "{ \"sum\": 3 }"}], "structuredContent": structured});
        assert_eq!(result(both), "{ \"sum\": 3 }");
        let wrapped = json!({"content": [{"type": "text", "text": "it is"}], "structuredContent": {"content": "it is"}});
        assert_eq!(result(wrapped), "it is");
        let more = json!({"content": [{"type": "text", "text": "it is"}], "structuredContent": structured});
        assert_eq!(result(more), "it is\n{\"sum\":3}");
    }
}
