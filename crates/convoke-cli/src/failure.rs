//! Failures of commands: the message, hints, and the exit code.

use std::io;
use std::process::ExitCode;

use convoke_config::Problems;
use convoke_core::{Error, StoreError};
use convoke_text::nearest;
use convoke_tools::policy::PolicyErrors;
use serde_json::{Value, json};

use crate::human;
use crate::terminal::text::one_line;

/// How this program ends. The numbers are part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Store = 4,
    Suspended = 5,
    Cancelled = 6,
    UsedUp = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads our output any more. Not an error: `convoke runs | head -1`.
    ClosedPipe,
    /// It did not come to its end, and the user was told all there is to say.
    Ended(Exit),
    /// Something to tell the user.
    Reported(Box<Report>),
}

/// What is wrong with a file of the user's.
#[derive(Debug, PartialEq)]
pub(crate) enum FileProblems {
    Configuration(Problems),
    Policy(PolicyErrors),
    /// Of files that are run, as `validate --json` has it. People were told before.
    Definition(Value),
}

impl FileProblems {
    fn as_json(&self) -> Value {
        match self {
            Self::Configuration(problems) => problems
                .iter()
                .map(|problem| {
                    let (file, line) = problem.line().unzip();
                    json!({"message": problem.message, "file": file, "line": line})
                })
                .collect(),
            Self::Policy(errors) => errors.iter().map(|problem| json!(problem)).collect(),
            Self::Definition(diagnostics) => diagnostics.clone(),
        }
    }
}

/// What to tell the user: what happened, details below it, and what to do.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    /// What is wrong with a file, to be shown with its places before everything else.
    pub(crate) problems: Option<FileProblems>,
    pub(crate) message: String,
    pub(crate) details: Vec<String>,
    pub(crate) hints: Vec<String>,
    /// Who works on the run, if that is why.
    pub(crate) holder: Option<String>,
}

impl Report {
    /// The same for a program, as documents have it in `error`.
    fn error(&self) -> Value {
        let mut error = json!({
            "message": self.message,
            "details": self.details,
            "hints": self.hints,
            "exit_code": self.exit as u8,
        });
        if let Some(problems) = &self.problems {
            error["problems"] = problems.as_json();
        }
        error
    }

    /// A document that has nothing else; `kind` where it is one line of several.
    pub(crate) fn as_json(&self, kind: Option<&str>) -> Value {
        let mut document = json!({"error": self.error()});
        if let Some(kind) = kind {
            document["type"] = kind.into();
        }
        document
    }
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Self {
        let (details, hints) = (Vec::new(), Vec::new());
        let (problems, holder, message) = (None, None, message.into());
        Self::Reported(Box::new(Report { exit, problems, message, details, hints, holder }))
    }

    /// What was asked for cannot be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// The command line asks for something that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Its time or its budget is used up.
    pub(crate) fn used_up(message: impl Into<String>) -> Self {
        Self::new(Exit::UsedUp, message)
    }

    /// It was stopped.
    pub(crate) fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Exit::Cancelled, message)
    }

    /// It is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, message)
    }

    /// The store is not there or cannot be read.
    pub(crate) fn store(message: impl Into<String>) -> Self {
        Self::new(Exit::Store, message)
    }

    /// The configuration is wrong.
    pub(crate) fn configuration(problems: Problems) -> Self {
        let message =
            format!("the configuration is not valid: {}", human::count(problems.errors() as u64, "error"));
        Self::failed(message).of(FileProblems::Configuration(problems))
    }

    /// A policy is wrong.
    pub(crate) fn policy(message: &str, errors: PolicyErrors) -> Self {
        Self::failed(message).of(FileProblems::Policy(errors))
    }

    /// This is wrong with a file.
    pub(crate) fn of(mut self, problems: FileProblems) -> Self {
        if let Self::Reported(report) = &mut self {
            report.problems = Some(problems);
        }
        self
    }

    /// What the user can do.
    pub(crate) fn hints(&self) -> &[String] {
        match self {
            Self::Reported(report) => &report.hints,
            Self::Ended(_) | Self::ClosedPipe => &[],
        }
    }

    /// Who works on the run, if nothing was done because somebody else does.
    pub(crate) fn holder(&self) -> Option<&str> {
        match self {
            Self::Reported(report) => report.holder.as_deref(),
            Self::Ended(_) | Self::ClosedPipe => None,
        }
    }

    /// What went wrong, in one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Reported(report) => report.message.clone(),
            Self::Ended(_) => "it did not come to its end".to_owned(),
            Self::ClosedPipe => "nobody reads the results".to_owned(),
        }
    }

    /// The same for a program. What needs no words has none.
    pub(crate) fn as_json(&self) -> Value {
        match self {
            Self::Reported(report) => report.as_json(None),
            Self::Ended(_) | Self::ClosedPipe => Value::Null,
        }
    }

    /// What stands in `error` of a document that says more than that.
    pub(crate) fn error(&self) -> Value {
        match self {
            Self::Reported(report) => report.error(),
            Self::Ended(_) | Self::ClosedPipe => Value::Null,
        }
    }

    /// Adds a line below the message.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        if let Self::Reported(report) = &mut self {
            report.details.push(detail.into());
        }
        self
    }

    /// Adds something the user can do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Reported(report) = &mut self {
            report.hints.push(hint.into());
        }
        self
    }

    /// Adds what was probably meant by a name that is not there; if nothing is near it, where those are that there are.
    pub(crate) fn meant<'a>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        listed: &str,
    ) -> Self {
        match nearest(name, known) {
            Some(near) => self.hint(format!("did you mean `{}`?", one_line(near))),
            None => self.hint(listed),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::failed(format!("standard output cannot be written: {error}"))
            .hint("check where it is redirected to, and that the disk is not full")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::NotFound { .. } | StoreError::NoSuchQuestion { .. } => Exit::NotFound,
            StoreError::Newer { .. }
            | StoreError::Older { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Failed(_) => Exit::Store,
            _ => Exit::Failed,
        };
        let mut failure = Self::new(exit, error.to_string());
        if let (Self::Reported(report), StoreError::Busy { holder, .. }) = (&mut failure, &error) {
            report.holder = Some(holder.clone());
        }
        match error {
            StoreError::NotFound { .. } => failure.hint("`convoke runs` lists the runs there are"),
            StoreError::Older { .. } => {
                failure.hint("`convoke answer`, `convoke fork` and `convoke resume` open it for writing")
            }
            _ => failure,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            other => Self::failed(other.to_string()),
        }
    }
}
