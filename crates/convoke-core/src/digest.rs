//! Digests of requests and messages, over a canonical form of JSON.
//!
//! Two values that are equal as JSON have the same digest whatever order their keys were written in, because a
//! dependency may switch `serde_json` to insertion order for the whole build.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// 128 bits of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The digest's bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The digest of several texts, kept apart by their lengths.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Hasher::default();
        for part in parts {
            hasher.bytes(part);
        }
        hasher.finish()
    }

    /// The digest of a JSON value, independent of the order of its keys.
    ///
    /// ```
    /// use convoke_core::Digest;
    /// use serde_json::json;
    ///
    /// assert_eq!(Digest::of_json(&json!({"a": 1, "b": 2})), Digest::of_json(&json!({"b": 2, "a": 1})));
    /// assert_ne!(Digest::of_json(&json!(["a", "b"])), Digest::of_json(&json!(["ab"])));
    /// ```
    #[must_use]
    pub fn of_json(value: &Value) -> Self {
        let mut hasher = Hasher::default();
        hasher.json(value);
        hasher.finish()
    }
}

impl Digest {
    /// The digest of a request to something with a name.
    pub(crate) fn of_request(name: &str, request: &Value) -> Self {
        let mut hasher = Hasher::default();
        hasher.text(name).json(request);
        hasher.finish()
    }
}

/// Collects what a digest is made of.
#[derive(Default)]
pub(crate) struct Hasher {
    // Small requests are the rule: one buffer and one compression beat many tiny updates.
    buffer: Vec<u8>,
}

impl Hasher {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.buffer.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.buffer.extend_from_slice(&digest.0);
        self
    }

    pub(crate) fn json(&mut self, value: &Value) -> &mut Self {
        match value {
            Value::Null => self.buffer.push(b'n'),
            Value::Bool(value) => self.buffer.push(if *value { b't' } else { b'f' }),
            Value::Number(number) => {
                self.buffer.push(b'#');
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.buffer.push(b'"');
                self.text(text);
            }
            Value::Array(items) => {
                self.buffer.push(b'[');
                self.buffer.extend_from_slice(&(items.len() as u64).to_le_bytes());
                for item in items {
                    self.json(item);
                }
            }
            Value::Object(members) => {
                self.buffer.push(b'{');
                self.buffer.extend_from_slice(&(members.len() as u64).to_le_bytes());
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                for (key, member) in sorted {
                    self.text(key).json(member);
                }
            }
        }
        self
    }

    pub(crate) fn finish(&self) -> Digest {
        let hash = blake3::hash(&self.buffer);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Digest(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// A text that is not 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: expected 32 hexadecimal digits")]
pub struct InvalidDigest(String);

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = [0; 16];
        // A sign would be read as a part of a number.
        let valid = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = valid
                .then(|| u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok())
                .flatten()
                .ok_or_else(|| InvalidDigest(text.clone()))?;
        }
        Ok(Self(bytes))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_survive_a_round_trip_as_text() {
        let digest = Digest::of_parts(&[b"loom"]);
        assert_eq!(Digest::try_from(digest.to_string()), Ok(digest));
        assert!(Digest::try_from("xyz".to_owned()).is_err());
        assert!(Digest::try_from("+a".repeat(16)).is_err(), "a sign is no digit");
    }
}
