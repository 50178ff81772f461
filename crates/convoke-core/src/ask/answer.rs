//! Answers to questions: decisions, who made them, and when.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::message::Media;

/// An answer of the wrong kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("that does not answer the question: give {wanted}")]
pub struct InvalidAnswer {
    pub(super) wanted: String,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Yes.
    Approve,
    /// Not like this: change it as the text says.
    Revise {
        /// What to change.
        text: String,
    },
    /// No.
    Reject {
        /// Why.
        reason: String,
    },
    /// This one.
    Choose {
        /// The chosen option.
        option: String,
    },
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value.
    Json {
        /// The value.
        value: Value,
    },
    /// Pictures or documents.
    Media {
        /// At least one.
        media: Vec<Media>,
    },
}

/// A decision, by whom and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was decided.
    pub decision: Decision,
    /// Who decided; empty if nobody said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Whether an approval holds for whatever else the question [covers](super::Question::covers) in the same run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_run: bool,
}

impl Answer {
    /// An answer given now, by nobody in particular.
    #[must_use]
    pub fn new(decision: Decision) -> Self {
        Self { decision, by: String::new(), at: Timestamp::now(), for_run: false }
    }

    /// Yes.
    #[must_use]
    pub fn approve() -> Self {
        Self::new(Decision::Approve)
    }

    /// A rejection, with its reason.
    #[must_use]
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::new(Decision::Reject { reason: reason.into() })
    }

    /// Makes an answer that wants it done otherwise.
    #[must_use]
    pub fn revise(text: impl Into<String>) -> Self {
        Self::new(Decision::Revise { text: text.into() })
    }

    /// The choice of an option.
    #[must_use]
    pub fn choose(option: impl Into<String>) -> Self {
        Self::new(Decision::Choose { option: option.into() })
    }

    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Decision::Text { text: text.into() })
    }

    /// A JSON value.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::new(Decision::Json { value })
    }

    /// Pictures or documents.
    #[must_use]
    pub fn media(media: impl IntoIterator<Item = Media>) -> Self {
        Self::new(Decision::Media { media: media.into_iter().collect() })
    }

    /// The value that was given, as a type of yours; `None` if it was no value that was decided for.
    ///
    /// # Errors
    /// If the value is of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        match &self.decision {
            Decision::Json { value } => T::deserialize(value).map(Some),
            _ => Ok(None),
        }
    }

    /// Says who decided.
    #[must_use]
    pub fn by(mut self, person: impl Into<String>) -> Self {
        self.by = person.into();
        self
    }

    /// Says that an approval holds for whatever else the question covers in the same run.
    #[must_use]
    pub fn for_run(mut self) -> Self {
        self.for_run = true;
        self
    }

    /// Returns whether it is an approval.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        self.decision == Decision::Approve
    }
}
