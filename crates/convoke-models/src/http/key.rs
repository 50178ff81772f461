//! A provider's key, which is never shown.

use std::fmt;

use convoke_text::pieces::without_pieces;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// What stands where the key stood.
const HIDDEN_KEY: &str = "(key hidden)";

/// A key that prints as nothing.
///
/// ```
/// use convoke_models::ApiKey;
///
/// let key = ApiKey::new(" sk-very-secret\n");
/// assert_eq!(format!("{key:?}"), "ApiKey(hidden)");
/// ```
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// This key, without the blanks and line ends that copying leaves around it.
    #[must_use]
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(SecretString::from(key.as_ref().trim()))
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.expose_secret().is_empty()
    }

    /// A header's value with it, marked as sensitive. `None` if it has characters no header can carry.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0.expose_secret())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The text without the key, and without what a cut has left of it: some servers repeat what they were sent.
    pub(crate) fn redact(&self, text: &str) -> String {
        let key = self.0.expose_secret();
        // A very short key would take half the text with it, and is none.
        if key.len() < 4 {
            return text.to_owned();
        }
        without_pieces(key, &text.replace(key, HIDDEN_KEY), HIDDEN_KEY)
    }

    /// Tells keys apart without showing them.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        *blake3::hash(self.0.expose_secret().as_bytes()).as_bytes()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(hidden)")
    }
}
