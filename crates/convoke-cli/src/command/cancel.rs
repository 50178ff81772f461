//! `convoke cancel`
//!
//! Whoever works on the run, wherever that is, is told through the store and ends it. A run that nobody works on is ended there.

use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{Cancelling, Error, RunStatus, StoreError, cancel_for_good};
use futures_util::StreamExt;
use serde_json::json;

use crate::arguments::Cancel;
use crate::failure::Failure;
use crate::onward;
use crate::select;
use crate::session::Session;
use crate::shell;

/// How long to wait at most before looking again: a process that was killed says nothing.
const LOOK: Duration = Duration::from_secs(1);

/// How long a process that was told is waited for: it may have a command to end, and a call to give up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(session: &mut Session<'_>, arguments: &Cancel) -> Result<(), Failure> {
    let record = select::run(session, &arguments.run).await?;
    let by = convoke_host::user_name();
    let reason = if by.is_empty() { "with `convoke cancel`".to_owned() } else { format!("by {by}") };
    let waiting = async {
        let mut record = record;
        while !onward::is_cancelled_for_good(&record) {
            must_not_be_over(session, &record)?;
            match cancel_for_good(&*session.store, &record.id, &reason).await {
                Ok(Cancelling::Done) => break,
                Ok(Cancelling::Told { holder }) => {
                    session.output.note(&format!("{holder} works on it, and was told to stop"));
                }
                // It has ended since it was looked at.
                Err(Error::Refused(_) | Error::Store(StoreError::Over { .. })) => {}
                Err(error) => return Err(error.into()),
            }
            record = let_go(session, &record).await?;
        }
        Ok(record.id)
    };
    let run = tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| {
        Err(Failure::failed("whoever works on the run was told to stop, and still does")
            .hint("it ends before it does anything else; `convoke runs` says when it has"))
    })?;
    if session.json {
        return session.output.json(&json!({"run": run, "status": RunStatus::Cancelled}));
    }
    session.output.plain(&format!("cancelled {run}"))
}

fn must_not_be_over(session: &Session<'_>, record: &RunRecord) -> Result<(), Failure> {
    if !record.status.is_final() || record.status == RunStatus::Cancelled {
        return Ok(());
    }
    let delete = session.command(&format!("rm {}", shell::quoted(record.id.as_str())));
    Err(Failure::failed(format!("run `{}` is over already: it is {}", record.id, record.status))
        .hint(format!("`{delete}` deletes it")))
}

/// Waits until nobody works on the run any more.
async fn let_go(session: &Session<'_>, record: &RunRecord) -> Result<RunRecord, Failure> {
    let mut watch = session.store.watch(Some(&record.id));
    loop {
        match session.store.run(&record.id).await? {
            Some(now) if now.holder.is_none() => return Ok(now),
            Some(_) => drop(tokio::time::timeout(LOOK, watch.next()).await),
            None => return Err(StoreError::NotFound { run: record.id.clone() }.into()),
        }
    }
}
