//! Stored content that entries refer to.

use std::collections::HashMap;

use bytes::Bytes;

use super::writer::StoredContent;
use super::{Blob, Entry};
use crate::{Digest, Transcript};

/// The part of a run's content that these entries and ends of conversations refer to: the options of requests, and each message with
/// all that came before it.
pub(crate) fn referenced(
    mut stored: HashMap<Digest, Bytes>,
    ends: Vec<Digest>,
    entries: &[Entry],
) -> Vec<Blob> {
    let mut blobs = Vec::new();
    for named in StoredContent::known_by(ends, entries).stored {
        let mut next = Some(named);
        // What was found is taken away: two conversations have their beginning in common.
        while let Some((digest, content)) = next.and_then(|digest| stored.remove_entry(&digest)) {
            // The beginning of options is a digest too as far as can be seen here, of nothing that is stored.
            next = Transcript::digest_before(&content);
            blobs.push(Blob { digest, content });
        }
    }
    blobs
}
