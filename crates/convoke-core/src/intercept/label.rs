//! Labels: the provenance of data, and how far it is trusted.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest label, in bytes.
const LONGEST: usize = 64;

/// A short text that is put on what an effect gave: `untrusted`, `origin=web`.
///
/// ```
/// use convoke_core::Label;
///
/// assert_eq!(Label::new("origin=web")?.as_str(), "origin=web");
/// assert!(Label::new("two words").is_err());
/// # Ok::<(), convoke_core::InvalidLabel>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// The error of a text that is not a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid label `{text}`: write one to {LONGEST} bytes without spaces and control characters, such as `origin=web`"
)]
pub struct InvalidLabel {
    /// The text.
    pub text: String,
}

impl Label {
    /// The label that is written like this.
    ///
    /// # Errors
    /// If it is empty, longer than 64 bytes, or has spaces or control characters in it: stores keep labels side by side.
    pub fn new(text: &str) -> Result<Self, InvalidLabel> {
        let unfit = |character: char| character.is_whitespace() || character.is_control();
        if text.is_empty() || text.len() > LONGEST || text.contains(unfit) {
            return Err(InvalidLabel { text: text.to_owned() });
        }
        Ok(Self(text.into()))
    }

    /// The label as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = InvalidLabel;

    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        Self::new(text)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A set of labels. Two sets are joined by having all of both: what was learnt is not unlearnt.
///
/// As text the labels stand side by side with a space between them, which is how stores keep them.
///
/// ```
/// use convoke_core::Labels;
///
/// let mut labels: Labels = "untrusted origin=web".parse()?;
/// labels.join(&"origin=mail".parse()?);
/// assert_eq!(labels.to_string(), "origin=mail origin=web untrusted");
/// assert!(labels.has("untrusted"));
/// # Ok::<(), convoke_core::InvalidLabel>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Labels(BTreeSet<Label>);

impl Labels {
    /// Returns an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Returns whether this is one of them.
    #[must_use]
    pub fn has(&self, label: &str) -> bool {
        self.0.iter().any(|known| known.as_str() == label)
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, in alphabetical order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Label> {
        self.0.iter()
    }

    /// Adds all of another set.
    pub fn join(&mut self, others: &Self) {
        self.0.extend(others.iter().cloned());
    }
}

impl From<Label> for Labels {
    fn from(label: Label) -> Self {
        Self::from_iter([label])
    }
}

impl FromIterator<Label> for Labels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

impl FromStr for Labels {
    type Err = InvalidLabel;

    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        text.split_whitespace().map(Label::new).collect()
    }
}

impl From<Labels> for String {
    fn from(labels: Labels) -> Self {
        labels.to_string()
    }
}

impl TryFrom<String> for Labels {
    type Error = InvalidLabel;

    fn try_from(text: String) -> Result<Self, InvalidLabel> {
        text.parse()
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, label) in self.iter().enumerate() {
            write!(formatter, "{}{label}", if number == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
