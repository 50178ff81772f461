//! The configuration of the Go `agent` program, translated: its `agent.toml` as a `convoke.toml`.
//!
//! What has no counterpart here is listed, so that nobody believes in a setting that does nothing. Keys and tokens are not
//! carried over: they belong into the environment or into `credentials.toml`.

mod model;
mod section;

use toml::{Table, Value};

/// The name of its file.
pub const AGENT_FILE: &str = "agent.toml";

/// A translated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The text of a `convoke.toml`.
    pub text: String,
    /// What could not be carried over, or means something else here.
    pub notes: Vec<String>,
}

/// The error of a text that cannot be translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not valid TOML: {why}")]
pub struct ImportError {
    name: String,
    why: String,
}

/// Translates an `agent.toml`. `name` is what the file is called in messages.
///
/// ```
/// let old = "[llm]\nmodel = \"claude-sonnet-4-5\"\n\n[skills]\npaths = [\"./skills\"]\n\n[security]\nmode = \"paranoid\"\n";
/// let imported = convoke_config::import::translate(old, "agent.toml")?;
/// assert!(imported.text.contains("model = \"anthropic/claude-sonnet-4-5\""));
/// assert!(imported.text.contains("paths = [\"./skills\"]"));
/// assert!(imported.notes[0].starts_with("`security`"), "{:?}", imported.notes);
/// # Ok::<(), convoke_config::import::ImportError>(())
/// ```
///
/// # Errors
/// If it is not valid TOML.
pub fn translate(text: &str, name: &str) -> Result<Imported, ImportError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| ImportError {
        name: name.to_owned(),
        why: error.message().trim().to_owned(),
    })?;
    let mut draft = Draft::default();
    for (key, value) in &table {
        match value {
            Value::Table(section) => section::translate(key, section, &table, &mut draft),
            _ => draft.note(key, "is not known"),
        }
    }
    let written = toml::to_string_pretty(&draft.written)
        .map_err(|error| ImportError { name: name.to_owned(), why: error.to_string() })?;
    let mut text =
        format!("# Translated from {name}.\n{}{written}", if written.is_empty() { "" } else { "\n" });
    for comment in &draft.comments {
        text.push_str("\n# Not for this file, which may go to others; yours may say it:\n");
        text.extend(comment.lines().map(|line| format!("# {line}\n")));
    }
    Ok(Imported { text, notes: draft.notes })
}

/// A configuration being written.
#[derive(Default)]
struct Draft {
    written: Table,
    /// What stands there as comments only.
    comments: Vec<String>,
    notes: Vec<String>,
}

impl Draft {
    /// Sets a key in the section with these names.
    fn set(&mut self, sections: &[&str], key: &str, value: impl Into<Value>) {
        let mut table = &mut self.written;
        for section in sections {
            let inner = table.entry(*section).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = inner else { return };
            table = inner;
        }
        table.insert(key.to_owned(), value.into());
    }

    /// What a key in the section with these names is set to.
    fn get(&self, sections: &[&str], key: &str) -> Option<&Value> {
        let table =
            sections.iter().try_fold(&self.written, |table, section| table.get(*section)?.as_table())?;
        table.get(key)
    }

    /// Says what became of a key.
    fn note(&mut self, key: &str, what: &str) {
        self.notes.push(format!("`{key}` {what}"));
    }
}
