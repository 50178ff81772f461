//! Errors of stores.

use super::RunStatus;
use crate::{Answer, RunId};

/// An error of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such run.
    #[error("there is no run `{run}` in this store")]
    NotFound {
        /// The run asked for.
        run: RunId,
    },
    /// The id is taken.
    #[error("run `{run}` exists already: resume it, or choose another id")]
    Exists {
        /// The run.
        run: RunId,
    },
    /// Somebody else is working on it.
    #[error("run `{run}` is being worked on by {holder}: wait for it, or take it over")]
    Busy {
        /// The run.
        run: RunId,
        /// Host and process.
        holder: String,
    },
    /// Somebody else has taken the run over.
    #[error(
        "run `{run}` was taken over by another writer (claim {current}, ours was {ours}); nothing was written"
    )]
    Fenced {
        /// The run.
        run: RunId,
        /// The claim the write was made under.
        ours: u64,
        /// The claim in force.
        current: u64,
    },
    /// An entry's number does not follow the last one's.
    #[error(
        "run `{run}`: entry {found} does not follow entry {expected}-1; an earlier write of this lease failed"
    )]
    Gap {
        /// The run.
        run: RunId,
        /// The number that would have followed.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The question is not open.
    #[error("run `{run}` has no open question `{question}`; it may have been answered already")]
    NoSuchQuestion {
        /// The run.
        run: RunId,
        /// The question asked for.
        question: String,
    },
    /// The question is open, and what was answered before this settles it.
    #[error("question `{question}` of run `{run}` was answered already{}: this answer was not taken", by(.verdict))]
    Answered {
        /// The run.
        run: RunId,
        /// The question.
        question: String,
        /// What counts.
        verdict: Box<Answer>,
    },
    /// A run that is over for good takes no mail.
    #[error("run `{run}` is {status} and takes no mail")]
    Over {
        /// The run.
        run: RunId,
        /// How it ended.
        status: RunStatus,
    },
    /// No channel has such a name.
    #[error(
        "`{name}` cannot be the name of a channel: take 1 to 200 bytes without control characters that do not begin with \
         `convoke:`"
    )]
    NoChannel {
        /// The name, as far as one may be long.
        name: String,
    },
    /// The answer does not fit the question.
    #[error(transparent)]
    Unfit(#[from] crate::ask::InvalidAnswer),
    /// The store was written by a newer Convoke.
    #[error(
        "{store} has schema version {found}, this Convoke understands up to {supported}: upgrade Convoke; the store was not touched"
    )]
    Newer {
        /// Which store.
        store: String,
        /// Its version.
        found: i64,
        /// The newest version understood.
        supported: i64,
    },
    /// The store was written by an older Convoke, and may not be brought up to date because it was opened for reading.
    #[error(
        "{store} has schema version {found}, this Convoke reads version {supported}, and reading changes nothing: open it \
         once for writing, which brings it up to date"
    )]
    Older {
        /// Which store.
        store: String,
        /// Its version.
        found: i64,
        /// The version that can be read.
        supported: i64,
    },
    /// What is there is not a Convoke store, or is damaged.
    #[error(
        "{store} is damaged or not a Convoke store: {problem}; it was not touched. Restore it from a backup, or name another file"
    )]
    Corrupt {
        /// Which store.
        store: String,
        /// What is wrong.
        problem: String,
    },
    /// Whoever opens the store now finds another one, or none: what is written to the one at hand is lost. Nothing of it may be opened
    /// again while this process has it, for what both keep beside their files would be mixed.
    #[error("the store failed: {0}")]
    Replaced(String),
    /// The store itself failed (disk full, connection lost).
    #[error("the store failed: {0}")]
    Failed(String),
}

fn by(verdict: &Answer) -> String {
    if verdict.by.is_empty() { String::new() } else { format!(" by {}", verdict.by) }
}
