//! Failures of commands, and the exit codes they end with.

use std::io;
use std::process::ExitCode;

use convoke_config::{EditError, Problems};
use convoke_core::{Error, StoreError};
use convoke_host::chat::ChatError;
use convoke_host::{FailureKind, FailureReport, FileError, HostError, InvalidAnswer, InvalidInputs};
use convoke_knowledge::KnowledgeError;
use convoke_package::{KeyError, PackageError};
use convoke_weights::WeightsError;
use serde_json::{Value, json};

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

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Usage => Self::Usage,
            FailureKind::NotFound => Self::NotFound,
            FailureKind::Store => Self::Store,
            FailureKind::Cancelled => Self::Cancelled,
            FailureKind::UsedUp => Self::UsedUp,
            _ => Self::Failed,
        }
    }
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
    Reported(Box<FailureReport>),
}

impl Failure {
    /// What was asked for cannot be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        FailureReport::failed(message).into()
    }

    /// The command line asks for something that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        FailureReport::usage(message).into()
    }

    /// It is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        FailureReport::not_found(message).into()
    }

    /// What there is to tell the user.
    pub(crate) fn report(&self) -> Option<&FailureReport> {
        match self {
            Self::Reported(report) => Some(report),
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

    /// Adds something the user can do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Reported(report) => report.hint(hint).into(),
            other => other,
        }
    }
}

/// What stands in `error` of a document; `null` if nothing went wrong.
pub(crate) fn error_json(report: Option<&FailureReport>) -> Value {
    report.map_or(Value::Null, |report| {
        let FailureReport { kind, problems, message, details, hints, .. } = report;
        let exit_code = Exit::from(*kind) as u8;
        let mut error =
            json!({"message": message, "details": details, "hints": hints, "exit_code": exit_code});
        if let Some(problems) = problems {
            error["problems"] = problems.document();
        }
        error
    })
}

impl From<FailureReport> for Failure {
    fn from(report: FailureReport) -> Self {
        Self::Reported(Box::new(report))
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

/// Errors of libraries, with what the host knows to do about them.
macro_rules! reported {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                FailureReport::from(error).into()
            }
        }
    )*};
}

reported!(
    ChatError,
    EditError,
    Error,
    FileError,
    HostError,
    InvalidAnswer,
    InvalidInputs,
    KeyError,
    KnowledgeError,
    PackageError,
    Problems,
    StoreError,
    WeightsError,
);
