//! The listing of a configuration: every key with its value, or its default, and where that is from.

use convoke_text::nearest;
use serde_json::{Value, json};

use crate::schema::{self, KEYS, Key};
use crate::{Config, FileScope, Origin, Problem, Setting};

/// A row of the listing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListedSetting {
    /// Its key; of several with names of the user's, the first.
    pub key: &'static Key,
    /// Its name: `budgets.tokens`, `profiles.fast.model`.
    pub name: String,
    /// What is set; `None` if nobody set it, and the default holds.
    pub setting: Option<Setting>,
}

impl ListedSetting {
    /// Returns the row as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.setting {
            Some(setting) => {
                json!({"key": self.name, "value": setting.value.to_json(), "origin": setting.origin.to_json()})
            }
            None => {
                let origin = Origin::Default.to_json();
                json!({"key": self.name, "value": null, "default": self.key.default, "origin": origin})
            }
        }
    }
}

/// An error: there is no such section or key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no section or key `{section}`")]
#[non_exhaustive]
pub struct UnknownSection {
    /// What was asked for.
    pub section: String,
    /// What may have been meant.
    pub near: Option<String>,
    /// The sections there are.
    pub known: Vec<&'static str>,
}

impl Config {
    /// Lists every key, or those of a section, in the order of [`KEYS`]. Those with names of the user's come together, name by
    /// name. `more` are sections that whoever lists them has besides.
    ///
    /// # Errors
    /// If there is no such section or key.
    pub fn listing(
        &self,
        section: Option<&str>,
        more: &[&'static str],
    ) -> Result<Vec<ListedSetting>, UnknownSection> {
        if let Some(section) = section
            && !more.contains(&section)
            && !KEYS.iter().any(|key| is_listed(key.path, Some(section)))
        {
            let known: Vec<_> = schema::sections().chain(more.iter().copied()).collect();
            let names = known.iter().copied().chain(KEYS.iter().map(|key| key.path));
            let near = nearest(section, names).map(str::to_owned);
            return Err(UnknownSection { section: section.to_owned(), near, known });
        }
        let mut rows: Vec<ListedSetting> = KEYS.iter().flat_map(|key| self.rows(key)).collect();
        rows.retain(|row| is_listed(&row.name, section));
        Ok(rows)
    }

    fn rows(&self, key: &'static Key) -> Vec<ListedSetting> {
        let is_like = |other: &Key| match key.is_named() {
            true => other.is_named() && other.section() == key.section(),
            false => other.path == key.path,
        };
        if KEYS.iter().find(|other| is_like(other)).is_some_and(|first| first.path != key.path) {
            return Vec::new();
        }
        let set = self.settings().iter().filter(|setting| is_like(setting.key)).cloned();
        let mut rows: Vec<ListedSetting> = set
            .map(|setting| ListedSetting { key, name: setting.name.clone(), setting: Some(setting) })
            .collect();
        if rows.is_empty() && !key.is_named() {
            rows.push(ListedSetting { key, name: key.path.to_owned(), setting: None });
        }
        rows
    }
}

/// Checks whether a key is in a section; each is in none at all.
#[must_use]
pub fn is_listed(path: &str, section: Option<&str>) -> bool {
    let Some(section) = section else { return true };
    let mut parts = path.split('.');
    section.split('.').all(|asked| parts.next().is_some_and(|part| part == asked || part == "*"))
}

impl Origin {
    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Default => json!({"kind": "default"}),
            Self::File { path, line, scope } => {
                let kind = if *scope == FileScope::User { "user_file" } else { "folder_file" };
                json!({"kind": kind, "file": path, "line": line})
            }
            Self::Variable(name) => json!({"kind": "variable", "name": name}),
            Self::Flag(name) => json!({"kind": "flag", "name": name}),
            Self::Several(all) => all.iter().map(Self::to_json).collect(),
        }
    }
}

impl Problem {
    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let place = self.line();
        json!({"message": self.message, "file": place.map(|(file, _)| file), "line": place.map(|(_, line)| line)})
    }
}
