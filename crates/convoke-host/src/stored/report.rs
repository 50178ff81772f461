//! The report of a run of a file, as a document and in words, and what can be done if it is not what was hoped for.

use std::collections::BTreeMap;

use convoke_core::{Error, LostResult, ModelErrorKind, Outcome, RunId, RunStatus, StoreError};
use convoke_goals::{GoalError, GoalState, Values};
use convoke_graph::GraphFault;
use convoke_history::json::{QuestionView, SpentView};
use convoke_history::{AwaitedMail, History, OpenQuestion, human};
use convoke_machine::conversation::UnfitValue;
use serde::Serialize;
use serde_json::Value;

use super::commands::named_policy;
use super::{StoredRuns, divergence};
use crate::failure::{FailureKind, FailureReport};
use crate::{Definition, HostError, Manifest, PreparedRun, is_cancelled_for_good};

/// The note about a run in which a model did not say what it used.
pub const ESTIMATED: &str = "a model did not say how many tokens it used: they are estimated from what it was sent and what came \
                             back, and limits hold by that";

/// The note about something that a limit was the end of.
#[must_use]
pub fn cut_short_note(name: &str, reason: &str) -> String {
    format!("`{name}` was cut short: {reason}")
}

/// The source of a run.
#[derive(Clone, Copy)]
pub struct RunSource<'a> {
    /// The file.
    pub definition: &'a dyn Definition,
    /// What is kept of it for going on.
    pub manifest: &'a Manifest,
}

impl<'a> From<&'a PreparedRun> for RunSource<'a> {
    fn from(prepared: &'a PreparedRun) -> Self {
        Self { definition: &**prepared.definition(), manifest: prepared.manifest() }
    }
}

/// The report of what a run came to, whoever is told and how.
#[non_exhaustive]
pub struct RunReport<'a> {
    outcome: &'a Outcome<Value>,
    state: GoalState,
    /// The result as text; `None` if it has not completed.
    pub result: Option<String>,
    /// The questions that nobody has answered yet.
    pub open: Vec<OpenQuestion>,
    /// What is on record of it, if it waits.
    pub history: Option<History>,
    /// Why it did not complete, and what can be done about it; `None` if it did, or waits for somebody.
    pub failure: Option<FailureReport>,
    /// What can be looked at or done next, whatever it came to.
    pub next: String,
}

/// The whole result as JSON.
#[derive(Serialize)]
struct RunDocument<'a, E> {
    /// Only where it is one line of several.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    run: &'a RunId,
    status: RunStatus,
    /// What the text form prints; `null` if it has not completed.
    result: Option<&'a str>,
    outputs: &'a Values,
    unconverged: &'a BTreeMap<String, u32>,
    /// Outputs that were declared and did not come, by the goal that was to give them.
    missing: &'a BTreeMap<String, Vec<String>>,
    /// Goals and nodes that a limit was the end of, and which.
    cut_short: &'a BTreeMap<String, String>,
    skipped: &'a [String],
    /// What it waits for.
    questions: Vec<QuestionView<'a>>,
    /// The mail it waits for, where it is known what is expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaits: Vec<AwaitedMail<'a>>,
    spent: SpentView,
    /// What the user was told besides.
    notes: &'a [String],
    /// What went wrong and what to do about it, as where a run could not be started; `null` if it completed or waits.
    error: E,
}

impl RunReport<'_> {
    /// The document of it. `kind` is where it is one line of several, `error` what the door says of the [failure](Self::failure).
    pub fn document<'s, E: Serialize>(
        &'s self,
        kind: Option<&'static str>,
        notes: &'s [String],
        error: E,
    ) -> impl Serialize {
        let (outcome, state, now) = (self.outcome, &self.state, convoke_core::Timestamp::now());
        RunDocument {
            kind,
            run: &outcome.run,
            status: outcome.status,
            result: self.result.as_deref(),
            outputs: &state.outputs,
            unconverged: &state.unconverged,
            missing: &state.missing,
            cut_short: &state.cut_short,
            skipped: &state.skipped,
            questions: self.open.iter().map(|open| QuestionView::new(open, now)).collect(),
            awaits: self.history.as_ref().map(History::awaited).unwrap_or_default(),
            spent: SpentView::from(&outcome.totals),
            notes,
            error,
        }
    }

    /// Returns what it lacks, also if it is done.
    #[must_use]
    pub fn lacks(&self) -> Vec<String> {
        let GoalState { unconverged, missing, cut_short, .. } = &self.state;
        let unconverged = unconverged.iter().map(|(name, cap)| {
            let iterations = human::count(u64::from(*cap), "iteration");
            format!("`{name}` came to its limit of {iterations} without an end")
        });
        let missing = missing.iter().map(|(name, outputs)| {
            let outputs: Vec<String> = outputs.iter().map(|output| format!("`{output}`")).collect();
            format!("`{name}` answered without {}, which it was to give", outputs.join(", "))
        });
        let cut_short = cut_short.iter().map(|(name, reason)| cut_short_note(name, reason));
        unconverged.chain(missing).chain(cut_short).collect()
    }
}

impl StoredRuns {
    /// Says what a run came to. `policys` is what sets the limit that was reached, if that is a policy.
    ///
    /// # Errors
    /// If the store cannot be read, or what it came to cannot.
    pub async fn report<'a>(
        &self,
        source: RunSource<'_>,
        outcome: &'a Outcome<Value>,
        policys: Option<&str>,
    ) -> Result<RunReport<'a>, FailureReport> {
        // What other kinds of files come to is in their result alone.
        let state: GoalState = match source.definition.agentfile() {
            Some(_) => serde_json::from_value(outcome.state.clone())
                .map_err(|source| HostError::Unreadable { run: outcome.run.clone(), source })?,
            None => {
                let mut state = GoalState::default();
                state.cut_short = source.definition.cut_short(&outcome.state);
                state
            }
        };
        let (run, resume) = (&outcome.run, self.resume(&outcome.run, source.manifest));
        let mut report = RunReport {
            outcome,
            state,
            result: None,
            open: Vec::new(),
            history: None,
            failure: None,
            next: String::new(),
        };
        match outcome.status {
            RunStatus::Completed => {
                report.result = source.definition.result(&outcome.state);
                report.next = format!("run {run}: {}", self.shows(run));
            }
            RunStatus::Suspended => {
                report.open = self.unanswered(run).await?;
                report.history = Some(History::load(&*self.store, run).await?);
                // Secrets cannot be given with an answer.
                let at_once = match source.manifest.secret_options().is_empty() && !report.open.is_empty() {
                    true => format!(", or add `--resume{}` to the answer", named_policy(source.manifest)),
                    false => String::new(),
                };
                report.next = format!("then go on with `{resume}`{at_once}");
            }
            status => {
                let failure = FailureReport::new(kind_of_end(outcome), self.told(source, outcome).await?);
                let (failure, next) = match status {
                    RunStatus::Cancelled => match self.why_cancelled(outcome).await? {
                        Some(reason) => (failure, format!("run {run} was cancelled {reason}")),
                        None => (
                            failure.hint(format!("go on with `{resume}`")),
                            format!("run {run} was stopped; go on with `{resume}`"),
                        ),
                    },
                    _ if self.is_lost(run, outcome.error.as_ref()).await => {
                        let next = self.begin_anew(run);
                        (failure.hint(next.clone()), next)
                    }
                    _ => {
                        let next = self.remedy(source, outcome, &resume, policys).await?;
                        (failure.detail(format!("run {run}: {}", self.shows(run))).hint(next.clone()), next)
                    }
                };
                (report.failure, report.next) = (Some(failure), next);
            }
        }
        Ok(report)
    }

    /// Why a run was cancelled for good, if it was.
    async fn why_cancelled(&self, outcome: &Outcome<Value>) -> Result<Option<String>, FailureReport> {
        let record = self.store.run(&outcome.run).await?;
        let reason = match outcome.error.as_ref().map(Error::root) {
            Some(Error::Cancelled(reason)) => reason.to_string(),
            _ => "for good".to_owned(),
        };
        Ok(record.filter(is_cancelled_for_good).map(|_| reason))
    }

    /// What went wrong, in words.
    async fn told(&self, source: RunSource<'_>, outcome: &Outcome<Value>) -> Result<String, FailureReport> {
        let Some(error) = &outcome.error else { return Ok(outcome.status.to_string()) };
        let Error::Diverged(divergence) = error.root() else { return Ok(error.to_string()) };
        let record = self.store.run(&outcome.run).await?;
        let began = record.and_then(|record| Manifest::of(&record));
        Ok(divergence::in_words(divergence, began.as_ref(), source))
    }

    /// What can be done about a run that did not complete.
    async fn remedy(
        &self,
        source: RunSource<'_>,
        outcome: &Outcome<Value>,
        resume: &str,
        policys: Option<&str>,
    ) -> Result<String, FailureReport> {
        if let Some(lost) = outcome.error.as_ref().and_then(lost_result) {
            return Ok(self.saying_what_it_gave(lost, &History::load(&*self.store, &outcome.run).await?));
        }
        let root = outcome.error.as_ref().map(Error::root);
        // The command line sets limits on the whole run only.
        let is_the_files = match root {
            Some(Error::Budget(exhausted)) => !exhausted.owner.as_str().is_empty(),
            Some(Error::TimedOut(timed_out)) => !timed_out.owner.as_str().is_empty(),
            _ => false,
        };
        Ok(match (outcome.status, root) {
            (RunStatus::BudgetExhausted, _) => match policys {
                Some(limit) => format!(
                    "the policy sets this limit, {limit}: change it there, and go on with `{resume}`; what was used so far counts"
                ),
                None if is_the_files => {
                    format!(
                        "the file sets this limit: change it there, and go on with `{resume} --changed-file`"
                    )
                }
                None => format!("go on with more: `{resume} --budget LIMITS`; what was used so far counts"),
            },
            (RunStatus::TimedOut, _) if is_the_files => format!(
                "go on with `{resume}`; if a time limit of the file is too short, change it there and add `--changed-file`"
            ),
            (RunStatus::TimedOut, _) => {
                format!("go on with more: `{resume} --timeout TIME`; the time it was at work so far counts")
            }
            (RunStatus::Halted, _) | (_, Some(Error::InDoubt(_))) => {
                let history = History::load(&*self.store, &outcome.run).await?;
                self.fork_instead(&history).unwrap_or_else(|| "resuming it comes to the same end".to_owned())
            }
            (_, Some(Error::Diverged(divergence))) => {
                let history = History::load(&*self.store, &outcome.run).await?;
                self.past_divergence(divergence, &history, source, resume)
            }
            (_, Some(Error::Store(StoreError::Fenced { run, .. }))) => {
                let attach = self.about("attach", run, "");
                format!("another process goes on with it: `{attach}` watches it")
            }
            (_, Some(Error::Model(error))) if error.kind == ModelErrorKind::Truncated => format!(
                "`{resume}` asks for that reply anew, which helps if the model repeated itself, and `--model` asks another; \
                 `max_tokens` of a profile in convoke.toml allows longer replies to agents that require the profile"
            ),
            _ if outcome.error.as_ref().is_some_and(is_unassembled) => format!(
                "have another model put them together: `{resume} --model NAME` asks for that reply anew, nothing that was done is done again"
            ),
            _ if outcome.error.as_ref().is_some_and(is_out_of_turns) => format!(
                "raise `budgets.turns_per_goal` in convoke.toml, and go on with `{resume}`: its last turn is asked for anew, nothing \
                 that was done is done again"
            ),
            _ if outcome.error.as_ref().is_some_and(UnfitValue::is_behind) => format!(
                "resuming it as it is comes to the same end: begin anew with another input if that is wrong, or change the file and go on \
                 with `{resume} --changed-file`"
            ),
            _ if outcome.error.as_ref().is_some_and(is_overtaken) => format!(
                "go on with `{resume}`: it runs the whole command again, also what it did to other files, which was taken over; no other \
                  thing that was done is done again"
            ),
            _ if outcome.error.as_ref().is_some_and(GraphFault::is_behind) => format!(
                "change the file, and go on with `{resume} --changed-file`: nothing that was done is done again"
            ),
            _ => format!(
                "once the cause is mended, go on with `{resume}`: nothing that was done is done again"
            ),
        })
    }
}

/// Whether a step failed by a command of which some changes were lost to somebody else's.
#[cfg(target_os = "linux")]
fn is_overtaken(error: &Error) -> bool {
    use convoke_steps::StepsError;
    use convoke_tools::shell::was_overtaken;
    let category = error.category();
    error.causes().filter_map(|cause| cause.downcast_ref()).any(|cause| match cause {
        StepsError::ToolFailed { content, .. } => was_overtaken(category, content),
        _ => false,
    })
}

/// No commands are run here.
#[cfg(not(target_os = "linux"))]
fn is_overtaken(_: &Error) -> bool {
    false
}

/// The call behind a failure of which only a person can say what it gave.
fn lost_result(error: &Error) -> Option<&LostResult> {
    error.causes().find_map(|cause| cause.downcast_ref())
}

/// Whether a goal or an agent would have had an answer with more turns, perhaps.
fn is_out_of_turns(error: &Error) -> bool {
    error.downcast_ref::<GoalError>().is_some_and(GoalError::is_out_of_turns)
}

/// Whether the model that was to put answers together called a tool instead.
fn is_unassembled(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(GoalError::Unassembled { .. }))
}

/// The kind of failure that the end of a run is: where the store failed, that of the store.
fn kind_of_end(outcome: &Outcome<Value>) -> FailureKind {
    match outcome.error.as_ref().map(Error::root) {
        Some(Error::Store(failure)) => FailureReport::from(failure.clone()).kind,
        _ => kind_of(outcome.status),
    }
}

/// The kind of failure that such an end is.
pub(super) fn kind_of(status: RunStatus) -> FailureKind {
    match status {
        RunStatus::BudgetExhausted | RunStatus::TimedOut => FailureKind::UsedUp,
        RunStatus::Cancelled => FailureKind::Cancelled,
        _ => FailureKind::Failed,
    }
}
