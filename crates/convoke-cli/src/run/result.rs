//! Gives the result of a run on standard output, what to do next on standard error, and the exit code.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use convoke_core::{Error, ModelErrorKind, Outcome, RunId, RunStatus, StoreError, Timestamp};
use convoke_goals::{GoalState, Values};
use convoke_history::json::{QuestionView, SpentView};
use convoke_history::{AwaitedMail, History, OpenQuestion};
use convoke_host::{Definition, HostError, Manifest, PreparedRun};
use serde::Serialize;
use serde_json::Value;

use super::arguments::Format;
use super::divergence;
use crate::failure::{Exit, Failure};
use crate::fork_advice;
use crate::human;
use crate::render::{self, awaited_calls};
use crate::session::{Session, named_policy, secret_options};
use crate::terminal::text;

/// The whole result as JSON.
#[derive(Serialize)]
struct RunDocument<'a> {
    /// Only where it is one line of several.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    run: &'a RunId,
    status: RunStatus,
    /// What the text form prints; `null` if it has not completed.
    result: Option<String>,
    outputs: &'a Values,
    unconverged: &'a BTreeMap<String, u32>,
    /// Outputs that were declared and did not come, by the goal that was to give them.
    missing: &'a BTreeMap<String, Vec<String>>,
    /// Goals that a limit was the end of, and which.
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
    error: Value,
}

/// What else there is to say about a run than its outcome.
#[derive(Debug, Default)]
pub(crate) struct RunNotes {
    /// What sets the limit that was reached, if that is a policy.
    pub(crate) policys: Option<String>,
    /// Why it was cancelled for good, if it was that and not just stopped.
    pub(crate) cancelled: Option<String>,
    /// What was said when it began.
    pub(crate) notes: Vec<String>,
    /// Whether only what must be said is.
    pub(crate) is_quiet: bool,
    /// What was said last to the person at the terminal.
    pub(crate) said: Option<String>,
}

/// Gives the result of a run of a file, and says what can be done if it is not what was hoped for.
pub(crate) async fn give(
    session: &mut Session<'_>,
    prepared: &PreparedRun,
    format: Format,
    outcome: &Outcome<Value>,
    about: RunNotes,
) -> Result<(), Failure> {
    let source = RunSource { definition: &**prepared.definition(), manifest: prepared.manifest() };
    give_of(session, source, format, outcome, about).await
}

/// What a run is of.
#[derive(Clone, Copy)]
pub(crate) struct RunSource<'a> {
    pub(crate) definition: &'a dyn Definition,
    pub(crate) manifest: &'a Manifest,
}

/// What a run came to, whoever is told and how.
pub(crate) struct RunReport {
    state: GoalState,
    result: Option<String>,
    /// The questions that nobody has answered yet.
    open: Vec<OpenQuestion>,
    /// What is on record of it, if it waits.
    history: Option<History>,
    /// The command that goes on with it.
    resume: String,
    /// Why it did not complete; `None` if it did, or waits for somebody.
    pub(crate) failure: Option<Failure>,
}

impl RunReport {
    pub(crate) async fn of(
        session: &Session<'_>,
        source: RunSource<'_>,
        outcome: &Outcome<Value>,
        about: &RunNotes,
    ) -> Result<Self, Failure> {
        // What other kinds of files come to is in their result alone.
        let state: GoalState = match source.definition.agentfile() {
            Some(_) => serde_json::from_value(outcome.state.clone())
                .map_err(|source| HostError::Unreadable { run: outcome.run.clone(), source })?,
            None => GoalState::default(),
        };
        let is_completed = outcome.status == RunStatus::Completed;
        let result = if is_completed { source.definition.result(&outcome.state) } else { None };
        let open = match outcome.status {
            RunStatus::Suspended => unanswered(session, &outcome.run).await?,
            _ => Vec::new(),
        };
        let history = match outcome.status {
            RunStatus::Suspended => Some(History::load(&*session.store, &outcome.run).await?),
            _ => None,
        };
        let resume = session.resume(&outcome.run, source.manifest);
        let failure = failure(session, source, outcome, about, &resume).await?;
        Ok(Self { state, result, open, history, resume, failure })
    }

    /// The document of it; `kind` where it is one line of several.
    pub(crate) fn document<'a>(
        &'a self,
        kind: Option<&'static str>,
        outcome: &'a Outcome<Value>,
        about: &'a RunNotes,
    ) -> impl Serialize + use<'a> {
        let state = &self.state;
        RunDocument {
            kind,
            run: &outcome.run,
            status: outcome.status,
            result: self.result.clone(),
            outputs: &state.outputs,
            unconverged: &state.unconverged,
            missing: &state.missing,
            cut_short: &state.cut_short,
            skipped: &state.skipped,
            questions: self.open.iter().map(|open| QuestionView::new(open, Timestamp::now())).collect(),
            awaits: self.history.as_ref().map(History::awaited).unwrap_or_default(),
            spent: SpentView::from(&outcome.totals),
            notes: &about.notes,
            error: self.failure.as_ref().map_or(Value::Null, Failure::error),
        }
    }

    /// What it lacks, also if it is done.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let GoalState { unconverged, missing, cut_short, .. } = &self.state;
        let unconverged = unconverged.iter().map(|(name, cap)| {
            let iterations = human::count(u64::from(*cap), "iteration");
            format!("`{name}` came to its limit of {iterations} without an end")
        });
        let missing = missing.iter().map(|(name, outputs)| {
            let outputs: Vec<String> = outputs.iter().map(|output| format!("`{output}`")).collect();
            format!("`{name}` answered without {}, which it was to give", outputs.join(", "))
        });
        let cut_short = cut_short.iter().map(|(name, reason)| format!("`{name}` was cut short: {reason}"));
        unconverged.chain(missing).chain(cut_short).collect()
    }
}

/// The same for a run that nothing was prepared for.
pub(crate) async fn give_of(
    session: &mut Session<'_>,
    source: RunSource<'_>,
    format: Format,
    outcome: &Outcome<Value>,
    about: RunNotes,
) -> Result<(), Failure> {
    let format = if session.json && format == Format::Text { Format::Json } else { format };
    let is_completed = outcome.status == RunStatus::Completed;
    let report = RunReport::of(session, source, outcome, &about).await?;
    let kind = (format == Format::Ndjson).then_some("result");
    let given = match format {
        Format::Json => session.output.json(&report.document(kind, outcome, &about)),
        Format::Ndjson => session.output.last_json_line(&report.document(kind, outcome, &about)),
        // Whoever has read it need not read it twice.
        Format::Text if about.said == report.result && io::stdout().is_terminal() => Ok(()),
        Format::Text => report.result.as_ref().map_or(Ok(()), |text| session.output.verbatim(text)),
    };
    match given.and_then(|()| session.output.flush()) {
        // What to do next is said all the same.
        Err(Failure::ClosedPipe) if !is_completed => {}
        given => given?,
    }
    for lack in report.lacks() {
        session.output.note(&lack);
    }
    let RunReport { open, history, resume, failure, .. } = report;
    match (outcome.status, failure) {
        (RunStatus::Cancelled, _) => {
            let note = match about.cancelled {
                Some(reason) => format!("run {} was cancelled {reason}", outcome.run),
                None => format!("run {} was stopped; go on with `{resume}`", outcome.run),
            };
            session.output.note(&note);
            Err(Failure::Ended(Exit::Cancelled))
        }
        (_, Some(failure)) => Err(failure),
        (RunStatus::Completed, None) => {
            if !about.is_quiet {
                let note = format!("run {}: {}", outcome.run, shows(session, &outcome.run));
                session.output.note(&note);
            }
            Ok(())
        }
        (_, None) => {
            let awaited = history.as_ref().map(History::awaited).unwrap_or_default();
            let calls = awaited_calls(session, &outcome.run, &awaited);
            let whom = if open.is_empty() && !calls.is_empty() { "a client" } else { "a person" };
            session.output.note(&format!("run {} waits for {whom}:", outcome.run));
            tell_questions(session, &open);
            calls.iter().for_each(|line| session.output.explained(line));
            if open.is_empty() {
                session.output.note(&format!("then go on with `{resume}`"));
                return Err(Failure::Ended(Exit::Suspended));
            }
            // Secrets cannot be given with an answer.
            let at_once = match secret_options(source.manifest).is_empty() {
                true => {
                    let named = named_policy(source.manifest).map(|option| format!(" {option}"));
                    format!(", or add `--resume{}` to the answer", named.unwrap_or_default())
                }
                false => String::new(),
            };
            session.output.note(&format!("then go on with `{resume}`{at_once}"));
            Err(Failure::Ended(Exit::Suspended))
        }
    }
}

/// Why a run did not complete, and what can be done about it; `None` if it did, or waits for somebody.
async fn failure(
    session: &Session<'_>,
    source: RunSource<'_>,
    outcome: &Outcome<Value>,
    about: &RunNotes,
    resume: &str,
) -> Result<Option<Failure>, Failure> {
    if matches!(outcome.status, RunStatus::Completed | RunStatus::Suspended) {
        return Ok(None);
    }
    let message = match &outcome.error {
        Some(error) => told(session, source, outcome, error).await?,
        None => outcome.status.to_string(),
    };
    let failure = match outcome.status {
        RunStatus::Cancelled if about.cancelled.is_some() => return Ok(Some(Failure::cancelled(message))),
        RunStatus::Cancelled => {
            return Ok(Some(Failure::cancelled(message).hint(format!("go on with `{resume}`"))));
        }
        RunStatus::BudgetExhausted | RunStatus::TimedOut => Failure::used_up(message),
        _ => Failure::failed(message),
    };
    let hint = next_step(session, outcome, resume, about.policys.as_deref()).await?;
    let shows = shows(session, &outcome.run);
    Ok(Some(failure.detail(format!("run {}: {shows}", outcome.run)).hint(hint)))
}

/// How to look at a run.
fn shows(session: &Session<'_>, run: &RunId) -> String {
    format!("`{}` shows what it did", session.about("show", run, ""))
}

/// What went wrong, in words.
async fn told(
    session: &Session<'_>,
    source: RunSource<'_>,
    outcome: &Outcome<Value>,
    error: &Error,
) -> Result<String, Failure> {
    let Error::Diverged(divergence) = error.root() else { return Ok(error.to_string()) };
    let record = session.store.run(&outcome.run).await?;
    let began = record.and_then(|record| Manifest::of(&record));
    Ok(divergence::in_words(divergence, began.as_ref(), source))
}

/// What can be done about a run that did not complete.
async fn next_step(
    session: &Session<'_>,
    outcome: &Outcome<Value>,
    resume: &str,
    policys: Option<&str>,
) -> Result<String, Failure> {
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
                format!("the file sets this limit: change it there, and go on with `{resume} --changed-file`")
            }
            None => format!("go on with more: `{resume} --budget LIMITS`; what was used so far counts"),
        },
        (RunStatus::TimedOut, _) if is_the_files => format!(
            "go on with `{resume}`; if a TIMEOUT of the file is too short, change it there and add `--changed-file`"
        ),
        (RunStatus::TimedOut, _) => {
            format!("go on with more: `{resume} --timeout TIME`; the time it was at work so far counts")
        }
        (RunStatus::Halted, _) | (_, Some(Error::InDoubt(_))) => {
            let history = History::load(&*session.store, &outcome.run).await?;
            fork_advice::otherwise(session, &history)
                .unwrap_or_else(|| "resuming it comes to the same end".to_owned())
        }
        (_, Some(Error::Diverged(divergence))) => {
            let history = History::load(&*session.store, &outcome.run).await?;
            divergence::otherwise(session, divergence, &history, resume)
        }
        (_, Some(Error::Store(StoreError::Fenced { run, .. }))) => {
            let attach = session.about("attach", run, "");
            format!("another process goes on with it: `{attach}` watches it")
        }
        (_, Some(Error::Model(error))) if error.kind == ModelErrorKind::Truncated => format!(
            "`{resume}` asks for that reply anew, which helps if the model repeated itself, and `--model` asks another; \
             `max_tokens` of a profile in convoke.toml allows longer replies to agents that require the profile"
        ),
        _ => format!("once the cause is mended, go on with `{resume}`: nothing that was done is done again"),
    })
}

/// The questions of a run that nobody has answered yet.
pub(crate) async fn unanswered(session: &Session<'_>, run: &RunId) -> Result<Vec<OpenQuestion>, Failure> {
    let mut open = OpenQuestion::read(&*session.store, Some(run)).await?;
    open.retain(|question| question.settled(Timestamp::now()).is_none());
    Ok(open)
}

/// Questions a run waits for, all that they are about, and the commands that answer them: nobody is to approve what they have
/// not seen.
pub(crate) fn tell_questions(session: &mut Session<'_>, questions: &[OpenQuestion]) {
    for open in questions {
        let question = &open.pending.question;
        session.output.explanation(&text::clean(&format!("  {}", text::one_line(&question.title))));
        let all = session.about("show", &open.pending.run, "--full");
        let more = format!("`{all}` shows all of it");
        for line in render::question_brief(question, session.output.width(), &more) {
            session.output.explained(&line);
        }
        for command in session.answering(open) {
            session.output.explanation(&text::clean(&format!("    {command}")));
        }
    }
}
