//! Stored beginnings of long conversations in states.
//!
//! A state that has a whole conversation in it would have to be read whole before a run can go on, although the run may only want to
//! wait for the next words. Saved like this, a conversation is known by its digest, can be added to and compared, and what was said is
//! read when somebody asks for it: a model that is really called.

use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Message, Transcript};
use crate::Digest;

/// The beginning of a conversation, as it was read from a state.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPrefix {
    pub(super) digest: Digest,
    /// How many messages there are.
    pub(super) length: usize,
    /// How many bytes they are stored as.
    pub(super) encoded: usize,
    /// The messages, as the JSON of a list.
    messages: String,
    #[serde(skip)]
    read: OnceLock<Transcript>,
}

impl StoredPrefix {
    /// The messages themselves. What cannot be read is missing: see [`Transcript::is_damaged`].
    pub(super) fn read(&self) -> &Transcript {
        self.read.get_or_init(|| {
            let messages: Vec<Message> = serde_json::from_str(&self.messages).unwrap_or_default();
            messages.into()
        })
    }

    fn of(transcript: &Transcript) -> Self {
        let mut messages = transcript.beginning.as_ref().map_or("[", |beginning| beginning.open()).to_owned();
        let mut added: Vec<&[u8]> = transcript.links().map(|link| link.json()).collect();
        added.reverse();
        for json in added {
            if messages.len() > 1 {
                messages.push(',');
            }
            messages.push_str(&String::from_utf8_lossy(json));
        }
        messages.push(']');
        let (digest, length, encoded) = (transcript.digest(), transcript.len(), transcript.encoded_len());
        Self { digest, length, encoded, messages, read: OnceLock::new() }
    }

    /// The list without its end.
    fn open(&self) -> &str {
        self.messages.strip_suffix(']').unwrap_or("[")
    }
}

/// For states with conversations that may become long: `#[serde(with = "convoke_core::kept_transcript")]`. Such a state is quickly read,
/// however long the conversation is.
///
/// ```
/// # use convoke_core::{Message, Transcript};
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Talk {
///     #[serde(with = "convoke_core::kept_transcript")]
///     said: Transcript,
/// }
///
/// let said = Transcript::from_iter([Message::user("Hello"), Message::assistant("Hi.")]);
/// let json = serde_json::to_string(&Talk { said: said.clone() })?;
/// let mut read: Talk = serde_json::from_str(&json)?;
/// assert_eq!(read.said, said);
/// read.said.push(Message::user("Bye."));
/// assert_eq!(read.said.iter().map(Message::text).collect::<Vec<_>>(), ["Hello", "Hi.", "Bye."]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub mod kept_transcript {
    use std::sync::Arc;

    use super::{Deserialize, Deserializer, Serialize, Serializer, StoredPrefix, Transcript};

    /// Writes a conversation as one text, beside its digest.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(transcript: &Transcript, serializer: S) -> Result<S::Ok, S::Error> {
        StoredPrefix::of(transcript).serialize(serializer)
    }

    /// Reads a conversation, without looking at what was said.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Transcript, D::Error> {
        let beginning = StoredPrefix::deserialize(deserializer)?;
        Ok(Transcript { beginning: Some(Arc::new(beginning)), last: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Saved(#[serde(with = "kept_transcript")] Transcript);

    fn saved(transcript: &Transcript) -> Transcript {
        let json = serde_json::to_string(&Saved(transcript.clone())).unwrap();
        serde_json::from_str::<Saved>(&json).unwrap().0
    }

    #[test]
    fn a_conversation_is_the_same_however_often_it_was_kept() {
        let mut whole = Transcript::new();
        let mut often = saved(&whole);
        assert!(often.is_empty() && often.last().is_none());
        for turn in 0..4 {
            for message in [Message::user(format!("\"{turn}\" é\n")), Message::assistant("well")] {
                whole.push(message.clone());
                often.push(message);
            }
            often = saved(&often);
            assert_eq!(often, whole);
            assert_eq!((often.len(), often.encoded_len()), (whole.len(), whole.encoded_len()));
            assert!(often.iter().eq(whole.iter()) && often.last() == whole.last() && !often.is_damaged());
        }
        let stored = |talk: &Transcript| talk.unsaved(|_| true).map(|blob| blob.digest).collect::<Vec<_>>();
        assert_eq!(stored(&often), stored(&whole));
        assert_eq!(serde_json::to_value(&often).unwrap(), serde_json::to_value(&whole).unwrap());
    }

    #[test]
    fn a_state_that_was_tampered_with_is_noticed_by_whoever_reads_what_was_said() {
        let talk = Transcript::from("give Ann the money");
        let json = serde_json::to_string(&Saved(talk)).unwrap();
        for (before, after) in [("Ann", "Ben"), ("[{", "{{")] {
            let read: Saved = serde_json::from_str(&json.replace(before, after)).unwrap();
            assert!(read.0.is_damaged());
        }
    }
}
