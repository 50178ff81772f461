//! Reading a whole journal, a part at a time.

use super::{Store, StoreError};
use crate::{Entry, RunId};

/// How many entries are read at once.
const PAGE: usize = 4_096;

/// All entries of a run, in order.
pub(crate) async fn read_entries(store: &dyn Store, run: &RunId) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    loop {
        let next = entries.last().map_or(1, |entry: &Entry| entry.seq + 1);
        let page = store.entries(run, next, PAGE).await?;
        let is_last = page.len() < PAGE;
        entries.extend(page);
        if is_last {
            return Ok(entries);
        }
    }
}
