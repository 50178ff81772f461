//! Errors of scripts in files.

use std::fmt;
use std::io;
use std::path::PathBuf;

use convoke_text::duration::DurationError;

/// Errors of scripts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read script `{}`: {source}. Check the path and its permissions", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file's name does not say which language it is in.
    #[error(
        "script `{}` is neither TOML nor JSON by its name. Let it end in `.toml` or `.json`; `scripted/rehearsal` needs no file",
        file.display()
    )]
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// It is not TOML or not JSON.
    #[error("{place} is not valid {language}: {message}")]
    Syntax {
        /// Which script.
        place: ScriptLocation,
        /// What it should be.
        language: &'static str,
        /// What the parser says, with line and column.
        message: String,
    },
    /// There is no such key.
    #[error("{place}: unknown key `{key}`; {}", advice(hint.as_deref(), known))]
    UnknownKey {
        /// Where.
        place: ScriptLocation,
        /// The key.
        key: String,
        /// The key that was probably meant.
        hint: Option<String>,
        /// The keys there are.
        known: Box<[String]>,
    },
    /// A key's value is of the wrong kind.
    #[error("{place}: `{key}` is {found}; write {expected}")]
    WrongValue {
        /// Where.
        place: ScriptLocation,
        /// The key.
        key: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A text is no duration.
    #[error("{place}: `{key}`: {error}")]
    InvalidDuration {
        /// Where.
        place: ScriptLocation,
        /// The key.
        key: String,
        /// What is wrong with it.
        error: DurationError,
    },
    /// A key is not there.
    #[error("{place}: `{key}` is missing; write {expected}")]
    MissingKey {
        /// Where.
        place: ScriptLocation,
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Two keys cannot both take effect.
    #[error("{place}: `{first}` and `{second}` exclude each other; {remedy}")]
    Conflict {
        /// Where.
        place: ScriptLocation,
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The script answers nothing.
    #[error("{place} has no rules; add a `[[rule]]` with a `reply`")]
    NoRules {
        /// Which script.
        place: ScriptLocation,
    },
    /// A rule says nothing.
    #[error(
        "{place} says nothing; give it `reply`, `json`, `tool_calls`, `error` or `hangs` \
         (a reply that is empty on purpose is `reply = \"\"`)"
    )]
    NoReply {
        /// Which rule.
        place: ScriptLocation,
    },
    /// A rule can never answer.
    #[error(
        "{place} can never answer: rule {blocker} before it has neither `when` nor a limit; move rule {blocker} to the \
         end, or give it `when`, `once` or `times`"
    )]
    Unreachable {
        /// Which rule.
        place: ScriptLocation,
        /// The rule that answers everything.
        blocker: usize,
    },
}

/// A location in a script. Rules and replies count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScriptLocation {
    /// The file; none if the script was a text in memory.
    pub file: Option<PathBuf>,
    /// Which rule.
    pub rule: Option<usize>,
    /// Which reply of the rule, if it has a list of them.
    pub reply: Option<usize>,
}

impl fmt::Display for ScriptLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "script `{}`", file.display())?,
            None => formatter.write_str("the script")?,
        }
        if let Some(rule) = self.rule {
            write!(formatter, ", rule {rule}")?;
        }
        if let Some(reply) = self.reply {
            write!(formatter, ", reply {reply}")?;
        }
        Ok(())
    }
}

fn advice(hint: Option<&str>, known: &[String]) -> String {
    match hint {
        Some(hint) => format!("did you mean `{hint}`?"),
        None => format!("known keys are {}", known.join(", ")),
    }
}
