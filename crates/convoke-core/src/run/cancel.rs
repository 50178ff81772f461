//! Ending a stored run for good, without running it.
//!
//! A run that was stopped can go on; one that was cancelled here cannot: whoever resumes it is refused. Only a fork goes on
//! from where it was. It must never touch a run that somebody works on.

use super::outcome::StoredOutcome;
use crate::store::{Batch, OnBusy, RunChange, RunRecord, RunStatus, Store, StoreError, Totals};
use crate::{Error, History, RunId};

/// Cancels a run that nobody works on, for good: its questions are withdrawn, and it is never resumed.
///
/// # Errors
/// [`StoreError::Busy`] while somebody works on it, [`Error::Refused`] if it has ended otherwise, and failures of the store.
pub async fn cancel_for_good(store: &dyn Store, run: &RunId, reason: &str) -> Result<(), Error> {
    let lease = store.claim(run, OnBusy::Refuse).await?;
    let done = end(store, run, reason, &lease).await;
    store.release(&lease);
    done
}

async fn end(store: &dyn Store, run: &RunId, reason: &str, lease: &crate::store::Lease) -> Result<(), Error> {
    let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
    if record.status.is_final() && record.status != RunStatus::Cancelled {
        return Err(Error::Refused(format!("run `{run}` is over already: it is {}", record.status).into()));
    }
    let spent = History::spent_so_far(store, run).await?;
    let totals = Totals {
        model_calls: spent.model_calls,
        unpriced_calls: spent.unpriced_calls,
        tool_calls: spent.tool_calls,
        usage: spent.usage,
    };
    let outcome = StoredOutcome {
        error: Some(Error::Cancelled(reason.into()).to_string()),
        for_good: true,
        unusable: None,
        ..StoredOutcome::default()
    };
    let outcome = Some(serde_json::to_vec(&outcome)?.into());
    let change = RunChange { status: RunStatus::Cancelled, outcome, totals, worked: record.worked };
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
