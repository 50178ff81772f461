//! Finds the run or the question that somebody means.

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{Error, InvalidRunId, PendingQuestion, RunId, Store, StoreError};
use convoke_history::{DisplayStatus, human, text};
use convoke_store::SqliteStore;

use super::StoredRuns;
use crate::failure::FailureReport;
use crate::{Manifest, can_go_on};

/// So many candidates are listed at most.
const CANDIDATES: usize = 10;

/// So much of what a call is made with is shown, in characters, where several are asked about.
const SHOWN_ARGUMENTS: usize = 120;

/// The word for the newest run.
pub const LAST: &str = "last";

/// Reads the id of a run that is to be made.
///
/// # Errors
/// If it could not be told from a word with a meaning, or is none.
pub fn new_run_id(text: &str) -> Result<RunId, String> {
    match text {
        LAST => Err("`last` means the newest run wherever a run is named: choose another id".to_owned()),
        option if option.starts_with('-') => {
            Err("what begins with `-` is an option wherever a run is named: choose another id".to_owned())
        }
        id => id.parse().map_err(|error: InvalidRunId| error.to_string()),
    }
}

impl StoredRuns {
    /// Finds the run with this id, or the only one whose id begins like this, or the [last](LAST) one.
    ///
    /// # Errors
    /// If there is none, or more than one, or the store cannot be read.
    pub async fn find(&self, wanted: &str) -> Result<RunRecord, FailureReport> {
        if wanted == LAST {
            let query = RunQuery { limit: Some(1), ..RunQuery::default() };
            return self.store.runs(&query).await?.pop().ok_or_else(|| {
                FailureReport::not_found(format!("there is no last run: {} has no runs yet", self.place))
            });
        }
        if let Ok(id) = wanted.parse()
            && let Some(record) = self.store.run(&id).await?
        {
            return Ok(record);
        }
        let (id_prefix, limit) = (Some(wanted.to_owned()), Some(CANDIDATES + 1));
        let query = RunQuery { id_prefix, limit, ..RunQuery::default() };
        // No id has such characters, and none is nothing.
        let is_possible = wanted.is_ascii() && !wanted.is_empty();
        let mut found = if is_possible { self.store.runs(&query).await? } else { Vec::new() };
        if found.len() > 1 {
            return Err(self.ambiguous(wanted, &found));
        }
        found.pop().ok_or_else(|| {
            let wanted = text::one_line(wanted);
            self.no_run(format!("there is no run `{wanted}` in {}", self.place))
        })
    }

    /// Whether whoever opens the file now does not find this run in it, since the store failed at the end of the run.
    pub(super) async fn is_lost(&self, run: &RunId, error: Option<&Error>) -> bool {
        match error.map(Error::root) {
            Some(Error::Store(StoreError::Replaced(_))) => true,
            Some(Error::Store(_)) => match SqliteStore::open_read_only(&self.place) {
                Ok(store) => !store.run(run).await.is_ok_and(|found| found.is_some()),
                Err(_) => true,
            },
            _ => false,
        }
    }

    /// Finds the newest run of a file that can go on, and on which nobody works.
    ///
    /// # Errors
    /// If there is none, or the store cannot be read.
    pub async fn newest(&self) -> Result<RunRecord, FailureReport> {
        let runs = self.store.runs(&RunQuery::default()).await?;
        let can = |record: &RunRecord| {
            record.holder.is_none() && can_go_on(record) && Manifest::of(record).is_some()
        };
        runs.into_iter().find(can).ok_or_else(|| {
            self.no_run(format!("no run of an Agentfile in {} is left to be resumed", self.place))
        })
    }

    /// Reports that there is a run of this id already, where a new one was to have it.
    pub fn taken(&self, run: &RunId) -> FailureReport {
        let resume = self.about("resume", run, "");
        FailureReport::failed(format!("there is a run `{run}` already"))
            .hint(format!("choose another id, or go on with that one: `{resume}`"))
    }

    fn no_run(&self, message: String) -> FailureReport {
        let list = self.command("runs");
        FailureReport::not_found(message).hint(format!("`{list}` lists the runs there are"))
    }

    fn ambiguous(&self, wanted: &str, found: &[RunRecord]) -> FailureReport {
        let candidate = |record: &RunRecord| {
            let (workflow, started) =
                (text::one_line(&record.workflow), human::ago(record.created, self.now));
            format!("{}  {workflow}, {}, {started}", record.id, DisplayStatus::of(record).name())
        };
        let more = (found.len() > CANDIDATES).then(|| "and more".to_owned());
        FailureReport::not_found(format!("more than one run begins with `{wanted}`"))
            .detailed(found.iter().take(CANDIDATES).map(candidate).chain(more))
            .hint("write more of the id")
    }

    /// Finds the open question of a run whose id begins like this; without one, the only open question there is.
    ///
    /// # Errors
    /// If there is none, or more than one, or the store cannot be read.
    pub async fn question(
        &self,
        run: &RunRecord,
        wanted: Option<&str>,
    ) -> Result<PendingQuestion, FailureReport> {
        let open = self.store.questions(Some(&run.id)).await?;
        let id = &run.id;
        if open.is_empty() {
            let list = self.command("questions");
            let status = DisplayStatus::of(run);
            let message = format!("run `{id}` has no open question; it is {}", status.name());
            let goes_on = matches!(status, DisplayStatus::Idle).then(|| self.to_go_on(run));
            let failure = goes_on.into_iter().fold(FailureReport::not_found(message), FailureReport::hint);
            return Err(failure.hint(format!("`{list}` lists all open questions")));
        }
        let fits =
            |pending: &&PendingQuestion| wanted.is_none_or(|start| pending.id.as_str().starts_with(start));
        let found: Vec<&PendingQuestion> = open.iter().filter(fits).collect();
        if let [only] = *found {
            return Ok(only.clone());
        }
        let (failure, candidates) = match wanted {
            None => {
                let message = format!("run `{id}` has {} open questions: say which", open.len());
                (FailureReport::usage(message), found)
            }
            Some(start) if found.is_empty() => {
                let start = text::one_line(start);
                let message = format!("run `{id}` has no open question `{start}`; open are:");
                (FailureReport::not_found(message), open.iter().collect())
            }
            Some(start) => {
                let message = format!("more than one open question of run `{id}` begins with `{start}`");
                (FailureReport::not_found(message), found)
            }
        };
        Err(failure.detailed(candidates.into_iter().map(candidate)).hint(format!(
            "the first digits of a question's id are enough; `{}` shows all there is to each",
            self.command("questions")
        )))
    }
}

/// A question as one of several, with what tells it from others of its title.
fn candidate(pending: &PendingQuestion) -> String {
    let PendingQuestion { id, question, path, .. } = pending;
    let arguments = question.subject.get("arguments").map(ToString::to_string).unwrap_or_default();
    let (shown, left) = text::beginning(&arguments, 1, SHOWN_ARGUMENTS);
    let more = if left > 0 { "…" } else { "" };
    let with = if shown.is_empty() { "" } else { " with " };
    let about = format!("{}{with}{shown}{more}, at {path}", question.title);
    format!("{id}  {}", text::one_line(&about))
}
