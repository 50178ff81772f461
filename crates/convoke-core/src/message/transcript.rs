//! A conversation that only grows, and whose every prefix has a digest.
//!
//! Each message is encoded and hashed once, when it is added. The digest of a transcript covers its last message and
//! the digest of everything before, so asking for it costs nothing however long the conversation is, and the journal
//! can refer to a whole conversation by one digest while storing each message once.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Message;
use super::stored_prefix::StoredPrefix;
use crate::Digest;
use crate::journal::Blob;

/// The bytes that say what came before a message.
const BEFORE: usize = 16;

/// Messages in order. A copy costs nothing, however long the conversation is, and so does a message that is added: whoever goes on
/// from the same beginning shares it.
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
    /// What came before all links, if it was read from a state.
    pub(super) beginning: Option<Arc<StoredPrefix>>,
    pub(super) last: Option<Arc<Link>>,
}

/// A message, what it is stored as, and what is known of the conversation up to and including it.
pub(super) struct Link {
    before: Option<Arc<Link>>,
    message: Message,
    content: Bytes,
    digest: Digest,
    /// How many messages there are.
    length: usize,
    /// How many bytes they are stored as.
    encoded: usize,
}

impl Link {
    /// The message alone, as JSON.
    pub(super) fn json(&self) -> &[u8] {
        &self.content[BEFORE..]
    }
}

impl Drop for Link {
    /// One after another: dropped within each other, the messages of a long conversation would not fit on the stack.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut link) = before.and_then(Arc::into_inner) {
            before = link.before.take();
        }
    }
}

impl Transcript {
    /// Returns an empty transcript.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        let (own, json) = message.encode();
        let before = self.digest();
        let digest = Digest::of_parts(&[before.as_bytes(), own.as_bytes()]);
        let mut content = Vec::with_capacity(json.len() + BEFORE);
        content.extend_from_slice(before.as_bytes());
        content.extend_from_slice(&json);
        let (length, encoded) = (self.len() + 1, self.encoded_len() + content.len());
        let before = self.last.take();
        self.last =
            Some(Arc::new(Link { before, message, content: content.into(), digest, length, encoded }));
    }

    /// Returns how many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let before = || self.beginning.as_ref().map_or(0, |beginning| beginning.length);
        self.last.as_ref().map_or_else(before, |last| last.length)
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The messages, first to last.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator {
        self.since(0)
    }

    /// The messages after the first `known`, first to last. What came before them is not looked at, however long it is.
    pub fn since(&self, known: usize) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator {
        let newer: Vec<&Message> = self.newest_first().take(self.len().saturating_sub(known)).collect();
        newer.into_iter().rev()
    }

    /// The messages, last to first. Whoever stops early has not looked at what came before.
    pub fn newest_first(&self) -> impl Iterator<Item = &Message> {
        self.all_links().map(|link| &link.message)
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&Message> {
        self.newest_first().next()
    }

    /// This conversation with a message before its first, if the digest of that is known: then it costs nothing, where putting
    /// something before a long conversation otherwise takes as long as it is. A digest that is not the right one is noticed before a
    /// model is asked.
    #[must_use]
    pub fn preceded_by(&self, first: Message, digest: Digest) -> Self {
        Self { beginning: Some(Arc::new(StoredPrefix::preceding(first, self.clone(), digest))), last: None }
    }

    /// The messages that came after those of another transcript, first to last; `None` if this one does not begin with that. Costs
    /// as much as there are such messages.
    #[must_use]
    pub fn added_to(&self, earlier: &Self) -> Option<Vec<&Message>> {
        let count = self.len().checked_sub(earlier.len())?;
        let mut newest = self.all_links();
        let mut added: Vec<&Message> = newest.by_ref().take(count).map(|link| &link.message).collect();
        added.reverse();
        let reached = newest.next().map_or_else(Digest::default, |link| link.digest);
        (reached == earlier.digest()).then_some(added)
    }

    /// The digest of the whole conversation; all zeros for an empty one.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let before = || self.beginning.as_ref().map_or(Digest::default(), |beginning| beginning.digest);
        self.last.as_ref().map_or_else(before, |last| last.digest)
    }

    /// Returns how many bytes of JSON the messages have: a measure of size, not of tokens.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let before = || self.beginning.as_ref().map_or(0, |beginning| beginning.encoded);
        self.last.as_ref().map_or_else(before, |last| last.encoded)
    }

    /// Returns what must be stored so that [`restore`](Self::restore) finds the conversation: newest first, as long as
    /// `is_new` says so. A message that is stored has all its predecessors stored.
    pub fn unsaved<'a>(
        &'a self,
        mut is_new: impl FnMut(&Digest) -> bool + 'a,
    ) -> impl Iterator<Item = Blob> + 'a {
        self.all_links()
            .take_while(move |link| is_new(&link.digest))
            .map(|link| Blob { digest: link.digest, content: link.content.clone() })
    }

    fn all_links(&self) -> impl Iterator<Item = &Link> {
        // What was read from a state is looked into only by whoever comes that far.
        self.links().chain(self.beginning.iter().flat_map(|beginning| beginning.read().links()))
    }

    /// What was added since it was read from a state, newest first.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.last.as_deref(), |link| link.before.as_deref())
    }

    /// Whether it was read from a state that is not what was written.
    pub(crate) fn is_damaged(&self) -> bool {
        self.beginning.as_ref().is_some_and(|beginning| beginning.read().digest() != beginning.digest)
    }

    /// Reads one stored message: the digest of the conversation before it, and the message itself.
    ///
    /// Whoever shows a journal follows these links from a conversation's digest back to its beginning.
    #[must_use]
    pub fn decode_link(content: &[u8]) -> Option<(Digest, Message)> {
        let json = content.get(BEFORE..)?;
        Some((Self::digest_before(content)?, serde_json::from_slice(json).ok()?))
    }

    /// The digest of the conversation before a stored message, which may only say which reply it is.
    pub(crate) fn digest_before(content: &[u8]) -> Option<Digest> {
        content.first_chunk::<BEFORE>().map(|before| Digest::from_bytes(*before))
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

    #[test]
    fn those_who_go_on_from_the_same_beginning_do_not_see_each_other() {
        let beginning = Transcript::from_iter([Message::system("be brief"), Message::user("hello")]);
        let (mut one, mut other) = (beginning.clone(), beginning.clone());
        one.push(Message::assistant("hi"));
        other.extend([Message::assistant("good day"), Message::user("bye")]);
        let texts = |talk: &Transcript| talk.iter().map(Message::text).collect::<Vec<_>>().join(", ");
        assert_eq!(texts(&beginning), "be brief, hello");
        assert_eq!(texts(&one), "be brief, hello, hi");
        assert_eq!(texts(&other), "be brief, hello, good day, bye");
        assert_eq!((beginning.len(), one.len(), other.iter().len()), (2, 3, 4));
        let read: Transcript = serde_json::from_value(serde_json::to_value(&other).unwrap()).unwrap();
        assert_eq!((&read, read.encoded_len()), (&other, other.encoded_len()));
    }

    #[test]
    fn a_conversation_may_be_longer_than_the_stack_is_deep() {
        let mut talk = Transcript::new();
        for _ in 0..200_000 {
            talk.push(Message::user(""));
        }
        let shared = talk.clone();
        drop(talk);
        assert_eq!(shared.len(), 200_000);
        drop(shared);
    }
}
