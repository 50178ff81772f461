//! Deduplication of replies: each is stored once.
//!
//! What a model said is in the outcome of its call. When the conversation goes on it is a message of the next request as
//! well, and requests refer to messages by digest. There it would be stored again; instead the stored message says only
//! which reply it is: sixteen bytes for what came before, as in every message, an equals sign, and the digest of the
//! message. No message in full looks like that, because JSON objects do not begin with an equals sign.

use std::collections::HashMap;

use bytes::Bytes;

use super::{EffectKind, Entry, Phase, RecordedOutcome};
use crate::model::ModelReply;
use crate::{Digest, Message};

/// The bytes that say what came before.
const BEFORE: usize = 16;
const MARK: u8 = b'=';
/// A message up to this length is not worth referring to.
const SHORT: usize = 64;

/// The digest of a message that is worth referring to.
pub(crate) fn worth_keeping(message: &Message) -> Option<Digest> {
    let (digest, json) = message.encode();
    (json.len() > SHORT).then_some(digest)
}

/// A stored message that only says which reply it is, if it is one that the journal has.
pub(crate) fn shortened(content: &Bytes, has_reply: impl Fn(&Digest) -> bool) -> Option<Bytes> {
    let (before, message) = content.split_at_checked(BEFORE).filter(|(_, message)| message.len() > SHORT)?;
    let digest = Digest::of_parts(&[message]);
    has_reply(&digest).then(|| [before, &[MARK], digest.as_bytes()].concat().into())
}

/// Puts the replies back into the stored messages that refer to them.
pub fn restore_replies(stored: &mut HashMap<Digest, Bytes>, entries: &[Entry]) {
    if !stored.values().any(|content| reference(content).is_some()) {
        return;
    }
    let replies: HashMap<Digest, Bytes> =
        entries.iter().filter_map(reply).map(|reply| reply.encode()).collect();
    for content in stored.values_mut() {
        if let Some(message) = reference(content).and_then(|digest| replies.get(&digest)) {
            *content = [&content[..BEFORE], message].concat().into();
        }
    }
}

fn reference(content: &[u8]) -> Option<Digest> {
    let (mark, digest) = content.get(BEFORE..)?.split_first()?;
    (*mark == MARK).then(|| digest.try_into().ok().map(Digest::from_bytes)).flatten()
}

fn reply(entry: &Entry) -> Option<Message> {
    if entry.effect != EffectKind::Model || entry.phase != Phase::Finished {
        return None;
    }
    match serde_json::from_slice(entry.outcome.as_deref()?) {
        Ok(RecordedOutcome::<ModelReply>::Ok(reply)) => Some(reply.message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;

    #[test]
    fn only_replies_that_the_journal_has_are_referred_to() {
        let long = "loom ".repeat(40);
        let talk = Transcript::from_iter([
            Message::user(&long),
            Message::assistant(&long),
            Message::assistant("hm"),
        ]);
        let stored: HashMap<Digest, Bytes> =
            talk.unsaved(|_| true).map(|blob| (blob.digest, blob.content)).collect();
        let said = worth_keeping(&Message::assistant(&long)).unwrap();
        assert_eq!(worth_keeping(&Message::assistant("hm")), None);
        let kept: HashMap<Digest, Bytes> = stored
            .iter()
            .map(|(digest, content)| {
                (*digest, shortened(content, |digest| *digest == said).unwrap_or_else(|| content.clone()))
            })
            .collect();
        assert_eq!(kept.values().filter(|content| reference(content) == Some(said)).count(), 1);
        let mut unknown = kept.clone();
        restore_replies(&mut unknown, &[]);
        assert_eq!(unknown, kept, "a reply that is not there stays missing");
    }

    #[test]
    fn a_reply_that_was_referred_to_comes_back_as_it_was() {
        let said = Message::assistant("loom ".repeat(40));
        let stored: HashMap<Digest, Bytes> = Transcript::from_iter([Message::user("?"), said.clone()])
            .unsaved(|_| true)
            .map(|blob| (blob.digest, blob.content))
            .collect();
        let digest = worth_keeping(&said).unwrap();
        let shorter =
            |content: &Bytes| shortened(content, |of| *of == digest).unwrap_or_else(|| content.clone());
        let mut kept: HashMap<_, _> = stored.iter().map(|(of, content)| (*of, shorter(content))).collect();
        assert_ne!(kept, stored);
        let recorded = |message: Message| {
            let reply = ModelReply {
                message,
                finish: crate::model::FinishReason::Stop,
                usage: crate::Usage::default(),
                model: "m".to_owned(),
                request_id: None,
            };
            serde_json::to_vec(&RecordedOutcome::Ok(reply)).unwrap()
        };
        let entry = |effect, outcome: Vec<u8>| Entry {
            seq: 1,
            path: crate::Path::from("main"),
            ordinal: 0,
            effect,
            phase: Phase::Finished,
            digest: Digest::of_parts(&[]),
            at: crate::Timestamp::from_micros(0),
            request: None,
            outcome: Some(outcome.into()),
            labels: crate::Labels::default(),
        };
        // What is no reply of a model is none, whatever it looks like.
        let others =
            [entry(EffectKind::Tool, recorded(said.clone())), entry(EffectKind::Model, b"{}".to_vec())];
        let before = kept.clone();
        restore_replies(&mut kept, &others);
        assert_eq!(kept, before);
        restore_replies(&mut kept, &[entry(EffectKind::Model, recorded(said))]);
        assert_eq!(kept, stored);
    }
}
