//! Sends runs something. What has a key is sent once, and what a run that waits could not use is not sent.

use std::collections::BTreeSet;

use convoke_core::store::{Mail, NewMail, PostReceipt, RunRecord};
use convoke_core::{RunId, RunStatus, Store, StoreError};
use convoke_history::{AwaitedMail, Detail, History};
use convoke_machine::conversation::{ClientCalls, TOOL_RESULTS, TURN};
use convoke_text::nearest;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::HostError;
use crate::drawn::definition;

/// Sends a run something. What has the key of something that was sent before is not sent again. Of several results of one [call](result_key),
/// however they are sent, the store keeps one.
///
/// # Errors
/// [`HostError::KeyTaken`] if what was sent before with that key says something else, or went to another channel;
/// [`HostError::ResultSent`] if the call has a result; failures of the store.
pub async fn send(
    store: &dyn Store,
    run: &RunId,
    mail: NewMail,
    mut result_of: Option<String>,
) -> Result<PostReceipt, HostError> {
    let mut is_repeated = false;
    let taken = |channel: String| {
        let key = mail.key.clone().unwrap_or_default();
        HostError::KeyTaken { run: run.clone(), channel, key }
    };
    let wanted: Option<Value> = serde_json::from_slice(&mail.payload).ok();
    if let (Some(claim), Some(key)) = (mail.claim()?, &mail.key) {
        // Stores keep keys by channel, and a note of what each stands for. What earlier builds sent has no note.
        let sent = store.mail_by_key(run, key).await?;
        if let Some(sent) = sent.iter().find(|sent| sent.channel != claim.channel)
            && (sent.channel != mail.channel || sent.read().ok() != wanted)
        {
            return Err(taken(sent.channel.clone()));
        }
        // What earlier builds sent is kept under this key.
        result_of = result_of.filter(|_| sent.iter().all(|sent| sent.channel == claim.channel));
        let posted = store.post(run, claim.clone()).await?;
        is_repeated = !posted.is_new;
        if let Some((channel, said)) = kept::<(String, Value)>(store, run, &claim.channel, posted).await?
            && (channel != mail.channel || Some(said) != wanted)
        {
            return Err(taken(channel));
        }
    }
    let mut sent = mail.clone();
    sent.key = result_of.clone().or(sent.key);
    let posted = store.post(run, sent).await?;
    // The order of names in an object says nothing.
    match kept::<Value>(store, run, &mail.channel, posted).await? {
        Some(said) if result_of.is_some() && !(is_repeated && Some(&said) == wanted.as_ref()) => {
            Err(HostError::ResultSent { run: run.clone(), channel: mail.channel })
        }
        Some(said) if Some(&said) != wanted.as_ref() => Err(taken(mail.channel.clone())),
        _ => Ok(posted),
    }
}

/// What was sent before, if that is why this was not sent.
async fn kept<T: DeserializeOwned>(
    store: &dyn Store,
    run: &RunId,
    channel: &str,
    posted: PostReceipt,
) -> Result<Option<T>, HostError> {
    if posted.is_new {
        return Ok(None);
    }
    let mail = store.mail(run, channel, posted.number.saturating_sub(1), 1).await?.pop();
    Ok(mail.filter(|kept| kept.number == posted.number).and_then(|kept| kept.read().ok()))
}

/// The calls whose results a run waits for on a channel, if that is what it waits for.
#[must_use]
pub fn client_calls(awaited: &AwaitedMail<'_>) -> Option<ClientCalls> {
    serde_json::from_value(awaited.expected.clone()).ok()
}

/// The key under which the result of a client's call is kept, if that is what is sent: one for each time that the call waits.
#[must_use]
pub fn result_key(history: &History, channel: &str, result: &Value) -> Option<String> {
    history.awaited().iter().find(|awaited| awaited.channel == channel && client_calls(awaited).is_some())?;
    let id = &result["call_id"];
    let waits = history.effects.iter().flat_map(|effect| &effect.attempts);
    let earlier = waits.filter(|wait| match &wait.detail {
        Detail::Receive { channel: taken, received, refused, .. } if taken == channel => {
            refused.is_some() || received.as_ref().is_some_and(|mail| mail.payload["call_id"] == *id)
        }
        _ => false,
    });
    let generation = history.record.generation.number;
    Some(format!("convoke: result {} of call {id} in generation {generation}", earlier.count() + 1))
}

/// Returns what a run was sent on a channel and has not taken yet.
///
/// # Errors
/// Failures of the store.
pub async fn untaken_mail(
    store: &dyn Store,
    history: &History,
    channel: &str,
) -> Result<Vec<Mail>, StoreError> {
    let waits = history.effects.iter().flat_map(|effect| &effect.attempts);
    let taken = waits.filter_map(|wait| match &wait.detail {
        Detail::Receive { channel: taken, received, refused, .. } if taken == channel => {
            received.as_ref().map(|mail| mail.number).or(*refused)
        }
        _ => None,
    });
    store.mail(&history.record.id, channel, taken.max().unwrap_or(0), usize::MAX).await
}

/// The channel that something is meant for. Each conversation within another one, and each step of a composition, waits for results on a
/// channel of its own, `tool_results/PLACE`: what is sent on `tool_results` goes to the only one of them that it is a result for.
#[must_use]
pub fn meant_channel<'a>(history: &'a History, channel: &'a str, payload: &Value) -> &'a str {
    let awaited = history.awaited();
    if channel != TOOL_RESULTS || awaited.iter().any(|awaited| awaited.channel == channel) {
        return channel;
    }
    let fits = |awaited: &&AwaitedMail<'_>| {
        client_calls(awaited).is_some_and(|calls| calls.resolved(payload).is_ok())
    };
    let mut fitting = awaited.iter().filter(fits).map(|awaited| awaited.channel);
    fitting.next().filter(|_| fitting.next().is_none()).unwrap_or(channel)
}

/// Checks whether a run could use this, and gives it as it is to be sent: a result that does not say of which call it is belongs to the
/// one that waits and has none among what was `sent` on the channel and is [not taken yet](untaken_mail).
///
/// A run of a file of ours could use what it waits for now, and while it works what it may come to wait for. Other programs may look for
/// anything, at any time.
///
/// # Errors
/// Why it could not, and what to send.
pub fn check_mail(history: &History, sent: &[Mail], channel: &str, payload: &Value) -> Result<Value, String> {
    let awaited = history.awaited();
    let calls: Vec<(&str, ClientCalls)> =
        awaited.iter().filter_map(|awaited| Some((awaited.channel, client_calls(awaited)?))).collect();
    let here = calls.iter().filter(|(awaited, _)| *awaited == channel);
    let resolved = here.map(|(_, calls)| resolved(calls, sent, payload)).reduce(Result::or);
    let record = &history.record;
    match (resolved, definition(record)) {
        (Some(resolved), _) => resolved,
        (None, None) => Ok(payload.clone()),
        (None, Some(_)) if record.channels.iter().any(|awaited| awaited == channel) => Ok(payload.clone()),
        (None, Some(_)) if has_ended(record.status) => Ok(payload.clone()),
        (None, Some(_)) if channel.split('/').next() == Some(TOOL_RESULTS) => {
            let waiting = calls.iter().flat_map(|(channel, calls)| {
                calls.calls.iter().map(move |call| format!("`{}` on `{channel}`", call.tool))
            });
            let waiting = one_of(&waiting.collect::<Vec<_>>()).map(|waiting| format!("; there is {waiting}"));
            Err(format!("no call waits for its result on `{channel}`{}", waiting.unwrap_or_default()))
        }
        (None, Some(definition)) => {
            let events: BTreeSet<String> = definition.vocabulary().events.into_iter().collect();
            expected_event(history, channel, &events.into_iter().collect::<Vec<_>>())?;
            Ok(payload.clone())
        }
    }
}

/// Whether a run has ended for good, which it says itself to whoever sends it something.
fn has_ended(status: RunStatus) -> bool {
    matches!(status, RunStatus::Completed | RunStatus::Halted | RunStatus::Cancelled)
}

/// A result as it is to be sent, of one of these calls.
fn resolved(calls: &ClientCalls, sent: &[Mail], payload: &Value) -> Result<Value, String> {
    let sent: Vec<Value> = sent.iter().filter_map(|mail| mail.read().ok()).collect();
    let open = calls.without(&sent);
    if open.calls.is_empty() {
        return Err("every call that waits for a result has been sent one".to_owned());
    }
    match (open.resolved(payload), calls.resolved(payload)) {
        (Err(_), Ok(_)) => Err("this call has been sent a result".to_owned()),
        (resolved, _) => resolved,
    }
}

/// Checks whether a run may come to wait for an event in the state it is in. `events` are those that are known to belong to states of it.
fn expected_event(history: &History, event: &str, events: &[String]) -> Result<(), String> {
    let RunRecord { status, channels, .. } = &history.record;
    let is_known = events.iter().any(|known| known == event);
    // Between turns it waits for all it can use. In the middle of one it may be asked something first.
    let is_between_turns = history.questions.iter().any(|open| open.pending.question.title == TURN);
    let (known, waits): (&[String], _) = match status {
        RunStatus::Running if is_known || events.is_empty() => return Ok(()),
        RunStatus::Suspended if is_known && channels.is_empty() && !is_between_turns => return Ok(()),
        RunStatus::Running => (events, "its states wait"),
        RunStatus::Suspended => (channels, "it waits"),
        status => return Err(format!("the run is {status}: it waits for nothing")),
    };
    let meant = nearest(event, known.iter().chain(events).map(String::as_str))
        .map(|meant| format!(" (did you mean `{meant}`?)"));
    let meant = meant.unwrap_or_default();
    Err(match (one_of(known), one_of(events)) {
        (Some(known), _) => format!("{waits} for {known}, not for `{event}`{meant}"),
        (None, Some(events)) => format!("it waits for no event now; states of it wait for {events}{meant}"),
        (None, None) => format!("it waits for no event, not for `{event}`"),
    })
}

/// Names, of which any will do.
fn one_of(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) })
}
