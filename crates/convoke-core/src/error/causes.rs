//! The error types inside [`Error`](crate::Error), and their messages.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::ask::PendingQuestion;
use crate::journal::EffectKind;
use crate::{Path, RunId, Timestamp};

/// A step failed, seen from its parent. One that was only stopped has not failed, and is not said to have.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}{source}", if source.is_stop() { String::new() } else { format!("step `{step}` failed: ") })]
pub struct StepError {
    /// The step's name.
    pub step: Box<str>,
    /// Where it is.
    pub path: Path,
    /// Whether the run's failure policy has had its say already.
    pub judged: bool,
    /// What had failed as well before it could be cancelled, as in [`BranchErrors::beside`].
    pub beside: Vec<BranchFailure>,
    /// Why it failed.
    pub source: Error,
}

/// The failures of several branches of a fan-out, in declared order.
#[derive(Debug, Clone, Default)]
pub struct BranchErrors {
    /// The failed branches.
    pub failures: Vec<BranchFailure>,
    /// Those that had failed as well before they could be cancelled, when the others had decided the outcome. Which they are
    /// depends on the moment, and a replay does not find them again: no step may go by them, only the end of the run.
    pub beside: Vec<BranchFailure>,
}

/// One failed branch.
#[derive(Debug, Clone)]
pub struct BranchFailure {
    /// The branch's name.
    pub branch: Box<str>,
    /// Where it is.
    pub path: Path,
    /// Why it failed.
    pub error: Error,
}

impl fmt::Display for BranchErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failures.as_slice() {
            [] => formatter
                .write_str("not enough branches succeeded, though none failed; check what the join needs"),
            [one] => write!(formatter, "branch `{}` failed: {}", one.branch, one.error),
            many => {
                let names: Vec<_> = many.iter().map(|failure| &*failure.branch).collect();
                write!(
                    formatter,
                    "{} errors in branches {}; the first: {}",
                    many.len(),
                    names.join(", "),
                    many[0].error
                )
            }
        }
    }
}

impl StdError for BranchErrors {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.failures.first().map(|failure| &failure.error as _)
    }
}

/// A time limit that ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{} did not finish within {limit:?}; give it more time, or less to do", owner.in_words())]
pub struct TimedOut {
    /// The scope whose limit it was.
    pub owner: Path,
    /// The limit.
    pub limit: Duration,
}

/// The run waits for answers, for mail, or for time to pass.
#[derive(Debug, Clone, Default, thiserror::Error)]
#[error("{}", self.words())]
#[non_exhaustive]
pub struct Suspension {
    /// The open questions, in the order they were asked.
    pub questions: Vec<PendingQuestion>,
    /// The channels it waits for mail on.
    pub channels: Vec<String>,
    /// When what sleeps in it goes on.
    pub until: Option<Timestamp>,
}

impl Suspension {
    /// Joins what several suspensions wait for.
    #[must_use]
    pub fn together<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut together = Self::default();
        for one in all {
            together.questions.extend(one.questions.iter().cloned());
            let channels = one.channels.iter().filter(|channel| !together.channels.contains(channel));
            let channels: Vec<String> = channels.cloned().collect();
            together.channels.extend(channels);
            together.until = together.until.into_iter().chain(one.until).min();
        }
        together
    }

    fn words(&self) -> String {
        let titles: Vec<&str> = self.questions.iter().map(|pending| &*pending.question.title).collect();
        let answers = (!titles.is_empty())
            .then(|| format!("waiting for {} answer(s): {}", titles.len(), titles.join("; ")));
        let mail = (!self.channels.is_empty())
            .then(|| format!("waiting for mail on `{}`", self.channels.join("`, `")));
        let time = self.until.map(|until| format!("sleeping until {until}"));
        answers.into_iter().chain(mail).chain(time).collect::<Vec<_>>().join("; ")
    }
}

/// On replay, the code asked for something else than it had before.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "the {effect} effect {ordinal} at `{path}` differs from what the journal recorded; the code or its input has \
     changed. Recorded: {recorded}. Asked now: {asked}. Run it with the code that began it, or fork the run before \
     this effect"
)]
pub struct Divergence {
    /// Where.
    pub path: Path,
    /// The effect's number there.
    pub ordinal: u32,
    /// What is asked for now.
    pub effect: EffectKind,
    /// The recorded request, as JSON (cut if long).
    pub recorded: String,
    /// The request made now, as JSON (cut if long).
    pub asked: String,
}

/// A tool call began before a crash and nobody knows whether it took effect.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "`{tool}` at `{path}` was called before a crash and may or may not have acted (key {key}). Check, then fork the \
     run at this effect with the outcome, or declare the tool idempotent, or give it a reconcile hook"
)]
pub struct InDoubt {
    /// The tool or custom effect.
    pub tool: String,
    /// Where.
    pub path: Path,
    /// The key it was called with.
    pub key: String,
}

/// A run has effects of steps that its workflow no longer has: going on would perform them again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}. Put them back under their old names, go on with what began the run, or fork the run before them. A workflow in Rust can \
     also say what was renamed or is to go (`Workflow::renamed`, `Workflow::dropped`), with a higher version \
     (`Workflow::version`, `Workflow::migrate`)",
    self.in_words()
)]
#[non_exhaustive]
pub struct StepsMissing {
    /// The run.
    pub run: RunId,
    /// Its workflow.
    pub workflow: String,
    /// The outermost steps that are missing.
    pub missing: Vec<Path>,
    /// The outermost steps that it has now and had not.
    pub added: Vec<Path>,
}

/// So many steps a message names.
const NAMED: usize = 5;

impl StepsMissing {
    /// Returns what is missing, without what can be done about it.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { run, workflow, missing, added } = self;
        let added = match added.is_empty() {
            true => String::new(),
            false => format!(" (new in it: {})", listed(added)),
        };
        let missing = listed(missing);
        format!(
            "run `{run}` has effects of steps that `{workflow}` no longer has: {missing}{added}. Going on would perform them again"
        )
    }
}

fn listed(paths: &[Path]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
