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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Labels, Path, Timestamp};

    #[test]
    fn mail_is_taken_once_in_order_and_each_channel_has_its_own() {
        let mailbox = Mailbox::of(BTreeMap::from([("orders".to_owned(), 3)]), std::iter::empty());
        assert!(!mailbox.take("orders", 3) && !mailbox.take("orders", 2));
        assert!(mailbox.take("orders", 5) && !mailbox.take("orders", 5) && !mailbox.take("orders", 4));
        assert!(mailbox.take("news", 1));
        assert_eq!((mailbox.seen("orders"), mailbox.seen("news"), mailbox.seen("else")), (5, 1, 0));
        assert_eq!(mailbox.taken(), BTreeMap::from([("news".to_owned(), 1), ("orders".to_owned(), 5)]));
    }

    #[test]
    fn a_journal_says_what_was_taken_and_what_was_refused_and_nothing_of_what_is_only_waited_for() {
        let entry = |effect, phase, ordinal, request: &'static str, outcome: &'static str| {
            let json = |text: &'static str| (!text.is_empty()).then(|| text.as_bytes().into());
            let (path, digest, at) = (Path::from("main"), Digest::of_parts(&[]), Timestamp::from_micros(0));
            let (request, outcome, labels) = (json(request), json(outcome), Labels::default());
            Entry { seq: 1, path, ordinal, effect, phase, digest, at, request, outcome, labels }
        };
        let received = |number| match number {
            4 => r#"{"ok":{"payload":1,"at":0,"number":4}}"#,
            _ => r#"{"ok":{"payload":1,"at":0,"number":9}}"#,
        };
        let (orders, news) = (r#"{"channel":"orders"}"#, r#"{"channel":"news"}"#);
        let entries = [
            entry(EffectKind::Receive, Phase::Started, 0, orders, ""),
            entry(EffectKind::Receive, Phase::Finished, 0, "", received(4)),
            entry(EffectKind::Receive, Phase::Started, 1, r#"{"channel":"news","refused":2}"#, ""),
            entry(EffectKind::Receive, Phase::Started, 2, news, received(9)),
            entry(EffectKind::Custom, Phase::Finished, 3, orders, received(9)),
        ];
        let mailbox = Mailbox::of(BTreeMap::new(), entries.iter());
        assert_eq!((mailbox.seen("orders"), mailbox.seen("news")), (4, 2));
    }
}
