//! Environment variables: this process's, or some that a test makes up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use convoke_text::xdg;

/// The environment that variables are looked up in.
#[derive(Clone, Default)]
pub struct Environment {
    /// `None` is this process's.
    given: Option<BTreeMap<String, String>>,
}

impl Environment {
    /// Returns the environment of this process.
    #[must_use]
    pub fn process() -> Self {
        Self { given: None }
    }

    /// Creates an environment with only these variables.
    #[must_use]
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self::from_iter(variables)
    }

    /// A variable, unless there is nothing but blanks in it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.given {
            Some(given) => given.get(name).cloned(),
            None => std::env::var(name).ok(),
        };
        value.filter(|value| !value.trim().is_empty())
    }

    /// The names of all variables, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = match &self.given {
            Some(given) => given.keys().cloned().collect(),
            None => std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect(),
        };
        names.sort();
        names
    }

    /// Returns the folder of this user's configuration.
    #[must_use]
    pub fn configuration_folder(&self) -> Option<PathBuf> {
        Some(xdg::config_folder(|name| self.get(name).map(PathBuf::from))?.join("convoke"))
    }

    /// Returns where this user's data of ours is. `None` for a user without a home.
    #[must_use]
    pub fn data_folder(&self) -> Option<PathBuf> {
        Some(xdg::data_folder(|name| self.get(name).map(PathBuf::from))?.join("convoke"))
    }
}

/// Only these.
impl<'a> FromIterator<(&'a str, &'a str)> for Environment {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(variables: I) -> Self {
        let owned = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { given: Some(owned.collect()) }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are in there: names only.
        let names = self.given.as_ref().map(|given| given.keys().collect::<Vec<_>>());
        formatter.debug_struct("Environment").field("given", &names).finish()
    }
}
