//! Conversations with models.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;

use convoke_core::{Digest, Message, Path, Transcript};

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

    /// Returns a reader of conversations as they grow.
    #[must_use]
    pub fn prompts(&self) -> PromptDeltas<'_> {
        PromptDeltas { conversations: self, told: HashMap::new(), asked: HashMap::new() }
    }
}

/// Gives of each conversation only what it has not given yet: an agent's hundredth call repeats ninety-nine.
///
/// The turns of an agent have paths of their own (`main/turn#2`), and so has the same step when it is repeated. A call
/// whose conversation goes on from that of an earlier call at the same place is told from there; one that only begins
/// alike, or is the same again at another path, is told whole.
#[derive(Debug)]
pub struct PromptDeltas<'a> {
    conversations: &'a Conversations,
    /// What was told at each path: the digest of a conversation, and how many messages it has.
    told: HashMap<Path, HashMap<Digest, usize>>,
    /// What was asked at each place, whichever repetition it was: the same.
    asked: HashMap<Path, HashMap<Digest, usize>>,
}

/// The messages a call adds to its conversation.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PromptDelta {
    /// How many messages were told before.
    pub before: usize,
    /// Those that follow.
    pub messages: Vec<Message>,
}

impl PromptDeltas<'_> {
    /// Returns what this call adds to what was given before. `None` if a message is missing or damaged.
    pub fn next(&mut self, path: &Path, conversation: Digest) -> Option<PromptDelta> {
        let told = self.told.entry(path.clone()).or_default();
        let asked = self.asked.entry(path.without_repetitions()).or_default();
        let mut messages = Vec::new();
        let mut links = Vec::new();
        let mut at = conversation;
        let before = loop {
            if at == Digest::default() {
                break 0;
            }
            let known = told.get(&at).or_else(|| asked.get(&at).filter(|_| at != conversation));
            if let Some(length) = known {
                break *length;
            }
            let (previous, message) = Transcript::decode_link(self.conversations.stored.get(&at)?)?;
            messages.push(message);
            links.push(at);
            at = previous;
        };
        messages.reverse();
        told.extend(links.into_iter().rev().zip(before + 1..));
        asked.insert(conversation, before + messages.len());
        Some(PromptDelta { before, messages })
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
        let texts = |prompt: Option<PromptDelta>| -> Vec<String> {
            prompt.unwrap_or_default().messages.iter().map(Message::text).collect()
        };
        let main = Path::from("main");
        assert_eq!(texts(prompts.next(&main, first)), ["be brief", "hello"]);
        assert_eq!(texts(prompts.next(&main, talk.digest())), ["hi", "bye"]);
        let again = Some(PromptDelta { before: 4, messages: Vec::new() });
        assert_eq!(prompts.next(&main, talk.digest()), again, "the same again has nothing new");
        assert_eq!(texts(prompts.next(&Path::from("other"), talk.digest())).len(), 4);
        assert_eq!(conversations.get(talk.digest()), Some(talk));
    }

    #[test]
    fn a_conversation_that_goes_on_in_a_repetition_is_told_from_there() {
        let mut talk = Transcript::from_iter([Message::system("be brief"), Message::user("hello")]);
        let first = talk.digest();
        talk.extend([Message::assistant("hi"), Message::user("bye")]);
        let other = Transcript::from_iter([Message::system("be brief"), Message::user("good day")]);
        let mut conversations = stored(&talk);
        conversations.stored.extend(stored(&other).stored);
        let mut prompts = conversations.prompts();
        let mut told = |path: &str, conversation| {
            let prompt = prompts.next(&Path::from(path), conversation).unwrap();
            (prompt.before, prompt.messages.len())
        };
        assert_eq!(told("main/turn/model", first), (0, 2));
        assert_eq!(told("main/turn#2/model", talk.digest()), (2, 2), "it goes on");
        assert_eq!(told("main/turn#3/model", other.digest()), (0, 2), "it only begins alike");
        assert_eq!(told("main/turn#4/model", first), (0, 2), "it begins anew");
        assert_eq!(told("main/judge", talk.digest()), (0, 4), "it is somebody else's");
    }

    #[test]
    fn a_missing_message_makes_a_conversation_unknown_not_shorter() {
        let talk = Transcript::from("hello");
        let nothing = Conversations::default();
        assert_eq!(nothing.get(talk.digest()), None);
        assert_eq!(nothing.prompts().next(&Path::from("main"), talk.digest()), None);
    }
}
