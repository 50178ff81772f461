//! The definition of a key, and how layers that set it are merged.

use super::ValueKind;

/// A key of `convoke.toml`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Its name from the top of the file: `budgets.tokens`. A `*` stands for any name.
    pub path: &'static str,
    /// What its values are.
    pub kind: ValueKind,
    /// The environment variables that set it, the first that is set counts.
    pub variables: &'static [&'static str],
    /// What holds if nobody sets it, in words.
    pub default: &'static str,
    /// What it means, in a line.
    pub about: &'static str,
    /// How layers that set it are merged.
    pub merge: MergeRule,
}

/// The rule by which layers that set the same key are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// The last one holds.
    Replace,
    /// The last one holds, and what earlier layers say in the same section of that name goes with it.
    ReplaceSection,
    /// All hold, the last one first.
    Append,
    /// The folder's file can only be stricter than the user's; the environment and the command line replace both.
    Narrow,
    /// Only the user can set it: in the user's own file, or in the environment.
    UserOnly,
    /// Only the user can set it to `true`.
    EnableByUserOnly,
    /// A file overrides the environment variable.
    FileOverridesEnv,
}

impl Key {
    /// The first segment.
    #[must_use]
    pub fn section(&self) -> &'static str {
        self.path.split('.').next().unwrap_or(self.path)
    }

    /// Returns whether it has a name of the user's in it.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.path.contains('*')
    }

    /// The key with this full name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        super::KEYS.iter().find(|key| {
            let mut written = name.split('.');
            let fits =
                key.path.split('.').all(|part| written.next().is_some_and(|w| part == "*" || part == w));
            fits && written.next().is_none()
        })
    }
}
