//! An API key, which is never shown.

use std::fmt;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

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

    /// Returns whether there is nothing in it.
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

    /// The key itself, for whoever hides it in texts.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
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
