//! `convoke cancel`
//!
//! A run that nobody works on is ended in the store. One that a process of this machine works on is ended by asking that
//! process to stop, as Ctrl-C does; any other is left alone, and it is said who has it.

use std::path::Path;
use std::time::Duration;

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{Error, History, RunStatus, StoreError, cancel_for_good};
use serde_json::json;

use crate::arguments::Cancel;
use crate::cancelling::Notice;
use crate::failure::Failure;
use crate::holder::Holder;
use crate::select;
use crate::session::Session;
use crate::shell;
use crate::who;

/// How often to look whether the other process has let go.
const LOOK: Duration = Duration::from_millis(100);

/// How long a process that was asked to stop is waited for: it may have a command to end, and a call to give up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(session: &mut Session<'_>, arguments: &Cancel) -> Result<(), Failure> {
    let mut record = select::run(session, &arguments.run).await?;
    let by = who::name();
    let reason = if by.is_empty() { "with `convoke cancel`".to_owned() } else { format!("by {by}") };
    // Taken away when the run is cancelled, or cannot be.
    let mut _notice = None;
    if let Some(holder) = record.holder.clone() {
        _notice = Some(stop(session, &record, &holder, &reason).await?);
        record = let_go(session, &record, &holder).await?;
    }
    let ending = History::load(&*session.store, &record.id).await?.ending.unwrap_or_default();
    if record.status.is_final() && record.status != RunStatus::Cancelled {
        return Err(Failure::failed(format!("run `{}` is over already: it is {}", record.id, record.status))
            .hint(format!(
                "`{}` deletes it",
                session.command(&format!("rm {}", shell::quoted(record.id.as_str())))
            )));
    }
    if !ending.for_good {
        cancel_for_good(&*session.store, &record.id, &reason).await.map_err(busy)?;
    }
    if session.json {
        return session.output.json(&json!({"run": record.id, "status": RunStatus::Cancelled}));
    }
    session.output.plain(&format!("cancelled {}", record.id))
}

fn busy(error: Error) -> Failure {
    match error {
        Error::Store(StoreError::Busy { run, holder }) => {
            Failure::failed(format!("run `{run}` was taken up by {holder} at this moment: cancel it again"))
        }
        other => other.into(),
    }
}

/// Asks the process that works on a run to stop, and says why as long as what this gives is kept.
async fn stop(
    session: &mut Session<'_>,
    record: &RunRecord,
    holder: &str,
    reason: &str,
) -> Result<Notice, Failure> {
    let run = &record.id;
    let elsewhere = |what: &str| {
        Failure::failed(format!("run `{run}` is being worked on by {holder}, {what}"))
            .hint("stop that process there, with Ctrl-C or SIGINT; then cancel the run")
    };
    let Some(process) = Holder::parse(holder).filter(Holder::is_here) else {
        return Err(elsewhere("which cannot be reached from here"));
    };
    let runs =
        session.store.runs(&RunQuery { status: Some(RunStatus::Running), ..RunQuery::default() }).await?;
    let others =
        runs.iter().filter(|other| other.id != *run && other.holder.as_deref() == Some(holder)).count();
    if others > 0 {
        return Err(elsewhere("which works on other runs too, and would stop them all"));
    }
    let notice = Notice::leave(Path::new(&session.place), run, reason);
    process.interrupt().map_err(|error| elsewhere(&format!("which cannot be told to stop ({error})")))?;
    session.output.note(&format!("{holder} has it, and was asked to stop"));
    Ok(notice)
}

/// Waits until nobody works on the run any more.
async fn let_go(session: &Session<'_>, record: &RunRecord, holder: &str) -> Result<RunRecord, Failure> {
    let waiting = async {
        loop {
            match session.store.run(&record.id).await? {
                Some(now) if now.holder.is_some() => tokio::time::sleep(LOOK).await,
                Some(now) => return Ok(now),
                None => return Err(Failure::from(StoreError::NotFound { run: record.id.clone() })),
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| {
        Err(Failure::failed(format!("{holder} was asked to stop and still works on run `{}`", record.id))
            .hint("once more ends it at once; a call of a tool that it is making may then be in doubt"))
    })
}
