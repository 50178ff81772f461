//! Run identifiers.
//!
//! A run's id is chosen by the caller (so that starting the same piece of work twice is one run) or minted here:
//! 26 characters that sort by creation time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The longest id a run may have, in bytes.
pub const MAX_RUN_ID_LENGTH: usize = 128;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of one run, unique within a store.
///
/// ```
/// use convoke_core::RunId;
///
/// let invoice: RunId = "invoice-2026-0042".parse()?;
/// assert_eq!(invoice.as_str(), "invoice-2026-0042");
/// assert!("no/slashes".parse::<RunId>().is_err());
/// # Ok::<(), convoke_core::InvalidRunId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(Arc<str>);

impl RunId {
    /// A fresh id: 48 bits of time, then 80 random bits, in lower-case Crockford base 32.
    #[must_use]
    pub fn mint() -> Self {
        let millis = u128::from(Timestamp::now().as_micros().unsigned_abs() / 1_000);
        let mut random = [0_u8; 16];
        // Without a random source there is no safe id to give; the operating system is broken beyond our help.
        getrandom::fill(&mut random).expect("the operating system provides randomness");
        let bits = (millis << 80) | (u128::from_be_bytes(random) >> 48);
        let text: String =
            (0..26).rev().map(|index| char::from(ALPHABET[(bits >> (index * 5)) as usize & 31])).collect();
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RunId({})", self.0)
    }
}

/// A text that cannot name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot name a run: use 1 to {MAX_RUN_ID_LENGTH} letters, digits, `.`, `_`, `:` or `-`")]
pub struct InvalidRunId(String);

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = !text.is_empty()
            && text.len() <= MAX_RUN_ID_LENGTH
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte));
        if fits { Ok(Self(text.into())) } else { Err(InvalidRunId(text.chars().take(160).collect())) }
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_ids_are_valid_unique_and_sort_by_time() {
        let first = RunId::mint();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = RunId::mint();
        assert_eq!(first.as_str().len(), 26);
        assert!(first < second);
        assert_eq!(first.as_str().parse::<RunId>(), Ok(first));
    }
}
