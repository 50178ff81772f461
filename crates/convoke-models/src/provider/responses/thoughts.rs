//! Carries encrypted reasoning as signatures, and back.
//!
//! A signature is one or more lines, each `openai:ORIGIN:ID:ENCRYPTED`: a fingerprint of the address and model that gave
//! the thought (no other can read it, and models that do not think refuse any), the item's id and its encrypted content.
//! Lines, because thoughts without a summary that follow one another become one part, and their signatures are joined.

use serde_json::{Map, Value, json};

use crate::provider::chat::common::{is_at, put, text};
use crate::provider::origin::fingerprint;

const PREFIX: &str = "openai:";

/// Makes and reads the signatures of one model at one address.
#[derive(Debug, Clone)]
pub(super) struct Seal {
    origin: String,
    /// Azure refuses the ids of thoughts that it did not store.
    with_ids: bool,
}

impl Seal {
    pub(super) fn of(base_url: &str, model: &str) -> Self {
        Self { origin: fingerprint(base_url, model), with_ids: !is_at(base_url, "azure.com") }
    }

    /// The signature of an item. One without encrypted content cannot be sent back, and gets none.
    pub(super) fn sign(&self, item: &Value) -> Option<String> {
        let (id, encrypted) = (text(item, "id"), text(item, "encrypted_content"));
        let is_usable = !encrypted.is_empty() && !id.contains([':', '\n']) && !encrypted.contains('\n');
        is_usable.then(|| format!("{PREFIX}{}:{id}:{encrypted}\n", self.origin))
    }

    /// The items of a thought: one, or several of which the first has the summary; none if it came from elsewhere.
    pub(super) fn items(&self, summary: &str, signature: Option<&str>) -> Vec<Value> {
        let lines = signature.unwrap_or_default().lines();
        let sealed =
            lines.filter_map(|line| line.strip_prefix(PREFIX)?.strip_prefix(&self.origin)?.strip_prefix(':'));
        let mut summary = Some(summary).filter(|summary| !summary.is_empty());
        let item = |(id, encrypted): (&str, &str)| {
            let summary: Vec<_> = summary
                .take()
                .map(|text| json!({"type": "summary_text", "text": text}))
                .into_iter()
                .collect();
            let mut item = Map::new();
            put(&mut item, "type", Some("reasoning"));
            put(&mut item, "id", (self.with_ids && !id.is_empty()).then_some(id));
            put(&mut item, "summary", Some(summary));
            put(&mut item, "encrypted_content", Some(encrypted));
            Value::Object(item)
        };
        sealed.filter_map(|line| line.split_once(':')).map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_goes_back_to_where_it_came_from_and_nowhere_else() {
        let here = Seal::of("https://api.openai.com/v1", "gpt-5");
        let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA=="});
        let signature = here.sign(&item).unwrap();
        assert_eq!(here.items("", Some(&signature)), [item]);
        for elsewhere in [
            Seal::of("https://elsewhere.example/v1", "gpt-5"),
            Seal::of("https://api.openai.com/v1", "gpt-4.1"),
        ] {
            assert!(elsewhere.items("", Some(&signature)).is_empty());
        }
        assert!(here.items("hm", Some("EqQBCkYIBxgC")).is_empty());
        assert!(here.items("hm", None).is_empty());
        assert_eq!(here.sign(&json!({"id": "rs_1", "encrypted_content": null})), None);
    }

    #[test]
    fn azure_gets_no_ids() {
        let azure = Seal::of("https://me.openai.azure.com/openai/v1", "gpt-5");
        let signature = azure.sign(&json!({"id": "rs_1", "encrypted_content": "e"})).unwrap();
        let expected = json!({"type": "reasoning", "summary": [], "encrypted_content": "e"});
        assert_eq!(azure.items("", Some(&signature)), [expected]);
    }
}
