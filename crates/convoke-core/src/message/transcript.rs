//! A conversation that only grows, and whose every prefix has a digest.
//!
//! Each message is encoded and hashed once, when it is added. The digest of a transcript covers its last message and
//! the digest of everything before, so asking for it costs nothing however long the conversation is, and the journal
//! can refer to a whole conversation by one digest while storing each message once.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Message;
use crate::Digest;
use crate::journal::Blob;

/// Messages in order.
///
/// ```
/// use convoke_core::{Message, Transcript};
///
/// let mut talk = Transcript::from_iter([Message::system("Be brief."), Message::user("Hello")]);
/// let before = talk.digest();
/// talk.push(Message::assistant("Hi."));
/// assert_eq!(talk.len(), 3);
/// assert_ne!(talk.digest(), before);
/// ```
#[derive(Clone, Default)]
pub struct Transcript {
    links: Vec<Arc<Link>>,
}

/// A message, what it is stored as, and the digest of the conversation up to and including it.
struct Link {
    message: Message,
    digest: Digest,
    content: Bytes,
}

impl Transcript {
    /// No messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        let (own, json) = message.encode();
        let before = self.digest();
        let digest = Digest::of_parts(&[before.as_bytes(), own.as_bytes()]);
        let mut content = Vec::with_capacity(json.len() + 16);
        content.extend_from_slice(before.as_bytes());
        content.extend_from_slice(&json);
        self.links.push(Arc::new(Link { message, digest, content: content.into() }));
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The messages, first to last.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator {
        self.links.iter().map(|link| &link.message)
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&Message> {
        self.links.last().map(|link| &link.message)
    }

    /// The digest of the whole conversation; all zeros for an empty one.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.links.last().map_or(Digest::default(), |link| link.digest)
    }

    /// How many bytes of JSON the messages have: a measure of size, not of tokens.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.links.iter().map(|link| link.content.len()).sum()
    }

    /// What must be stored so that [`restore`](Self::restore) finds the conversation: newest first, as long as
    /// `is_new` says so. A message that is stored has all its predecessors stored.
    pub fn unsaved<'a>(
        &'a self,
        mut is_new: impl FnMut(&Digest) -> bool + 'a,
    ) -> impl Iterator<Item = Blob> + 'a {
        self.links
            .iter()
            .rev()
            .take_while(move |link| is_new(&link.digest))
            .map(|link| Blob { digest: link.digest, content: link.content.clone() })
    }

    /// Reads one stored message: the digest of the conversation before it, and the message itself.
    ///
    /// Whoever shows a journal follows these links from a conversation's digest back to its beginning.
    #[must_use]
    pub fn decode_link(content: &[u8]) -> Option<(Digest, Message)> {
        let (before, json) = content.split_first_chunk::<16>()?;
        Some((Digest::from_bytes(*before), serde_json::from_slice(json).ok()?))
    }

    /// Puts a stored conversation together again. `None` if a message is missing or damaged.
    pub fn restore(digest: Digest, mut stored: impl FnMut(&Digest) -> Option<Bytes>) -> Option<Self> {
        let mut messages = Vec::new();
        let mut at = digest;
        while at != Digest::default() {
            let (before, message) = Self::decode_link(&stored(&at)?)?;
            messages.push(message);
            at = before;
        }
        Some(messages.into_iter().rev().collect())
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut transcript = Self::new();
        transcript.extend(messages);
        transcript
    }
}

impl Extend<Message> for Transcript {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl From<Vec<Message>> for Transcript {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl From<Message> for Transcript {
    fn from(message: Message) -> Self {
        std::iter::once(message).collect()
    }
}

/// A user's message.
impl From<&str> for Transcript {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

/// A user's message.
impl From<String> for Transcript {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Message>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_grown_conversation_stores_only_what_is_new_and_restores_whole() {
        let mut stored: HashMap<Digest, Bytes> = HashMap::new();
        let mut talk = Transcript::from("hello");
        for blob in talk.unsaved(|_| true).collect::<Vec<_>>() {
            stored.insert(blob.digest, blob.content);
        }
        talk.push(Message::assistant("hi"));
        talk.push(Message::user("bye"));
        let fresh: Vec<_> = talk.unsaved(|digest| !stored.contains_key(digest)).collect();
        assert_eq!(fresh.len(), 2);
        stored.extend(fresh.into_iter().map(|blob| (blob.digest, blob.content)));
        let restored = Transcript::restore(talk.digest(), |digest| stored.get(digest).cloned());
        assert_eq!(restored, Some(talk));
    }
}
