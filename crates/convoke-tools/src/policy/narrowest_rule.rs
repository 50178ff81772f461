//! The narrowest rule that lets a call through, for a person who says "always".
//!
//! It must never say more than it has to: a command with its words and no others, a tool of a server, one file or one host for one tool, or a
//! tool that has nothing else to be told by. For whatever else there is none.

use std::fmt;
use std::sync::Arc;

use convoke_core::ToolSpec;
use serde_json::Value;

use super::command::END;
use super::judge::host;
use super::{Policy, PolicyGate, Subject};

/// A rule for `policy.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NarrowRule {
    /// The key, by its parts: `["commands", "allow"]`.
    pub key: Vec<String>,
    /// What stands there: an item of a list, or the value itself.
    pub text: String,
    /// Whether it is an item of a list.
    pub is_item: bool,
}

impl fmt::Display for NarrowRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, text) = (self.key.join("."), &self.text);
        if self.is_item {
            write!(formatter, "{key} = [\"{text}\"]")
        } else {
            write!(formatter, "{key} = \"{text}\"")
        }
    }
}

impl PolicyGate {
    /// The narrowest rule that is about a call, if there is one. Whether it lets the call through depends on what else is said.
    #[must_use]
    pub fn narrowest(&self, spec: &ToolSpec, arguments: &Value) -> Option<NarrowRule> {
        let rule = |key: &[&str], text: String, is_item: bool| {
            let key = key.iter().map(|part| (*part).to_owned()).collect();
            Some(NarrowRule { key, text, is_item })
        };
        if let Some((server, tool)) = self.mcp_tool(spec.name()) {
            return rule(&["mcp", "allow"], format!("{server}:{tool}"), true);
        }
        let subjects = Policy::default().call(spec, arguments).subjects;
        // A folder that something is done in allows nothing by itself.
        let about: Vec<&Subject> =
            subjects.iter().filter(|subject| !matches!(subject, Subject::Folder(_))).collect();
        match about[..] {
            [] => rule(&["tools", spec.name(), "decision"], "allow".to_owned(), false),
            [Subject::Command(command)] => rule(&["commands", "allow"], plain(command)?, true),
            [Subject::Path(path)] => {
                let top = self.workspace.as_ref()?.path();
                let path = top.join(path.trim_start_matches("./"));
                rule(&["tools", spec.name(), "paths", "allow"], globset::escape(path.to_str()?), true)
            }
            [Subject::Url(url)] => rule(&["tools", spec.name(), "domains", "allow"], host(url)?, true),
            [Subject::Program(words)] => rule(&["commands", "allow"], plain(&words.join(" "))?, true),
            _ => None,
        }
    }

    /// Makes the same gate with other policies.
    #[must_use]
    pub fn with_policies(&self, policies: impl IntoIterator<Item = Policy>) -> Self {
        let mut gate = self.clone();
        gate.policies = policies.into_iter().map(Arc::new).collect();
        gate
    }
}

/// A pattern of this command alone.
fn plain(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_plain = !command.contains(['*', '?', '[', '\n', '\\', '"', '\'']) && !words.is_empty();
    is_plain.then(|| format!("{} {END}", words.join(" ")))
}
