//! Stands in for local models in a program that was built without them.

use std::sync::Arc;

use convoke_config::Local;
use convoke_core::Model;

use crate::HostError;
use crate::models::DownloadObserver;

/// None.
#[expect(clippy::unnecessary_wraps, reason = "with local models it can fail")]
pub(crate) fn usual_model() -> Result<Option<String>, HostError> {
    Ok(None)
}

/// Says how to have them.
pub(crate) async fn open(
    model: &str,
    _: Local,
    _: &DownloadObserver,
    _: &mut (dyn FnMut(&str) + Send),
) -> Result<Arc<dyn Model>, HostError> {
    Err(missing(model))
}

/// Says how to have them.
pub(crate) fn check(model: &str) -> Result<(), HostError> {
    Err(missing(model))
}

/// Nothing reads here.
#[must_use]
pub fn reading() -> Option<(u64, u64)> {
    None
}

fn missing(model: &str) -> HostError {
    HostError::NoLocalModels { model: model.to_owned() }
}
