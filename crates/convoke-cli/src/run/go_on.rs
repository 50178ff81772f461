//! Executes a prepared run with somebody who watches: shown, asked about, stopped, and its result given.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Model, RunId, WhenBusy};
use convoke_goals::agentfile::Agentfile;
use convoke_history::History;
use convoke_history::progress::{RunProgress, Speech};
use convoke_host::models::Models;
use convoke_host::store::is_told_to_end;
use convoke_host::stored::ESTIMATED;
use convoke_host::{ExecutionOptions, FailureKind, FailureReport, HostError, PreparedRun, user_name};
use convoke_models::ModelName;

use super::arguments::{CommonArguments, Format};
use super::display::{Display, Verbosity};
use super::person::person;
use super::prompt::Prompt;
use super::result::{self, RunNotes};
use super::signals::Signals;
use super::watch::Watch;
use crate::failure::Failure;
use crate::logging;
use crate::session::Session;
use crate::terminal::{Output, Spinner};

/// Gets hold of the model of a run. One that runs in this process is fetched first if need be.
pub(crate) async fn load(prepared: &mut PreparedRun, output: &mut Output) -> Result<(), Failure> {
    let mut tell = telling(prepared.model(), output);
    Ok(prepared.load(&mut tell).await?)
}

/// Gets hold of a model.
pub(crate) async fn open(
    models: &Models,
    name: &ModelName,
    output: &mut Output,
) -> Result<Arc<dyn Model>, HostError> {
    models.open(name, &mut telling(Some(name), output)).await
}

/// Says what is to be said until a model is there. Gigabytes are read before one in this process can answer.
fn telling<'a>(name: Option<&ModelName>, output: &'a mut Output) -> impl FnMut(&str) + use<'a> {
    let mut waiting = match name {
        Some(name @ ModelName::Local { .. }) => Spinner::begin(&format!("loading {name}")),
        _ => Spinner::default(),
    };
    move |note| {
        waiting.end();
        output.note(note);
    }
}

/// How long a run that waits for something else than people is waited for, where nobody is there.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs it from where it is to its end, shows how it goes, and gives the result. `notes` have been said when it was prepared.
pub(crate) async fn go_on(
    prepared: PreparedRun,
    session: &mut Session<'_>,
    run: RunId,
    common: &CommonArguments,
    when_busy: WhenBusy,
    prompt: Prompt,
    mut notes: Vec<String>,
) -> Result<(), Failure> {
    let format = common.output;
    // Where events are results, a terminal that shows them needs nothing else.
    let shows_events = format == Format::Ndjson && io::stdout().is_terminal();
    let verbosity = if shows_events { Verbosity::Quiet } else { common.verbosity() };
    let (person, questions, leaves) = person();
    let take_over = format!("{} --take-over", session.resume(&run, prepared.manifest()));
    let send = session.about("send", &run, "");
    let history = History::load(&*session.store, &run).await?;
    let mut awaits_client = false;
    if prompt.is_there {
        // What it was told to wait for before is not told again.
        let waits = session.awaited_calls(&history, session.output.width());
        awaits_client = !waits.is_empty();
        waits.iter().for_each(|line| session.output.explained(line));
    }
    let planned = convoke_host::planned(&**prepared.definition());
    let always = prepared.always();
    let Prompt { keyboard, is_there, .. } = prompt;
    let mut how = ExecutionOptions::default();
    how.when_busy = when_busy;
    how.responder = is_there.then(|| Arc::new(person) as _);
    // Who sends an event to a conversation may take days: where nobody is there, it waits without a process.
    let talks_somewhere = |file: &Agentfile| file.goals.iter().any(|goal| goal.embedded.is_some());
    let is_conversation = prepared.agentfile().is_none_or(talks_somewhere);
    if !is_there && is_conversation {
        how.patience = PATIENCE;
        // Nobody has to send anything for a step to be tried again.
        how.waits_out_time = true;
    }
    let talks = is_there
        && prepared.definition().is_conversation()
        && verbosity != Verbosity::Quiet
        && format != Format::Ndjson;
    let said = notes.len();
    let running = prepared.go_on(Arc::clone(&session.store), run.clone(), how, &mut notes);
    session.output.notes(&notes[said..]);
    let (stream, after) = running.into_parts();
    let mut told = Vec::new();
    if talks {
        session.output.aside("Ctrl-D leaves it for later, /quit ends it");
    }
    let display = Display::new(verbosity, common.stream && !talks, session.color, "Ctrl-C stops");
    let watch = Watch {
        progress: RunProgress::new(&planned).with_history(&history),
        is_conversation,
        speech: talks.then(|| Speech::new(display.is_picture())),
        display,
        signals: Signals::listen()?,
        keyboard,
        questions: is_there.then_some(questions),
        awaits_client,
        leaves,
        by: user_name(),
        always,
        granted: HashSet::new(),
        failed_tries: HashMap::new(),
        take_over,
        send,
        gives_events: format == Format::Ndjson,
        has_new_mail: false,
        output: &mut *session.output,
        notes: &mut told,
    };
    let given = match watch.run(stream).await {
        Ok((outcome, said)) => {
            notes.extend(told);
            if outcome.totals.usage.is_estimated {
                session.output.note(ESTIMATED);
                notes.push(ESTIMATED.to_owned());
            }
            let policys = outcome.error.as_ref().and_then(|error| after.prepared.limit_of(error));
            let about = RunNotes { policys, notes, is_quiet: common.quiet, said };
            result::give(session, &after.prepared, format, &outcome, about).await
        }
        // Somebody may have cancelled it since it was looked at, or do so at this moment.
        Err(_) if is_told_to_end(&*session.store, &run).await.unwrap_or(false) => {
            let message = format!("run {run} was cancelled meanwhile");
            Err(FailureReport::new(FailureKind::Cancelled, message).into())
        }
        Err(failure) => Err(failure),
    };
    let telemetry = after.close().await;
    logging::finish(&telemetry, session.output).await;
    given
}
