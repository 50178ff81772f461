//! Reads a whole journal in parts.

use futures_util::future::try_join_all;

use super::{Store, StoreError};
use crate::{Entry, RunId};

/// How many entries are read at once.
const PAGE: usize = 4_096;
/// How many pages of a long journal are read side by side.
const PAGES: usize = 3;

/// Reads all entries of a run, in order.
///
/// # Errors
/// Failures of the store.
pub async fn read_entries(store: &dyn Store, run: &RunId) -> Result<Vec<Entry>, StoreError> {
    read_entries_from(store, run, 1).await
}

/// The entries of a run from a number on, in order.
pub(crate) async fn read_entries_from(
    store: &dyn Store,
    run: &RunId,
    first: u64,
) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    read_more(store, run, first, &mut entries).await?;
    Ok(entries)
}

/// Adds to the entries of a run from a number on those that follow.
pub(crate) async fn read_more(
    store: &dyn Store,
    run: &RunId,
    first: u64,
    entries: &mut Vec<Entry>,
) -> Result<(), StoreError> {
    let more = store.entries(run, first + entries.len() as u64, PAGE).await?;
    let mut is_last = more.len() < PAGE;
    entries.extend(more);
    while !is_last {
        // Numbers have no gaps, so it is known where each page begins.
        let begins = (0..PAGES).map(|page| first + (entries.len() + page * PAGE) as u64);
        let pages = try_join_all(begins.map(|from| store.entries(run, from, PAGE))).await?;
        for page in pages {
            // A run under way may have grown since the page before was read; what follows a gap is not in order.
            let follows = page.first().is_none_or(|entry| entry.seq == first + entries.len() as u64);
            is_last |= page.len() < PAGE;
            if follows {
                entries.extend(page);
            }
        }
    }
    Ok(())
}
