//! "Always": what a person approves once and for all becomes a rule of their own policy.
//!
//! Only the user's own file is ever written, never the folder's, and only a rule that lets this very call through.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_config::{NewFile, replace_file};
use convoke_core::{Question, Toolset};
use convoke_tools::policy::{NarrowRule, Policy, PolicyGate, PolicyOutcome, PolicySet};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// The writer of rules that allow a call for ever, and what they are tried with.
#[derive(Clone)]
pub struct AlwaysAllow {
    pub(super) gate: PolicyGate,
    pub(super) tools: Toolset,
    pub(super) policies: Arc<PolicySet>,
    /// The user's own policy, which need not be there yet.
    pub(super) file: PathBuf,
}

impl AlwaysAllow {
    /// The rule that would answer this question for ever, if there is one and it would.
    #[must_use]
    pub fn rule(&self, question: &Question) -> Option<NarrowRule> {
        let tool = question.subject.get("tool").and_then(Value::as_str)?;
        let arguments = question.subject.get("arguments")?;
        let spec = self.tools.get(tool)?.spec();
        let rule = self.gate.narrowest(spec, arguments)?;
        let text = self.with(&rule).ok()?;
        let own = Policy::parse(&text, &self.file.display().to_string()).ok()?;
        let gate = self.gate.with_policies(self.policies.with_own(&self.file, own));
        (gate.decide(spec, arguments).outcome == PolicyOutcome::Allow).then_some(rule)
    }

    /// The rule and where it would stand, for people to read.
    #[must_use]
    pub fn describe(&self, rule: &NarrowRule) -> String {
        format!("{rule} in {}", self.file.display())
    }

    /// Writes the rule. There is always a whole file: the old one or the new one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, rule: &NarrowRule) -> Result<(), String> {
        let text = self.with(rule)?;
        let failed = |error: std::io::Error| format!("{} cannot be written: {error}", self.file.display());
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        replace_file(&self.file, text.as_bytes(), NewFile::Private).map_err(failed)
    }

    /// The file with the rule in it, otherwise as it is.
    fn with(&self, rule: &NarrowRule) -> Result<String, String> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "version = 1\n".to_owned(),
            Err(error) => return Err(format!("{} cannot be read: {error}", self.file.display())),
        };
        let mut document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let odd = || format!("`{}` is something else there", rule.key.join("."));
        let (last, sections) = rule.key.split_last().ok_or_else(odd)?;
        let mut table = document.as_table_mut();
        for section in sections {
            let section = table.entry(section).or_insert_with(|| Item::Table(Table::new()));
            table = section.as_table_mut().ok_or_else(odd)?;
        }
        if rule.is_item {
            let list = table.entry(last).or_insert_with(|| value(Array::new()));
            let list = list.as_array_mut().ok_or_else(odd)?;
            if !list.iter().any(|item| item.as_str() == Some(&*rule.text)) {
                list.push(&*rule.text);
            }
        } else {
            table.insert(last, value(&*rule.text));
        }
        // With a list of what is allowed, the rest would be denied instead of asked about.
        let rest = match sections {
            [first] if first == "mcp" => Some((document.get_mut("mcp"), "default")),
            [first, tool, ..] if first == "tools" && rule.is_item => {
                Some((document.get_mut("tools").and_then(|tools| tools.get_mut(tool)), "decision"))
            }
            _ => None,
        };
        if let Some((Some(table), key)) = rest
            && let Some(table) = table.as_table_like_mut()
            && !table.contains_key(key)
        {
            table.insert(key, value("ask"));
        }
        Ok(document.to_string())
    }
}
