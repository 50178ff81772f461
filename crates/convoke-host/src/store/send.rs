//! Sends runs something. What has a key is sent once, and what a run that waits could not use is not sent.

use convoke_core::store::{NewMail, PostReceipt};
use convoke_core::{RunId, Store};
use convoke_history::{AwaitedMail, History};
use convoke_machine::conversation::ClientCalls;
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

/// The calls whose results a run waits for on a channel, if that is what it waits for.
#[must_use]
pub fn client_calls(awaited: &AwaitedMail<'_>) -> Option<ClientCalls> {
    serde_json::from_value(awaited.expected.clone()).ok()
}

/// Checks whether a run that waits on a channel could use this. What it does not wait for now is kept, and judged when it is taken.
///
/// # Errors
/// Why it could not, and what to send.
pub fn check_mail(history: &History, channel: &str, payload: &Value) -> Result<(), String> {
    let awaited = history.awaited();
    let waiting = awaited.iter().filter(|awaited| awaited.channel == channel).filter_map(client_calls);
    let refused = waiting.map(|calls| calls.result(payload).err()).collect::<Option<Vec<String>>>();
    match refused.and_then(|reasons| reasons.into_iter().next()) {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}
