//! Checks of batches and mail that both stores share.

use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, NewMail};
use convoke_core::{Answer, RunId, StoreError};

/// Everything that can be wrong with a batch, found before any of it is written. Gives the number that would come next.
pub(crate) fn check(run: &RunId, next_seq: u64, batch: &Batch) -> Result<u64, StoreError> {
    let mut expected = next_seq;
    for entry in &batch.entries {
        if entry.seq != expected {
            return Err(StoreError::Gap { run: run.clone(), expected, found: entry.seq });
        }
        expected += 1;
    }
    if let Some(stray) = batch.opened.iter().find(|question| question.run != *run) {
        return Err(StoreError::Failed(format!(
            "a question of run `{}` cannot be opened in run `{run}`: give it the run's own id",
            stray.run
        )));
    }
    if let Some(next) = &batch.next
        && !(1..=expected).contains(&next.generation.begins_at)
    {
        return Err(StoreError::Failed(format!(
            "generation {} of run `{run}` cannot begin at entry {}: the next one is {expected}",
            next.generation.number, next.generation.begins_at
        )));
    }
    Ok(expected)
}

/// Refuses an answer that does not fit, and one to a question that the answers it has, or time, have settled.
fn must_take(pending: &PendingQuestion, given: &[Answer], answer: &Answer) -> Result<(), StoreError> {
    pending.question.check(&answer.decision)?;
    match pending.settled(given, answer.at) {
        None => Ok(()),
        Some(verdict) => Err(StoreError::Answered {
            run: pending.run.clone(),
            question: pending.id.to_string(),
            verdict: Box::new(verdict),
        }),
    }
}

/// Refuses mail that answers an open question if it is not an answer that the question takes.
pub(crate) fn must_take_reply(
    pending: &PendingQuestion,
    given: &[Answer],
    mail: &NewMail,
) -> Result<(), StoreError> {
    let answer: Answer = serde_json::from_slice(&mail.payload).map_err(|error| {
        StoreError::Failed(format!("mail to question `{}` is not a valid answer: {error}", pending.id))
    })?;
    must_take(pending, given, &answer)
}

/// The error for a lease that was given back.
pub(crate) fn given_back(run: &RunId) -> StoreError {
    StoreError::Failed(format!(
        "the lease on run `{run}` was given back: claim the run again before writing to it"
    ))
}
