//! Servers that refuse to be asked what a reply uses.
//!
//! Most servers say in a stream what it used if `stream_options` asks for that, and some refuse the whole request for it.
//! Those are asked without it from then on, in this process; what replies use is estimated then.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use convoke_core::{ModelError, ModelErrorKind};

use super::WireRequest;
use super::structured::another_key;

/// What asks.
const FIELD: &str = "stream_options";

/// Servers that refused, by address.
static REFUSED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Whether this is a refusal of the question, and not of the request.
pub(super) fn refuses(error: &ModelError) -> bool {
    error.kind == ModelErrorKind::InvalidRequest && error.message.contains(FIELD)
}

/// Whether this server refused it before.
pub(super) fn was_refused(base_url: &str) -> bool {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).contains(base_url)
}

/// Remembers that this server refuses it.
pub(super) fn remember(base_url: &str) {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).insert(base_url.to_owned());
}

/// Whether the request asks.
pub(super) fn is_in(wire: &WireRequest) -> bool {
    wire.body.get(FIELD).is_some()
}

/// Takes the question out of a request, which is another one then.
pub(super) fn leave_out(wire: &mut WireRequest) {
    if wire.body.as_object_mut().and_then(|body| body.remove(FIELD)).is_some() {
        another_key(&mut wire.headers, "without usage");
    }
}
