//! Cancels and deletes runs, with what agents noted in them.

use std::path::Path;
use std::time::Duration;

use convoke_core::store::{CANCEL_CHANNEL, RunRecord};
use convoke_core::{CancelStatus, Error, RunId, RunStatus, Store, StoreError, cancel_for_good};
use convoke_tools::scratchpad::Scratchpad;

use futures_util::StreamExt;

use crate::tools::scratchpad_file;
use crate::{HostError, is_cancelled_for_good};

/// How long to wait at most before looking again: a process that was killed says nothing.
const LOOK: Duration = Duration::from_secs(1);

/// Deletes the notes that agents took in runs which were deleted from a store.
///
/// # Errors
/// If they cannot be deleted.
pub async fn delete_notes(store_file: &Path, runs: &[RunId]) -> Result<(), HostError> {
    let file = scratchpad_file(store_file);
    if runs.is_empty() || !file.exists() {
        return Ok(());
    }
    let failed =
        |error: &dyn std::fmt::Display| HostError::NotesLeft { file: file.clone(), why: error.to_string() };
    let scratchpad = Scratchpad::open(&file).map_err(|error| failed(&error))?;
    for run in runs {
        scratchpad.forget(run).await.map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Deletes a run, unless somebody has gone on with it since it was listed. Gives whether it was deleted.
///
/// # Errors
/// Failures of the store.
pub async fn delete_listed(store: &dyn Store, listed: &RunRecord) -> Result<bool, StoreError> {
    match store.run(&listed.id).await? {
        Some(now) if now.epoch == listed.epoch && now.holder.is_none() => {}
        _ => return Ok(false),
    }
    match store.delete(&listed.id).await {
        Err(StoreError::Busy { .. }) => Ok(false),
        deleted => deleted,
    }
}

/// Ends a run for good, and waits until whoever works on it, of whom `told` is told, has stopped.
///
/// # Errors
/// [`HostError::Ended`] if it is over already; failures of the store.
pub async fn cancel_run(
    store: &dyn Store,
    mut record: RunRecord,
    reason: &str,
    mut told: impl FnMut(&str),
) -> Result<RunId, HostError> {
    while !is_cancelled_for_good(&record) {
        if record.status.is_final() && record.status != RunStatus::Cancelled {
            return Err(HostError::Ended { run: record.id, status: record.status });
        }
        match cancel_for_good(store, &record.id, reason).await {
            Ok(CancelStatus::Done) => break,
            Ok(CancelStatus::Requested { holder }) => told(&holder),
            // It has ended since it was looked at.
            Err(Error::Refused(_) | Error::Store(StoreError::Over { .. })) => {}
            Err(error) => return Err(error.into()),
        }
        record = let_go(store, &record.id).await?;
    }
    Ok(record.id)
}

/// Checks whether a run was cancelled for good, or is to be: whoever works on it was told, and whoever takes it up will be.
///
/// # Errors
/// Failures of the store.
pub async fn is_told_to_end(store: &dyn Store, run: &RunId) -> Result<bool, StoreError> {
    let is_cancelled = store.run(run).await?.is_some_and(|record| is_cancelled_for_good(&record));
    Ok(is_cancelled || !store.mail(run, CANCEL_CHANNEL, 0, 1).await?.is_empty())
}

/// Waits until nobody works on a run any more.
async fn let_go(store: &dyn Store, run: &RunId) -> Result<RunRecord, StoreError> {
    let mut watch = store.watch(Some(run));
    loop {
        match store.run(run).await? {
            Some(now) if now.holder.is_none() => return Ok(now),
            Some(_) => drop(tokio::time::timeout(LOOK, watch.next()).await),
            None => return Err(StoreError::NotFound { run: run.clone() }),
        }
    }
}
