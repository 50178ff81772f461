//! Redacts secrets in texts.
//!
//! **What it is for.** Servers and programs repeat what they were given, in errors and elsewhere. Whatever is shown or
//! written down of that goes through [`Secrets`], so that everything hides alike, and under one mark.
//!
//! **What it must never do.** Print what it knows; decide what is secret, which only its users can.

use std::fmt;

use crate::secret_fragments::without_fragments;

/// The mark that replaces a secret.
pub const HIDDEN: &str = "(hidden)";

/// The length from which on a text is taken for a secret. Hiding a shorter one would take half of what is shown with it.
const SHORTEST: usize = 4;

/// A set of secrets to redact.
///
/// ```
/// use convoke_text::redaction::Secrets;
///
/// let secrets: Secrets = ["sk-1234", "abc"].into_iter().collect();
/// assert_eq!(secrets.hide("401: sk-1234, abc"), "401: (hidden), abc", "`abc` is too short to be a secret");
/// assert_eq!(format!("{secrets:?}"), "Secrets(1)");
/// ```
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first: a secret that contains another must go first, or its rest would stay.
    texts: Vec<String>,
}

impl Secrets {
    /// Adds a secret, if it is long enough to be one.
    pub fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if text.len() >= SHORTEST && !self.texts.contains(&text) {
            let at = self.texts.partition_point(|known| known.len() >= text.len());
            self.texts.insert(at, text);
        }
    }

    /// Returns whether one of them is in the text.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        self.texts.iter().any(|secret| text.contains(secret))
    }

    /// The text without them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.texts.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }

    /// A text that somebody may have cut without them, and without what is more than half of one.
    #[must_use]
    pub fn hide_cut(&self, text: &str) -> String {
        let whole = self.hide(text);
        self.texts.iter().fold(whole, |text, secret| without_fragments(secret, &text, HIDDEN))
    }

    /// A text whose beginning is missing without them, and without what may be the rest of one.
    #[must_use]
    pub fn hide_rest(&self, text: &str) -> String {
        let rests = self.texts.iter().flat_map(|secret| secret.char_indices().map(|(at, _)| &secret[at..]));
        let rest = rests.filter(|rest| text.starts_with(rest)).map(str::len).max().unwrap_or(0);
        self.hide(&text[rest..])
    }

    /// The bytes without them.
    #[must_use]
    pub fn hide_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.texts.iter().fold(bytes.to_vec(), |bytes, secret| without(&bytes, secret.as_bytes()))
    }
}

impl<T: Into<String>> Extend<T> for Secrets {
    fn extend<I: IntoIterator<Item = T>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.add(text));
    }
}

impl<T: Into<String>> FromIterator<T> for Secrets {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut secrets = Self::default();
        secrets.extend(texts);
        secrets
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.texts.len())
    }
}

/// The bytes with every occurrence of the secret hidden.
fn without(mut bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    while let Some(at) = bytes.windows(secret.len()).position(|window| window == secret) {
        clean.extend_from_slice(&bytes[..at]);
        clean.extend_from_slice(HIDDEN.as_bytes());
        bytes = &bytes[at + secret.len()..];
    }
    clean.extend_from_slice(bytes);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_secret_by_a_cut_is_hidden_too() {
        let secrets: Secrets = ["header-0123456789-secret"].into_iter().collect();
        assert_eq!(secrets.hide_cut("not JSON: {\"x\": \"header-0123456"), "not JSON: {\"x\": \"(hidden)");
        assert_eq!(secrets.hide_cut("header-0123456789-secret, header-"), "(hidden), header-");
    }

    #[test]
    fn the_rest_of_one_is_hidden_too() {
        let secrets: Secrets = ["hush-hush"].into_iter().collect();
        assert_eq!(secrets.hide_rest("sh-hush and hush-hush"), " and (hidden)");
        assert_eq!(secrets.hide_rest("and so on"), "and so on");
    }

    #[test]
    fn the_longest_goes_first_in_texts_and_in_bytes() {
        let secrets: Secrets = ["long", "abc", "longer-one", "long"].into_iter().collect();
        assert_eq!(secrets.hide("abc long longer-one"), "abc (hidden) (hidden)");
        assert_eq!(secrets.hide_bytes(b"\xff longer-one"), b"\xff (hidden)");
        assert!(secrets.are_in("so long") && !secrets.are_in("abc"));
    }
}
