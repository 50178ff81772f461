//! An index of what earlier attempts at the same work asked for, and its outcome.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::{Digest, Path};

/// Where the key of an effect is derived from: the address it had in the first attempt.
type Address = (Path, u32);

/// The requests of effects that may be tried again, by the address their key is derived from.
///
/// A later attempt has the key that the same effect had in the first one, but only for the same request: another request
/// under a key that is known elsewhere would be taken for one that was done already.
#[derive(Default)]
pub(crate) struct EarlierAttempts(Mutex<HashMap<Address, Attempt>>);

struct Attempt {
    request: Digest,
    became: EarlierOutcome,
}

/// What became of a call in the attempts before.
#[derive(Clone, Default)]
pub(crate) enum EarlierOutcome {
    /// It was not made, or it failed and may be made again.
    #[default]
    Open,
    /// It was begun, and nobody knows what came of it.
    Begun,
    /// This.
    Done(Bytes),
}

/// How a request is like the one that was made under the same address before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It is the first there.
    First,
    /// It asks for the same.
    Same,
    /// It asks for something else.
    Other,
}

impl EarlierAttempts {
    pub(crate) fn compare(&self, path: &Path, ordinal: u32, request: Digest) -> Likeness {
        match self.lock().entry((path.clone(), ordinal)) {
            Entry::Occupied(known) if known.get().request == request => Likeness::Same,
            Entry::Occupied(_) => Likeness::Other,
            Entry::Vacant(place) => {
                place.insert(Attempt { request, became: EarlierOutcome::Open });
                Likeness::First
            }
        }
    }

    pub(crate) fn became(&self, path: &Path, ordinal: u32) -> EarlierOutcome {
        self.lock().get(&(path.clone(), ordinal)).map(|attempt| attempt.became.clone()).unwrap_or_default()
    }

    /// Keeps what became of a request; of others under its address nothing is kept.
    pub(crate) fn keep(&self, path: &Path, ordinal: u32, request: Digest, became: EarlierOutcome) {
        if let Some(attempt) = self.lock().get_mut(&(path.clone(), ordinal))
            && attempt.request == request
        {
            attempt.became = became;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, Attempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
