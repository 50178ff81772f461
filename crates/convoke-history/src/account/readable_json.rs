//! Readable JSON: members by name, one to a line, what belongs to them indented below it.
//!
//! Somebody decides by what stands here. So nothing is left out, and no text can look like another member: every line of a
//! text but its only one is indented deeper than the name.

use serde_json::Value;

use crate::text::one_line;

/// A value in lines.
///
/// ```
/// use convoke_history::account::readable_json;
/// use serde_json::json;
///
/// assert_eq!(readable_json(&json!({"command": "ls", "folders": ["a", "b"]})), "command: ls\nfolders:\n  - a\n  - b");
/// ```
#[must_use]
pub fn readable_json(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| below("-", item));
            items.collect::<Vec<_>>().join("\n")
        }
        Value::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(name, value)| below(&format!("{}:", one_line(name)), value));
            members.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// A value after its name: in the same line if it is a line.
fn below(name: &str, value: &Value) -> String {
    let is_nested = match value {
        Value::String(text) => text.contains(['\n', '\r']),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    if !is_nested {
        return match readable_json(value) {
            empty if empty.is_empty() => format!("{name} \"\""),
            text => format!("{name} {text}"),
        };
    }
    let lines = readable_json(value).lines().map(|line| format!("\n  {line}")).collect::<String>();
    format!("{name}{lines}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_stand_under_each_other_and_no_text_passes_for_one() {
        assert_eq!(readable_json(&json!("a\nb")), "a\nb");
        assert_eq!(
            readable_json(&json!([1, "two", {"three": [true]}])),
            "- 1\n- two\n-\n  three:\n    - true"
        );
        let call = json!({"command": "rm -rf x\nfolder: safe", "folder": "", "limit": null, "more": {}});
        assert_eq!(
            readable_json(&call),
            "command:\n  rm -rf x\n  folder: safe\nfolder: \"\"\nlimit: null\nmore: {}"
        );
        assert_eq!(readable_json(&json!({"a: b\nfolder": 1})).lines().count(), 1);
    }
}
