//! Failures as people and programs are told them: what happened, details, and what can be done about it.
//!
//! Every error of ours becomes one in `errors`: that is the one place for hints. What a door makes of the [kind](FailureKind),
//! an exit code or a status, is up to that door.

mod errors;

pub(crate) use errors::NAME_ONE;

use convoke_config::{Problems, Style};
use convoke_tools::policy::PolicyErrors;

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// What was asked for failed, or cannot be done.
    Failed,
    /// What was asked for makes no sense.
    Usage,
    /// There is no such thing, or more than one fits.
    NotFound,
    /// The store is not there or cannot be used.
    Store,
    /// It was stopped.
    Cancelled,
    /// Its time or its budget is used up.
    UsedUp,
}

/// What is wrong with a file of the user's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FileProblems {
    /// With the configuration.
    Configuration(Problems),
    /// With a policy.
    Policy(PolicyErrors),
}

impl FileProblems {
    /// Returns the problems with their places in the file.
    #[must_use]
    pub fn render(&self, color: bool, width: usize) -> String {
        match self {
            Self::Configuration(problems) => problems.render(Style { color, width }),
            Self::Policy(errors) => errors.render(color, width),
        }
    }
}

/// A failure: what happened, details below it, and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct FailureReport {
    /// Its kind.
    pub kind: FailureKind,
    /// What is wrong with a file, to be shown with its places before everything else.
    pub problems: Option<Box<FileProblems>>,
    /// What happened.
    pub message: String,
    /// More about it, each in a line.
    pub details: Vec<String>,
    /// What can be done about it.
    pub hints: Vec<String>,
    /// Who works on the run, if that is why.
    pub holder: Option<String>,
}

impl FailureReport {
    /// A failure of this kind, about which nothing more is known.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let (details, hints) = (Vec::new(), Vec::new());
        Self { kind, problems: None, message: message.into(), details, hints, holder: None }
    }

    /// What was asked for cannot be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }

    /// What was asked for makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// It is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// The store is not there or cannot be used.
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Store, message)
    }

    /// Adds a line below the message.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Adds lines below the message.
    pub fn detailed(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    /// Adds something that can be done about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds what is wrong with a file.
    pub(crate) fn about(self, problems: FileProblems) -> Self {
        Self { problems: Some(Box::new(problems)), ..self }
    }
}
