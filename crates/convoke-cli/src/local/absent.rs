//! This program was built without them.

use std::sync::Arc;

use convoke_config::Local;
use convoke_core::Model;

use crate::failure::Failure;

/// None.
#[expect(clippy::unnecessary_wraps, reason = "with local models it can fail")]
pub(crate) fn usual_model() -> Result<Option<String>, Failure> {
    Ok(None)
}

/// Says how to have them.
pub(crate) async fn open(
    model: &str,
    _: Local,
    _: &mut (dyn FnMut(&str) + Send),
) -> Result<Arc<dyn Model>, Failure> {
    Err(missing(model))
}

/// Says how to have them.
pub(crate) fn check(model: &str) -> Result<(), Failure> {
    Err(missing(model))
}

/// Nothing reads here.
pub(crate) fn reading() -> Option<(u64, u64)> {
    None
}

fn missing(model: &str) -> Failure {
    Failure::failed(format!("this program was built without local models, so it cannot run `{model}`"))
        .hint("build it with `cargo build -p convoke-cli --features local`, or use a provider's model")
}
