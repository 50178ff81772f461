//! Stored beginnings of long conversations in states.
//!
//! A state that has a whole conversation in it would have to be read whole before a run can go on, although the run may only want to
//! wait for the next words. Saved like this, a conversation is known by its digest, can be added to and compared, and what was said is
//! read when somebody asks for it: a model that is really called.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Message, Transcript};
use crate::{Digest, json_source};

/// The beginning of a conversation, as it was read from a state.
pub(super) struct StoredPrefix {
    pub(super) digest: Digest,
    /// How many messages there are.
    pub(super) length: usize,
    /// How many bytes they are stored as.
    pub(super) encoded: usize,
    source: Source,
    read: OnceLock<Transcript>,
}

/// Where the messages are.
enum Source {
    /// In the JSON of a list, [as states have it](exchanged).
    Text(KeptText),
    /// One before a conversation.
    Preceding { first: Message, rest: Transcript },
}

/// A conversation as states have it.
#[derive(Serialize, Deserialize)]
struct KeptTranscript {
    digest: Digest,
    length: usize,
    encoded: usize,
    text: Option<KeptText>,
    /// The JSON as it is: how earlier builds kept it.
    #[serde(default, skip_serializing)]
    messages: String,
}

/// A text that may be long: a part of what it was read from, where that is possible.
struct KeptText(Bytes);

impl KeptText {
    fn as_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<String> for KeptText {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Serialize for KeptText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.as_str())
    }
}

impl<'de> Deserialize<'de> for KeptText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shared;
        impl<'de> Visitor<'de> for Shared {
            type Value = KeptText;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<KeptText, E> {
                Ok(KeptText(json_source::shared(text)))
            }
        }
        deserializer.deserialize_str(Shared)
    }
}

impl StoredPrefix {
    /// The messages themselves. What cannot be read is missing: see [`Transcript::is_damaged`].
    pub(super) fn read(&self) -> &Transcript {
        self.read.get_or_init(|| match &self.source {
            Source::Text(text) => {
                serde_json::from_str::<Vec<Message>>(&exchanged(&text.as_str())).unwrap_or_default().into()
            }
            Source::Preceding { first, rest } => std::iter::once(first).chain(rest.iter()).cloned().collect(),
        })
    }

    /// A message and the conversation after it, which together have this digest.
    pub(super) fn preceding(first: Message, rest: Transcript, digest: Digest) -> Self {
        let own = Transcript::from(first.clone()).encoded_len();
        let (length, encoded) = (rest.len() + 1, rest.encoded_len() + own);
        Self { digest, length, encoded, source: Source::Preceding { first, rest }, read: OnceLock::new() }
    }

    fn of(kept: KeptTranscript) -> Self {
        let KeptTranscript { digest, length, encoded, text, messages } = kept;
        let source = Source::Text(text.unwrap_or_else(|| exchanged(&messages).into()));
        Self { digest, length, encoded, source, read: OnceLock::new() }
    }
}

impl KeptTranscript {
    fn of(transcript: &Transcript) -> Self {
        let (digest, length, encoded) = (transcript.digest(), transcript.len(), transcript.encoded_len());
        let text = Some((written(transcript) + "]").into());
        Self { digest, length, encoded, text, messages: String::new() }
    }
}

/// The list of a conversation's messages, without its end.
fn written(transcript: &Transcript) -> String {
    let mut list = match transcript.beginning.as_deref() {
        None => "[".to_owned(),
        Some(StoredPrefix { source: Source::Text(text), .. }) => {
            text.as_str().strip_suffix(']').unwrap_or("[").to_owned()
        }
        Some(preceding) => written(preceding.read()),
    };
    let mut added: Vec<&[u8]> = transcript.links().map(|link| link.json()).collect();
    added.reverse();
    for json in added {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&exchanged(&String::from_utf8_lossy(json)));
    }
    list
}

/// A JSON text as it stands in the JSON of a state, and back. Quotes and backslashes would be escaped there, and once more in the record
/// that keeps the state of an earlier generation, and to read those escapes takes longer than everything else. So they change places
/// with characters that JSON has no use for.
fn exchanged(json: &str) -> String {
    let exchange = |letter| match letter {
        '"' => '`',
        '`' => '"',
        '\\' => '^',
        '^' => '\\',
        other => other,
    };
    json.chars().map(exchange).collect()
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

    use super::{Deserialize, Deserializer, KeptTranscript, Serialize, Serializer, StoredPrefix, Transcript};

    /// Writes a conversation as one text, beside its digest.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(transcript: &Transcript, serializer: S) -> Result<S::Ok, S::Error> {
        KeptTranscript::of(transcript).serialize(serializer)
    }

    /// Reads a conversation, without looking at what was said.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Transcript, D::Error> {
        let beginning = StoredPrefix::of(KeptTranscript::deserialize(deserializer)?);
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
    fn a_message_before_a_conversation_is_put_there_when_somebody_looks() {
        let instructions = Message::system("be brief");
        let mut said = saved(&Transcript::from_iter([Message::user("hello"), Message::assistant("hi")]));
        let mut whole: Transcript = std::iter::once(&instructions).chain(said.iter()).cloned().collect();
        let mut opened = said.preceded_by(instructions.clone(), whole.digest());
        for talk in [&mut said, &mut whole, &mut opened] {
            talk.push(Message::user("bye"));
        }
        assert_eq!(opened.since(3).map(Message::text).collect::<Vec<_>>(), ["bye"]);
        assert!(opened.beginning.as_ref().is_some_and(|beginning| beginning.read.get().is_none()));
        assert_eq!((&opened, opened.len(), opened.encoded_len()), (&whole, whole.len(), whole.encoded_len()));
        assert!(opened.iter().eq(whole.iter()) && !opened.is_damaged());
        assert!(saved(&opened).iter().eq(whole.iter()));
        assert!(said.preceded_by(instructions, said.digest()).is_damaged());
    }

    #[test]
    fn what_an_earlier_build_kept_is_read() {
        let talk = Transcript::from_iter([Message::user("a \"b\" `c` \\ ^"), Message::assistant("well\n")]);
        let messages = serde_json::to_string(&talk).unwrap();
        let kept = serde_json::json!({
            "digest": talk.digest(), "length": talk.len(), "encoded": talk.encoded_len(), "messages": messages,
        });
        let Saved(read) = serde_json::from_value(kept).unwrap();
        assert!(read.iter().eq(talk.iter()) && read == talk && !read.is_damaged());
        let again = saved(&read);
        assert!(again.iter().eq(talk.iter()) && !again.is_damaged());
    }

    /// A run that goes on reads its state and then mostly waits for the next words.
    #[test]
    fn what_was_said_is_not_copied_when_a_state_is_read() {
        let talk = Transcript::from_iter([Message::user("hello"), Message::assistant("hi")]);
        let json = Bytes::from(serde_json::to_vec(&Saved(talk.clone())).unwrap());
        let (Saved(read), _) = json_source::read(&json).unwrap();
        let beginning = read.beginning.as_deref().map(|beginning| &beginning.source);
        let Some(Source::Text(KeptText(text))) = beginning else { panic!("it was read from a text") };
        assert!(json.as_ptr_range().contains(&text.as_ptr()));
        assert!(read.iter().eq(talk.iter()) && saved(&read).iter().eq(talk.iter()));
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
