//! What came of a run: the result on standard output, what to do next on standard error, and the exit code.

use std::collections::BTreeMap;

use convoke_core::history::OpenQuestion;
use convoke_core::store::Totals;
use convoke_core::{Error, Outcome, RunId, RunStatus, json_text};
use convoke_goals::agentfile::Agentfile;
use convoke_goals::{GoalState, Values};
use serde::Serialize;

use super::arguments::Format;
use super::job::Source;
use crate::failure::{Exit, Failure};
use crate::human;
use crate::session::Session;
use crate::terminal::text;

/// The whole result as JSON.
#[derive(Serialize)]
struct Document<'a> {
    /// Only where it is one line of several.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    run: &'a RunId,
    status: RunStatus,
    outputs: &'a Values,
    unconverged: &'a BTreeMap<String, u32>,
    /// Outputs that were declared and did not come, by the goal that was to give them.
    missing: &'a BTreeMap<String, Vec<String>>,
    /// Goals that a limit was the end of, and which.
    cut_short: &'a BTreeMap<String, String>,
    skipped: &'a [String],
    totals: Totals,
    error: Option<String>,
}

/// Gives the result of a run of a file, and says what can be done if it is not what was hoped for. `policys` is what sets the
/// limit that was reached, if that is a policy.
pub(crate) async fn give(
    session: &mut Session<'_>,
    source: &Source,
    format: Format,
    outcome: &Outcome<GoalState>,
    policys: Option<String>,
) -> Result<(), Failure> {
    let format = if session.json && format == Format::Text { Format::Json } else { format };
    let is_suspended = outcome.status == RunStatus::Suspended;
    let document = Document {
        kind: (format == Format::Ndjson).then_some("result"),
        run: &outcome.run,
        status: outcome.status,
        outputs: &outcome.state.outputs,
        unconverged: &outcome.state.unconverged,
        missing: &outcome.state.missing,
        cut_short: &outcome.state.cut_short,
        skipped: &outcome.state.skipped,
        totals: outcome.totals,
        error: outcome.error.as_ref().filter(|_| !is_suspended).map(ToString::to_string),
    };
    let given = match format {
        Format::Json => session.output.json(&document),
        Format::Ndjson => session.output.json_line(&document),
        Format::Text if outcome.status == RunStatus::Completed => {
            last_text(&source.file, &outcome.state).map_or(Ok(()), |text| session.output.verbatim(&text))
        }
        Format::Text => Ok(()),
    };
    match given.and_then(|()| session.output.flush()) {
        // What to do next is said all the same.
        Err(Failure::ClosedPipe) if outcome.status != RunStatus::Completed => {}
        given => given?,
    }
    for (name, cap) in &outcome.state.unconverged {
        session.output.note(&format!(
            "`{name}` came to its limit of {} without an end",
            human::count(u64::from(*cap), "iteration")
        ));
    }
    for (name, outputs) in &outcome.state.missing {
        let outputs: Vec<String> = outputs.iter().map(|output| format!("`{output}`")).collect();
        session
            .output
            .note(&format!("`{name}` answered without {}, which it was to give", outputs.join(", ")));
    }
    for (name, reason) in &outcome.state.cut_short {
        session.output.note(&format!("`{name}` was cut short: {reason}"));
    }
    let resume = session.resume(&outcome.run, &source.manifest);
    match outcome.status {
        RunStatus::Completed => Ok(()),
        RunStatus::Suspended => {
            tell_questions(session, outcome).await?;
            let named = source.manifest.named_policy().map(|option| format!(" {option}")).unwrap_or_default();
            session
                .output
                .note(&format!("then go on with `{resume}`, or add `--resume{named}` to the answer"));
            Err(Failure::Ended(Exit::Suspended))
        }
        RunStatus::Cancelled => {
            session.output.note(&format!("run {} was stopped; go on with `{resume}`", outcome.run));
            Err(Failure::Ended(Exit::Cancelled))
        }
        status => Err(failed(outcome, status, &resume, policys)),
    }
}

fn failed(outcome: &Outcome<GoalState>, status: RunStatus, resume: &str, policys: Option<String>) -> Failure {
    let message = outcome.error.as_ref().map_or_else(|| status.to_string(), ToString::to_string);
    // The command line sets limits on the whole run only.
    let is_the_files = match outcome.error.as_ref().map(Error::root) {
        Some(Error::Budget(exhausted)) => !exhausted.owner.as_str().is_empty(),
        Some(Error::TimedOut(timed_out)) => !timed_out.owner.as_str().is_empty(),
        _ => false,
    };
    let hint = match (status, policys) {
        (RunStatus::BudgetExhausted, Some(limit)) => {
            format!(
                "the policy sets this limit, {limit}: change it there, and go on with `{resume}`; what was used so far counts"
            )
        }
        (RunStatus::BudgetExhausted, None) if is_the_files => {
            format!("the file sets this limit: change it there, and go on with `{resume} --changed-file`")
        }
        (RunStatus::BudgetExhausted, None) => {
            format!("go on with more: `{resume} --budget LIMITS`; what was used so far counts")
        }
        (RunStatus::TimedOut, _) if is_the_files => {
            format!(
                "go on with `{resume}`; if a TIMEOUT of the file is too short, change it there and add `--changed-file`"
            )
        }
        (RunStatus::TimedOut, _) => {
            format!("go on with `{resume}`; with `--timeout` for a limit on the whole run")
        }
        _ => format!("once the cause is mended, go on with `{resume}`: nothing that was done is done again"),
    };
    let failure = match status {
        RunStatus::BudgetExhausted | RunStatus::TimedOut => Failure::used_up(message),
        _ => Failure::failed(message),
    };
    failure.detail(format!("run {}", outcome.run)).hint(hint)
}

/// The questions a run waits for, and the commands that answer them.
async fn tell_questions(session: &mut Session<'_>, outcome: &Outcome<GoalState>) -> Result<(), Failure> {
    session.output.note(&format!("run {} waits for a person:", outcome.run));
    for pending in session.store.questions(Some(&outcome.run)).await? {
        let answers = session.store.answers(&pending.run, &pending.id).await?;
        let open = OpenQuestion::new(pending, answers);
        if open.verdict().is_some() {
            continue;
        }
        let title = text::one_line(&open.pending.question.title);
        let commands = session.answering(&open).into_iter().map(|command| format!("    {command}"));
        let lines: Vec<String> = std::iter::once(format!("  {title}")).chain(commands).collect();
        session.output.explanation(&text::clean(&lines.join("\n")));
    }
    Ok(())
}

/// What the last goal that was not skipped came to.
fn last_text(file: &Agentfile, state: &GoalState) -> Option<String> {
    let goals = file.steps.iter().flat_map(|step| &step.goals).map(|id| &file.goal(*id).name);
    goals.rev().find_map(|name| {
        let made = state.outputs.get(name)?;
        Some(made.as_str().map_or_else(|| json_text(made), str::to_owned))
    })
}
