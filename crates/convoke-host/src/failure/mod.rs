//! Failures as people and programs are told them: what happened, details, and what can be done about it.
//!
//! Every error of ours becomes one in `errors`: that is the one place for hints. What a door makes of the [kind](FailureKind),
//! an exit code or a status, is up to that door.

mod errors;

pub(crate) use errors::NAME_ONE;

use convoke_config::{Problem, Problems, Style};
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::{Diagnostics, to_json};
use convoke_history::text;
use convoke_text::nearest;
use convoke_tools::policy::PolicyErrors;
use serde_json::{Value, json};

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

/// The problems of a file of the user's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FileProblems {
    /// With the configuration.
    Configuration(Problems),
    /// With a policy.
    Policy(PolicyErrors),
    /// With files that are run, as `validate --json` has it. People were told before.
    Definition(Value),
}

impl FileProblems {
    /// Returns what is wrong with files that are run.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Source, &'a Diagnostics)>) -> Self {
        let files = files.into_iter().map(|(source, diagnostics)| json!(to_json(source, diagnostics)));
        Self::Definition(files.collect())
    }

    /// Returns the problems for programs.
    #[must_use]
    pub fn document(&self) -> Value {
        match self {
            Self::Configuration(problems) => problems.iter().map(Problem::to_json).collect(),
            Self::Policy(errors) => errors.iter().map(|problem| json!(problem)).collect(),
            Self::Definition(diagnostics) => diagnostics.clone(),
        }
    }

    /// Returns the problems with their places in the file; nothing of those that people were told before.
    #[must_use]
    pub fn render(&self, color: bool, width: usize) -> String {
        match self {
            Self::Configuration(problems) => problems.render(Style { color, width }),
            Self::Policy(errors) => errors.render(color, width),
            Self::Definition(_) => String::new(),
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

    /// Makes a report that what was asked for cannot be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }

    /// Makes a report that what was asked for makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// Makes a report that something is not there.
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

    /// Adds what was probably meant by a name that is not there; if nothing is near it, where those are that there are.
    pub fn meant<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>, listed: &str) -> Self {
        match nearest(name, known) {
            Some(near) => self.hint(format!("did you mean `{}`?", text::one_line(near))),
            None => self.hint(listed),
        }
    }

    /// Adds what is wrong with a file.
    pub fn about(self, problems: FileProblems) -> Self {
        Self { problems: Some(Box::new(problems)), ..self }
    }
}
