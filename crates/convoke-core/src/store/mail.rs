//! Mail to runs, how large it may be, and what suspended runs wait for.
//!
//! Mail is kept in the order it came, whether or not anybody waits for it yet, and stays when it was received: which of it a run
//! has taken follows from the run's journal alone. An answer to a question is mail on a channel of its own, and so is the wish to
//! end a run.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use crate::ask::{Answer, QuestionId};
use crate::{RunId, Timestamp};

/// Channels that begin like this are ours.
const OWN: &str = "convoke:";
/// The channel on which a run is told to end for good.
pub const CANCEL_CHANNEL: &str = "convoke:cancel";
/// Followed by the question's id.
const REPLY: &str = "convoke:reply:";
/// Where it is kept what keys stand for.
const CLAIMS: &str = "convoke:key";
/// The longest name of a channel, in bytes.
const LONGEST_CHANNEL: usize = 200;

/// The most that is sent at once, in bytes.
const LARGEST: usize = 16 << 20;

/// Mail to be sent to a run.
///
/// ```
/// use convoke_core::store::NewMail;
///
/// let mail = NewMail::json("orders", &serde_json::json!({"pizza": 2}))?.key("order 17").sender("ann");
/// assert_eq!(mail.channel, "orders");
/// # Ok::<(), convoke_core::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewMail {
    /// Where a run looks for it.
    pub channel: String,
    /// What it is known by: of several with the same key on the same channel of a run, the first is kept.
    pub key: Option<String>,
    /// Who sends it; empty if nobody said.
    pub sender: String,
    /// What it says, as JSON.
    pub payload: Bytes,
    /// When it is sent.
    pub at: Timestamp,
}

impl NewMail {
    /// Mail with a payload that can be written as JSON.
    ///
    /// # Errors
    /// If it cannot, or if no channel can have this name.
    pub fn json(channel: impl Into<String>, payload: &(impl Serialize + ?Sized)) -> Result<Self, StoreError> {
        let channel = channel.into();
        must_be_channel(&channel)?;
        Self::on(channel, payload)
    }

    /// An answer to a question. It may come before the question is asked.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn reply(question: &QuestionId, answer: &Answer) -> Result<Self, StoreError> {
        let mail = Self::on(reply_channel(question), answer)?;
        Ok(Self { at: answer.at, ..mail.sender(answer.by.clone()) })
    }

    /// The wish that a run ends for good, and why.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn cancel(reason: &str) -> Result<Self, StoreError> {
        Self::on(CANCEL_CHANNEL.to_owned(), reason)
    }

    /// The note that a key stands for this mail, whatever channel it is sent on: sent before it, it tells who uses the key for something
    /// else. There is none for mail without a key.
    ///
    /// # Errors
    /// If it is too large.
    pub fn claim(&self) -> Result<Option<Self>, StoreError> {
        let Some(key) = &self.key else { return Ok(None) };
        let payload = serde_json::from_slice::<serde_json::Value>(&self.payload).unwrap_or_default();
        let claim = Self::on(CLAIMS.to_owned(), &(&self.channel, payload))?;
        Ok(Some(claim.key(key.clone()).sender(self.sender.clone())))
    }

    fn on(channel: String, payload: &(impl Serialize + ?Sized)) -> Result<Self, StoreError> {
        let json = serde_json::to_vec(payload)
            .map_err(|error| StoreError::Failed(format!("mail has no JSON form: {error}")))?;
        if json.len() > LARGEST {
            let size = json.len();
            return Err(StoreError::Failed(format!(
                "mail of {size} bytes is too large: send at most 16 MiB, or where it is to be found"
            )));
        }
        let (sender, at) = (String::new(), Timestamp::now());
        Ok(Self { channel, key: None, sender, payload: json.into(), at })
    }

    /// Says what it is known by, so that sending it again does nothing.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Says who sends it.
    #[must_use]
    pub fn sender(mut self, sender: impl Into<String>) -> Self {
        self.sender = sender.into();
        self
    }

    /// The question it is an answer to, if it is one.
    #[must_use]
    pub fn question(&self) -> Option<QuestionId> {
        let id = self.channel.strip_prefix(REPLY)?;
        serde_json::from_value(serde_json::Value::from(id)).ok()
    }

    /// Returns whether it is a request to cancel the run.
    #[must_use]
    pub fn is_cancel(&self) -> bool {
        self.channel == CANCEL_CHANNEL
    }
}

/// Mail that was sent to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Its number in the store: what came later has a higher one.
    pub number: u64,
    /// The channel.
    pub channel: String,
    /// Who sent it; empty if nobody said.
    pub sender: String,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says, as JSON.
    pub payload: Bytes,
}

impl Mail {
    /// Decodes the payload.
    ///
    /// # Errors
    /// If it says something of another kind.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.payload)
    }
}

/// The receipt for mail that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostReceipt {
    /// Its number; that of the earlier one if there was one with the same key.
    pub number: u64,
    /// Whether it is kept. If not, there was one with the same key.
    pub is_new: bool,
}

/// The conditions a suspended run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitConditions {
    /// It can go on at this time, whatever else happens.
    pub until: Option<Timestamp>,
    /// It can go on when there is mail on one of these channels, other than what it has taken.
    pub channels: Vec<AwaitedChannel>,
}

/// A channel that a run waits for mail on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedChannel {
    /// Its name.
    pub name: String,
    /// The run has seen everything up to this number.
    pub after: u64,
}

/// A run that can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRun {
    /// The run.
    pub run: RunId,
    /// Since when, or from when on.
    pub at: Timestamp,
}

/// The channel on which a question is answered.
#[must_use]
pub fn reply_channel(question: &QuestionId) -> String {
    format!("{REPLY}{question}")
}

/// Refuses what cannot be the name of a channel that is anybody's to use.
pub(crate) fn must_be_channel(name: &str) -> Result<(), StoreError> {
    let is_plain = !name.is_empty() && name.len() <= LONGEST_CHANNEL && !name.chars().any(char::is_control);
    if is_plain && !name.starts_with(OWN) {
        return Ok(());
    }
    Err(StoreError::NoChannel { name: name.chars().take(LONGEST_CHANNEL).collect() })
}
