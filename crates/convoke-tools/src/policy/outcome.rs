//! Decisions about calls: the outcome, and the rule that decides.

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The outcome of a decision: whether something may be done. The later ones are stricter, and win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    /// It may.
    Allow,
    /// It may if a person approves.
    Ask,
    /// It may not.
    Deny,
}

impl PolicyOutcome {
    /// All of them, by how strict they are.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns it as it is written in `policy.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for PolicyOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The location of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePlace {
    /// In a file.
    File {
        /// Its name.
        name: Arc<str>,
        /// The line, from 1.
        line: usize,
    },
    /// In none: it is what holds when no file says anything.
    BuiltIn,
}

impl Serialize for RulePlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (file, line) = match self {
            Self::File { name, line } => (Some(&**name), Some(line)),
            Self::BuiltIn => (None, None),
        };
        let mut place = serializer.serialize_struct("RulePlace", 2)?;
        place.serialize_field("file", &file)?;
        place.serialize_field("line", &line)?;
        place.end()
    }
}

/// One rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// The key it is under: `commands.deny`.
    pub key: String,
    /// What it says: a pattern, or a value.
    pub text: String,
    /// Where it stands.
    #[serde(flatten)]
    pub place: RulePlace,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.key)?;
        if !self.text.is_empty() {
            write!(formatter, " = \"{}\"", self.text)?;
        }
        match &self.place {
            RulePlace::File { name, line } => write!(formatter, ", {name}:{line}"),
            RulePlace::BuiltIn => formatter.write_str(", built in"),
        }
    }
}

/// A decision about a call, by which rule, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether it may be made.
    pub outcome: PolicyOutcome,
    /// The rule that decides.
    pub rule: RuleRef,
    /// Why it decides, in words: what of the call it is about.
    pub because: String,
    /// What the model can do instead, if it may not.
    #[serde(skip)]
    pub instead: &'static str,
}

impl Decision {
    /// The stricter of the two; of equals the first.
    #[must_use]
    pub fn or_stricter(self, other: Self) -> Self {
        if other.outcome > self.outcome { other } else { self }
    }

    /// Returns the message for the model when the call is not made.
    #[must_use]
    pub fn denial(&self) -> String {
        format!("denied by the policy: {} ({}). {}", self.because, self.rule, self.instead)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({})", self.outcome, self.because, self.rule)
    }
}
