//! Words of a command line.

use super::arithmetic::PARAMETERS;

/// One word, with its quotes taken off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// What is known of it; where something is put in when it runs, there is nothing here.
    pub(super) text: String,
    /// As it was written.
    pub(super) source: String,
    /// Whether something is put in when it runs.
    pub(super) dynamic: bool,
    /// Whether file names are put in its place.
    pub(super) pattern: bool,
    /// Whether any of it was quoted: then it is no reserved word, no assignment and no pattern.
    pub(in crate::policy) quoted: bool,
    /// Variables whose values are put in.
    pub(super) names: Vec<String>,
    /// Whether text that a program writes is put in.
    pub(super) output: bool,
}

impl Word {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { source: text.clone(), text, ..Self::default() }
    }

    /// Something that is only known when it runs.
    pub(super) fn unknown(source: impl Into<String>) -> Self {
        Self { source: source.into(), dynamic: true, ..Self::default() }
    }

    /// `"$@"`
    pub(super) fn parameters() -> Self {
        Self { names: vec![PARAMETERS.to_owned()], ..Self::unknown("\"$@\"") }
    }

    /// Returns the word, if the text says all of it.
    #[must_use]
    pub fn fixed(&self) -> Option<&str> {
        (!self.dynamic && !self.pattern).then_some(self.text.as_str())
    }

    /// Returns it as it was written.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.source
    }

    /// Returns what is known of it: the parts that nothing is put into.
    #[must_use]
    pub fn known(&self) -> &str {
        &self.text
    }

    /// The name of the variable, if this is an assignment.
    pub(super) fn assigned(&self) -> Option<&str> {
        let (name, _) = self.source.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let bare = name.split_once('[').map_or(name, |(bare, _)| bare);
        let is_name = bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && bare.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        is_name.then_some(bare)
    }
}
