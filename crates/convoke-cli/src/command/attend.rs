//! `convoke attend`: goes on with runs that are due, and says what became of them.

use std::sync::Arc;

use convoke_core::{Error, Outcome, RunId, RunStatus};
use convoke_host::Host;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::arguments::{Arguments, Attend};
use crate::configuration;
use crate::failure::Failure;
use crate::run::Signals;
use crate::session::Session;
use crate::terminal::text;

/// Reports that wait to be shown. If there are more, the oldest are shown and the rest is in the store.
const REPORTS: usize = 1024;

pub(super) async fn run(
    session: &mut Session<'_>,
    wanted: &Attend,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let host = Host::builder(config).store_file(&arguments.store).store(Arc::clone(&session.store));
    let (sender, mut reports) = mpsc::channel(REPORTS);
    let attendant = Arc::new(host.build()?).attend()?.at_once(wanted.at_once).report(move |run, outcome| {
        let _ = sender.try_send(report(run, outcome));
    });
    if !wanted.once {
        session.output.aside("goes on with runs of this folder as soon as they can; Ctrl-C ends that");
    }
    let mut signals = Signals::listen()?;
    let attending = async {
        match wanted.once {
            true => attendant.attend_once().await,
            false => attendant.attend().await,
        }
    };
    tokio::pin!(attending);
    let ended = loop {
        tokio::select! {
            biased;
            Some(report) = reports.recv() => give(session, &report)?,
            ended = &mut attending => break ended,
            // What is under way is left where it is: whoever attends next goes on with it.
            _ = signals.next() => break Ok(()),
        }
    };
    while let Ok(report) = reports.try_recv() {
        give(session, &report)?;
    }
    Ok(ended?)
}

/// What became of a run, as a document.
fn report(run: &RunId, outcome: &Result<Outcome<Value>, Error>) -> Value {
    match outcome {
        Ok(outcome) => {
            let error = outcome.error.as_ref().filter(|_| outcome.status != RunStatus::Suspended);
            json!({"run": run, "status": outcome.status, "error": error.map(ToString::to_string)})
        }
        Err(error) => json!({"run": run, "status": null, "error": error.to_string()}),
    }
}

fn give(session: &mut Session<'_>, report: &Value) -> Result<(), Failure> {
    if session.json {
        session.output.json_line(report)?;
        return session.output.flush();
    }
    let status = report["status"].as_str().unwrap_or("did not go on");
    let line = format!("{}  {status}", report["run"].as_str().unwrap_or_default());
    let error = report["error"].as_str().map(|error| format!(": {}", text::one_line(error)));
    session.output.plain(&text::clean(&format!("{line}{}", error.unwrap_or_default())))?;
    session.output.flush()
}
