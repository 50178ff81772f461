//! Gives the result of a run on standard output, what to do next on standard error, and the exit code.

use std::io::{self, IsTerminal};

use convoke_core::{Outcome, RunStatus};
use convoke_history::OpenQuestion;
use convoke_host::stored::{RunReport, RunSource};
use serde_json::Value;

use super::arguments::Format;
use crate::failure::{Exit, Failure, error_json};
use crate::session::Session;

/// What else there is to say about a run than its outcome.
#[derive(Debug, Default)]
pub(crate) struct RunNotes {
    /// What sets the limit that was reached, if that is a policy.
    pub(crate) policys: Option<String>,
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
    source: impl Into<RunSource<'_>>,
    format: Format,
    outcome: &Outcome<Value>,
    about: RunNotes,
) -> Result<(), Failure> {
    let format = if session.json && format == Format::Text { Format::Json } else { format };
    let report = session.report(source.into(), outcome, about.policys.as_deref()).await?;
    let document = |kind| report.document(kind, &about.notes, error_json(report.failure.as_ref()));
    let given = match (format, &report.result) {
        (Format::Json, _) => session.output.json(&document(None)),
        (Format::Ndjson, _) => session.output.last_json_line(&document(Some("result"))),
        // Whoever has read it need not read it twice.
        (Format::Text, said) if about.said == *said && io::stdout().is_terminal() => Ok(()),
        (Format::Text, result) => result.as_ref().map_or(Ok(()), |text| session.output.verbatim(text)),
    };
    match given.and_then(|()| session.output.flush()) {
        // What to do next is said all the same.
        Err(Failure::ClosedPipe) if outcome.status != RunStatus::Completed => {}
        given => given?,
    }
    // What was said when it happened is not said again.
    session.output.notes(report.lacks().into_iter().filter(|lack| !about.notes.contains(lack)));
    let RunReport { open, history, next, failure, .. } = report;
    match (outcome.status, failure) {
        (RunStatus::Cancelled, _) => {
            session.output.note(&next);
            Err(Failure::Ended(Exit::Cancelled))
        }
        (_, Some(failure)) => Err(failure.into()),
        (RunStatus::Completed, None) if about.is_quiet => Ok(()),
        (RunStatus::Completed, None) => {
            session.output.note(&next);
            Ok(())
        }
        (_, None) => {
            let width = session.output.width();
            let calls =
                history.as_ref().map(|history| session.awaited_calls(history, width)).unwrap_or_default();
            let record = history.map(|history| history.record).filter(|record| record.channels.is_empty());
            let waits = match (record.and_then(|record| record.wake), open.is_empty(), calls.is_empty()) {
                (_, true, false) => "for a client:".to_owned(),
                // Nobody is asked anything.
                (Some(wake), true, true) => format!("until {wake}"),
                _ => "for a person:".to_owned(),
            };
            session.output.note(&format!("run {} waits {waits}", outcome.run));
            tell_questions(session, &open);
            calls.iter().for_each(|line| session.output.explained(line));
            session.output.note(&next);
            Err(Failure::Ended(Exit::Suspended))
        }
    }
}

/// Shows questions that a run waits for.
pub(crate) fn tell_questions(session: &mut Session<'_>, questions: &[OpenQuestion]) {
    for line in session.waiting_questions(questions, session.output.width()) {
        session.output.explained(&line);
    }
}
