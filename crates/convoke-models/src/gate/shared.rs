//! The registry of all gates of this process, by address and key.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use super::Gate;
use crate::http::ApiKey;

/// The address, and the fingerprint of the key.
type GateKey = (String, Option<[u8; 32]>);

/// Gates that somebody holds. The rate limits of a key are the process's, so this is too.
static GATES: LazyLock<Mutex<HashMap<GateKey, Weak<Gate>>>> = LazyLock::new(Mutex::default);

/// The gate for this place and key.
pub(super) fn find(base_url: &str, key: Option<&ApiKey>) -> Arc<Gate> {
    let key = key.filter(|key| !key.is_empty()).map(ApiKey::fingerprint);
    let gate_key = (base_url.trim_end_matches('/').to_owned(), key);
    // Nothing under this lock runs code of others: a poisoned one is as good as any.
    let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gate) = gates.get(&gate_key).and_then(Weak::upgrade) {
        return gate;
    }
    gates.retain(|_, gate| gate.strong_count() > 0);
    let gate = Arc::new(Gate::new());
    gates.insert(gate_key, Arc::downgrade(&gate));
    gate
}
