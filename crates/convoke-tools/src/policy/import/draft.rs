//! The text of a policy while it is put together.

use std::collections::BTreeMap;
use std::fmt::Write;

use toml::Value;

use super::ImportedPolicy;

#[derive(Default)]
pub(super) struct PolicyDraft {
    /// Sections in the order of their names, keys in that of theirs, values as they are written.
    sections: BTreeMap<String, BTreeMap<String, String>>,
    notes: Vec<String>,
}

impl PolicyDraft {
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn set(&mut self, section: &str, key: &str, text: &str) {
        self.sections.entry(section.to_owned()).or_default().insert(key.to_owned(), quoted(text));
    }

    /// A list, unless there is nothing in it.
    pub(super) fn list(&mut self, section: &str, key: &str, texts: Vec<String>) {
        if !texts.is_empty() {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            let list = format!("[{}]", texts.join(", "));
            self.sections.entry(section.to_owned()).or_default().insert(key.to_owned(), list);
        }
    }

    pub(super) fn clear(&mut self, section: &str, key: &str) {
        if let Some(section) = self.sections.get_mut(section) {
            section.remove(key);
        }
    }

    pub(super) fn has(&self, section: &str, key: &str) -> bool {
        self.sections.get(section).is_some_and(|section| section.contains_key(key))
    }

    /// The texts of a list. What is none is noted.
    pub(super) fn texts(&mut self, name: &str, value: &Value) -> Vec<String> {
        let Some(items) = value.as_array() else {
            self.note(format!("`{name}` is not a list"));
            return Vec::new();
        };
        let texts: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if texts.len() < items.len() {
            self.note(format!("`{name}`: only texts can be in it"));
        }
        texts
    }

    /// Those that are understood here. The others are noted.
    pub(super) fn only(
        &mut self,
        name: &str,
        texts: Vec<String>,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Vec<String> {
        let mut kept = Vec::new();
        for text in texts {
            match check(&text) {
                Ok(()) => kept.push(text),
                Err(why) => self.note(format!("`{name}`: \"{text}\" was left out: {why}")),
            }
        }
        kept
    }

    pub(super) fn finish(self) -> ImportedPolicy {
        let mut text = String::from("version = 1\n");
        for (section, keys) in self.sections.iter().filter(|(_, keys)| !keys.is_empty()) {
            let _ = write!(text, "\n[{section}]\n");
            for (key, value) in keys {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        ImportedPolicy { text, notes: self.notes }
    }
}

/// A name as a part of a section's name.
pub(super) fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
