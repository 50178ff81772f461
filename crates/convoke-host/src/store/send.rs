//! Sends runs something. What has a key is sent once.

use convoke_core::store::{NewMail, PostReceipt};
use convoke_core::{RunId, Store};
use serde_json::Value;

use crate::HostError;

/// Sends a run something. What has the key of something that was sent before on its channel is not sent again.
///
/// # Errors
/// [`HostError::KeyTaken`] if what was sent before with that key says something else; failures of the store.
pub async fn send(store: &dyn Store, run: &RunId, mail: NewMail) -> Result<PostReceipt, HostError> {
    let posted = store.post(run, mail.clone()).await?;
    if posted.is_new {
        return Ok(posted);
    }
    let kept = store.mail(run, &mail.channel, posted.number.saturating_sub(1), 1).await?.pop();
    let wanted: Option<Value> = serde_json::from_slice(&mail.payload).ok();
    // The order of names in an object says nothing.
    match kept.filter(|kept| kept.number == posted.number).and_then(|kept| kept.read::<Value>().ok()) {
        Some(kept) if Some(&kept) != wanted.as_ref() => Err(HostError::KeyTaken {
            run: run.clone(),
            channel: mail.channel,
            key: mail.key.unwrap_or_default(),
        }),
        _ => Ok(posted),
    }
}
