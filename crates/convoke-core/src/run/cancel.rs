//! Cancelling a stored run for good.
//!
//! A run that was stopped can go on; one that was cancelled here cannot: whoever resumes it is refused. Only a fork goes on
//! from where it was. A run that somebody works on is not touched, only told.

use super::outcome::StoredOutcome;
use crate::journal::totals_of;
use crate::store::{
    Batch, NewMail, OnBusy, RunChange, RunRecord, RunStatus, Store, StoreError, WaitConditions, read_entries,
};
use crate::{Error, RunId};

/// The progress of cancelling a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelStatus {
    /// The run is cancelled.
    Done,
    /// This process works on it, and was told. It stops what it is doing, and ends the run.
    Requested {
        /// Host and process.
        holder: String,
    },
}

/// Cancels a run for good, wherever it is: its questions are withdrawn, and it is never resumed. Whoever works on it is told.
///
/// # Errors
/// [`Error::Refused`] if it has ended otherwise, and failures of the store.
pub async fn cancel_for_good(store: &dyn Store, run: &RunId, reason: &str) -> Result<CancelStatus, Error> {
    let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
    must_not_have_ended(&record)?;
    if must_not_be_cancelled(&record).is_err() {
        return Ok(CancelStatus::Done);
    }
    // First, so that whoever takes the run up at this moment finds it.
    store.post(run, NewMail::cancel(reason)?).await?;
    match store.claim(run, OnBusy::Refuse).await {
        Ok(lease) => {
            let done = end(store, run, reason, &lease).await;
            store.release(&lease);
            done.map(|()| CancelStatus::Done)
        }
        Err(StoreError::Busy { holder, .. }) => Ok(CancelStatus::Requested { holder }),
        Err(error) => Err(error.into()),
    }
}

fn must_not_have_ended(record: &RunRecord) -> Result<(), Error> {
    let RunRecord { id, status, .. } = record;
    match status.is_final() && *status != RunStatus::Cancelled {
        true => Err(Error::Refused(format!("run `{id}` is over already: it is {status}").into())),
        false => Ok(()),
    }
}

async fn end(store: &dyn Store, run: &RunId, reason: &str, lease: &crate::store::Lease) -> Result<(), Error> {
    let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
    must_not_have_ended(&record)?;
    let totals = totals_of(&read_entries(store, run).await?);
    let before =
        record.outcome.as_deref().and_then(|json| serde_json::from_slice::<StoredOutcome>(json).ok());
    let outcome = StoredOutcome {
        state: before.and_then(|before| before.state),
        error: Some(Error::Cancelled(reason.into()).to_string()),
        for_good: true,
        unusable: None,
        ..StoredOutcome::default()
    };
    let outcome = Some(serde_json::to_vec(&outcome)?.into());
    let (status, worked, waits) = (RunStatus::Cancelled, record.worked, WaitConditions::default());
    let change = RunChange { status, outcome, totals, worked, waits };
    let closed = store.questions(Some(run)).await?.into_iter().map(|pending| pending.id).collect();
    store.append(lease, Batch { closed, change: Some(change), ..Batch::default() }).await?;
    Ok(())
}

/// Refuses to go on with a run that was cancelled for good.
pub(super) fn must_not_be_cancelled(record: &RunRecord) -> Result<(), Error> {
    let outcome = record.outcome.as_deref().filter(|_| record.status == RunStatus::Cancelled);
    match outcome.and_then(|json| serde_json::from_slice::<StoredOutcome>(json).ok()) {
        Some(StoredOutcome { for_good: true, error, .. }) => Err(Error::Refused(
            format!(
                "run `{}` was cancelled for good ({}): fork it to go on from where it was",
                record.id,
                error.unwrap_or_default()
            )
            .into(),
        )),
        _ => Ok(()),
    }
}
