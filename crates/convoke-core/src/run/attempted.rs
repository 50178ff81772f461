//! What was asked for under keys that several attempts at the same may share.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{Digest, Path};

/// The requests of effects that may be tried again, by the address their key is derived from.
///
/// A later attempt has the key that the same effect had in the first one, but only for the same request: another request
/// under a key that is known elsewhere would be taken for one that was done already.
#[derive(Default)]
pub(crate) struct Attempted(Mutex<HashMap<(Path, u32), Digest>>);

impl Attempted {
    /// Whether a request may have the key of this address: it is the first there, or the same as the first.
    pub(crate) fn may_share(&self, path: &Path, ordinal: u32, request: Digest) -> bool {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((path.clone(), ordinal)).or_insert(request) == request
    }
}
