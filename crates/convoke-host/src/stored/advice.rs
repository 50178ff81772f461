//! Advice about a stored run: what can be done about it, in words, with the commands that do it.

use convoke_core::store::RunRecord;
use convoke_core::{EffectKind, LostResult, RunId, RunStatus};
use convoke_history::{DisplayStatus, History, text};
use convoke_text::{shell_argument, shell_quoted};

use super::StoredRuns;
use super::report::kind_of;
use crate::failure::FailureReport;
use crate::{GoOnOptions, Host, HostError, Manifest, can_go_on, is_cancelled_for_good};

impl StoredRuns {
    /// Returns what to do next about a run that somebody looks at; `None` if there is nothing to do, or its questions say it.
    #[must_use]
    pub fn next_step(&self, history: &History) -> Option<String> {
        let record = &history.record;
        match record.status {
            RunStatus::Running if record.holder.is_none() => Some(self.to_go_on(record)),
            RunStatus::Suspended => self.waits_for(history),
            RunStatus::Running | RunStatus::Completed => None,
            _ if !can_go_on(record) => self.fork_instead(history),
            _ => {
                let (resume, fork) = (self.resuming(record), self.about("fork", &record.id, "--at N"));
                Some(format!("to try again what failed, {resume}; to try something else, `{fork}`"))
            }
        }
    }

    /// What can be done about a suspended run. What its questions say is said by them.
    fn waits_for(&self, history: &History) -> Option<String> {
        let record = &history.record;
        let resume = self.resuming(record);
        let is_settled = history.questions.iter().all(|open| open.settled(self.now).is_some());
        if !history.questions.is_empty() && is_settled {
            return Some(format!("nothing is left to answer: {resume}"));
        }
        if record.wake.is_some_and(|wake| wake <= self.now) {
            return Some(format!("what it waited for is there: {resume}"));
        }
        if !history.questions.is_empty() {
            return None;
        }
        if !self.awaited_calls(history, None).is_empty() {
            return Some(format!("once what it waits for was sent, {resume}"));
        }
        if let Some(channel) = record.channels.first() {
            let send = self.about("send", &record.id, &format!("{} JSON", shell_argument(channel)));
            return Some(format!("it waits to be sent something: `{send}`"));
        }
        match record.wake {
            Some(wake) => Some(format!("it sleeps until {wake}; then {resume}")),
            None => Some(format!("it can go on: {resume}")),
        }
    }

    /// How to let it go on.
    pub(super) fn to_go_on(&self, record: &RunRecord) -> String {
        format!("to let it go on, {}", self.resuming(record))
    }

    /// Returns how to have another end where resuming gives the same one: a run that a person or a supervisor ended has that decision in its
    /// journal, and one that was cancelled for good is resumed by nothing.
    #[must_use]
    pub fn fork_instead(&self, history: &History) -> Option<String> {
        let fork = |at: u64| self.about("fork", &history.record.id, &format!("--at {at}"));
        if is_cancelled_for_good(&history.record) {
            let fork = fork(history.last_seq() + 1);
            return Some(format!(
                "it was cancelled for good; `{fork}` makes a run that goes on from where it was"
            ));
        }
        let decisive = history.decisive_effect()?;
        let again = match decisive.kind {
            EffectKind::Ask => "in which that question is open again",
            _ => "in which that is decided anew",
        };
        let fork = fork(decisive.current().ended?.seq);
        Some(format!("resuming it comes to the same end; to decide otherwise, `{fork}` makes a run {again}"))
    }

    /// How to say what a call gave that nobody knows but a person.
    pub(super) fn saying_what_it_gave(&self, lost: &LostResult, history: &History) -> String {
        let effects = history.effects.iter().rev();
        let call =
            effects.filter(|effect| effect.path == lost.path).find_map(|effect| effect.current().ended);
        let at = call.map_or("N".to_owned(), |ended| ended.seq.to_string());
        let fork = |rest: &str| self.about("fork", &history.record.id, &format!("--at {at} {rest}"));
        let failed = shell_quoted(r#"{"content": "TEXT", "is_error": true}"#);
        format!(
            "resuming it comes to the same end; find out what it gave, and `{}` makes a run in which it gave this, or, if it failed, \
             `{}`",
            fork("--reply TEXT"),
            fork(&format!("--outcome {failed}"))
        )
    }

    /// What to do about a run that the store has lost.
    pub(super) fn begin_anew(&self, run: &RunId) -> String {
        format!(
            "this process reads nothing in {} any more. If run {run} is in what is there now, or once the file is back in its place, it can \
             be resumed, and goes on from what is in there; otherwise begin anew with `convoke run`",
            self.place
        )
    }

    /// Returns why a run did not complete that nobody works on any more, and what can be done about it; `None` if it did, or waits for
    /// somebody.
    #[must_use]
    pub fn why_stopped(&self, history: &History) -> Option<FailureReport> {
        let record = &history.record;
        let status = match DisplayStatus::of(record) {
            DisplayStatus::Status(RunStatus::Completed | RunStatus::Suspended) => return None,
            DisplayStatus::Idle => {
                let idle = FailureReport::failed(format!("nobody works on run `{}` any more", record.id));
                return Some(idle.hint(self.to_go_on(record)));
            }
            standing => standing.status(),
        };
        let error = history.ending.as_ref().and_then(|ending| ending.error.clone());
        let failure = FailureReport::new(kind_of(status), error.unwrap_or_else(|| status.to_string()));
        let hint = match can_go_on(record) {
            true => Some(self.to_go_on(record)),
            false => self.fork_instead(history),
        };
        Some(hint.into_iter().fold(failure, FailureReport::hint))
    }

    /// Refuses to go on with a run of another program, or one that was ended by a decision, and says what does; `changed` if it is to
    /// go on with another file.
    ///
    /// # Errors
    /// If it is such a run, or the store cannot be read.
    pub async fn must_go_on(&self, record: &RunRecord, changed: bool) -> Result<Manifest, FailureReport> {
        let Some(kept) = Manifest::of(record) else {
            let message = format!("run {} is not a run of an Agentfile, a pack or a graph", record.id);
            return Err(FailureReport::failed(message).hint(self.resuming(record)));
        };
        if changed || record.status == RunStatus::Completed || can_go_on(record) {
            return Ok(kept);
        }
        Err(self.ended_for_good(record).await?)
    }

    /// Says how a run was ended that nothing resumes, and what does instead.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn ended_for_good(&self, record: &RunRecord) -> Result<FailureReport, FailureReport> {
        let history = History::load(&*self.store, &record.id).await?;
        let why = history.ending.as_ref().and_then(|ending| ending.error.clone()).unwrap_or_default();
        // It begins with what it was: halted, or cancelled.
        let failure = FailureReport::new(kind_of(record.status), format!("run {} was {why}", record.id));
        Ok(self.fork_instead(&history).into_iter().fold(failure, FailureReport::hint))
    }

    /// Refuses to go on with a run that does not fit here, and says what does.
    ///
    /// # Errors
    /// If it does not.
    pub fn must_fit(
        &self,
        host: &Host,
        record: &RunRecord,
        kept: &Manifest,
        options: &GoOnOptions,
    ) -> Result<(), FailureReport> {
        host.must_fit(record, kept, options).map_err(|error| {
            let failure = FailureReport::usage(text::clean(&error.to_string()));
            match error {
                HostError::Elsewhere { there, .. } => {
                    let again = self.resume_from(&record.id, kept);
                    if there.is_gone() {
                        return failure
                            .hint(format!("to let the run work in this folder, add `--here` to `{again}`"));
                    }
                    let folder = shell_quoted(&there.here.display().to_string());
                    failure.hint(format!("go on there: `cd {folder} && {again}`")).hint(format!(
                        "if that folder is this one now, or the run is to work here: add `--here` to `{again}`"
                    ))
                }
                HostError::PolicyToBeNamed { .. } => failure.hint(format!(
                    "`{}` goes on under it; another one may be named as well",
                    self.resume(&record.id, kept)
                )),
                other => other.into(),
            }
        })
    }
}
