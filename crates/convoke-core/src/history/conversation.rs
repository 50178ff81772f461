//! What was said to models and by them.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use serde_json::Value;

use crate::{Digest, Message, Path, Transcript};

/// The content a run's journal refers to.
#[derive(Debug, Clone, Default)]
pub struct Conversations {
    stored: HashMap<Digest, Bytes>,
}

impl Conversations {
    pub(super) fn new(stored: HashMap<Digest, Bytes>) -> Self {
        Self { stored }
    }

    /// A whole conversation. `None` if a message is missing or damaged.
    #[must_use]
    pub fn get(&self, digest: Digest) -> Option<Transcript> {
        Transcript::restore(digest, |digest| self.stored.get(digest).cloned())
    }

    /// A piece of content that is JSON by itself, such as a request's options.
    pub(super) fn json(&self, digest: &Digest) -> Option<Value> {
        serde_json::from_slice(self.stored.get(digest)?).ok()
    }

    /// For telling conversations as they grow.
    #[must_use]
    pub fn prompts(&self) -> Prompts<'_> {
        Prompts { conversations: self, told: HashMap::new() }
    }
}

/// Tells of each conversation only what its scope has not told yet: an agent's hundredth call repeats ninety-nine.
#[derive(Debug)]
pub struct Prompts<'a> {
    conversations: &'a Conversations,
    told: HashMap<Path, HashSet<Digest>>,
}

impl Prompts<'_> {
    /// The messages of a conversation that no earlier call at this path had. `None` if one is missing or damaged.
    pub fn next(&mut self, path: &Path, conversation: Digest) -> Option<Vec<Message>> {
        let told = self.told.entry(path.clone()).or_default();
        let mut messages = Vec::new();
        let mut at = conversation;
        while at != Digest::default() && told.insert(at) {
            let (before, message) = Transcript::decode_link(self.conversations.stored.get(&at)?)?;
            messages.push(message);
            at = before;
        }
        messages.reverse();
        Some(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(transcript: &Transcript) -> Conversations {
        Conversations::new(transcript.unsaved(|_| true).map(|blob| (blob.digest, blob.content)).collect())
    }

    #[test]
    fn a_growing_conversation_is_told_once_per_path() {
        let mut talk = Transcript::from_iter([Message::system("be brief"), Message::user("hello")]);
        let first = talk.digest();
        talk.extend([Message::assistant("hi"), Message::user("bye")]);
        let conversations = stored(&talk);
        let mut prompts = conversations.prompts();
        let texts = |messages: Option<Vec<Message>>| -> Vec<String> {
            messages.unwrap_or_default().iter().map(Message::text).collect()
        };
        let main = Path::from("main");
        assert_eq!(texts(prompts.next(&main, first)), ["be brief", "hello"]);
        assert_eq!(texts(prompts.next(&main, talk.digest())), ["hi", "bye"]);
        assert_eq!(prompts.next(&main, talk.digest()), Some(Vec::new()), "the same again has nothing new");
        assert_eq!(texts(prompts.next(&Path::from("other"), talk.digest())).len(), 4);
        assert_eq!(conversations.get(talk.digest()), Some(talk));
    }

    #[test]
    fn a_missing_message_makes_a_conversation_unknown_not_shorter() {
        let talk = Transcript::from("hello");
        let nothing = Conversations::default();
        assert_eq!(nothing.get(talk.digest()), None);
        assert_eq!(nothing.prompts().next(&Path::from("main"), talk.digest()), None);
    }
}
