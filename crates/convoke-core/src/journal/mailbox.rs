//! The mailbox position of a run: the last mail it took, by channel.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{EffectKind, Entry, Phase};
use crate::RecordedOutcome;
use crate::effect::{ReceivedMail, StoredReceive};

/// The number of the last mail that was taken, by channel. Mail is taken in order.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<BTreeMap<String, u64>>);

impl Mailbox {
    /// What was taken before, and what the entries of a journal say.
    pub(crate) fn of<'a>(mut taken: BTreeMap<String, u64>, entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut channels = HashMap::new();
        for entry in entries.filter(|entry| entry.effect == EffectKind::Receive) {
            let address = (&entry.path, entry.ordinal);
            let asked: Option<StoredReceive> =
                entry.request.as_deref().and_then(|json| serde_json::from_slice(json).ok());
            let mut number = None;
            if let Some(StoredReceive { channel, refused, .. }) = asked {
                channels.insert(address, channel);
                number = refused;
            }
            let outcome = entry.outcome.as_deref().filter(|_| entry.phase == Phase::Finished);
            let outcome =
                outcome.and_then(|json| serde_json::from_slice::<RecordedOutcome<ReceivedMail>>(json).ok());
            if let Some(RecordedOutcome::Ok(received)) = outcome {
                number = Some(received.number);
            }
            if let (Some(number), Some(channel)) = (number, channels.get(&address)) {
                let last = taken.entry(channel.clone()).or_insert(0);
                *last = number.max(*last);
            }
        }
        Self(Mutex::new(taken))
    }

    /// All of it.
    pub(crate) fn taken(&self) -> BTreeMap<String, u64> {
        self.lock().clone()
    }

    /// Everything on the channel up to this number was taken.
    pub(crate) fn seen(&self, channel: &str) -> u64 {
        self.lock().get(channel).copied().unwrap_or(0)
    }

    /// Takes mail. Says no if somebody has taken it, or something later.
    pub(crate) fn take(&self, channel: &str, number: u64) -> bool {
        let mut taken = self.lock();
        let last = taken.entry(channel.to_owned()).or_insert(0);
        let is_next = number > *last;
        *last = number.max(*last);
        is_next
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
