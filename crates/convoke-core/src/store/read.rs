//! Reading a whole journal, a part at a time.

use futures_util::future::try_join_all;

use super::{Store, StoreError};
use crate::{Entry, RunId};

/// How many entries are read at once.
const PAGE: usize = 4_096;
/// How many pages of a long journal are read side by side.
const PAGES: usize = 3;

/// All entries of a run, in order.
///
/// # Errors
/// Failures of the store.
pub async fn read_entries(store: &dyn Store, run: &RunId) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    read_more(store, run, &mut entries).await?;
    Ok(entries)
}

/// Adds to the first entries of a run those that follow.
pub(crate) async fn read_more(
    store: &dyn Store,
    run: &RunId,
    entries: &mut Vec<Entry>,
) -> Result<(), StoreError> {
    let more = store.entries(run, entries.len() as u64 + 1, PAGE).await?;
    let mut is_last = more.len() < PAGE;
    entries.extend(more);
    while !is_last {
        // Numbers have no gaps, so it is known where each page begins.
        let begins = (0..PAGES).map(|page| (entries.len() + page * PAGE) as u64 + 1);
        let pages = try_join_all(begins.map(|from| store.entries(run, from, PAGE))).await?;
        for page in pages {
            // A run under way may have grown since the page before was read; what follows a gap is not in order.
            let follows = page.first().is_none_or(|entry| entry.seq == entries.len() as u64 + 1);
            is_last |= page.len() < PAGE;
            if follows {
                entries.extend(page);
            }
        }
    }
    Ok(())
}
