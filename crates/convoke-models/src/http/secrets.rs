//! The secrets of a request, and texts without them.
//!
//! **What it is for.** Servers repeat what they were sent, in errors and elsewhere. Whatever is shown or written down of
//! an exchange goes through here, so that errors and cassettes hide the same things.
//!
//! **What it must never do.** Print what it knows.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_text::pieces::without_pieces;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName};

/// What stands where a secret stood.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Headers whose values are secrets even if nobody marked them.
const SECRET_HEADERS: [&str; 4] = ["x-api-key", "x-goog-api-key", "api-key", "x-auth-token"];

/// Words that give away a query parameter whose value is a secret.
const SECRET_WORDS: [&str; 8] =
    ["token", "secret", "password", "signature", "credential", "apikey", "api_key", "api-key"];

/// A shorter text is no secret, and hiding it would take half of what is shown with it.
const SHORTEST_SECRET: usize = 4;

/// Texts that must not be shown.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// The longest first: a secret that contains another must go first, or its rest would stay.
    texts: Vec<String>,
}

impl Secrets {
    /// What a request with these headers to this address carries in secret.
    pub(crate) fn of(headers: &HeaderMap, url: &str) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers {
            if value.is_sensitive() || is_secret_header(name) {
                let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
                // `Bearer sk-…`: the key may turn up without the word before it.
                if let Some((_, word)) = text.rsplit_once(' ') {
                    secrets.add(word.to_owned());
                }
                secrets.add(text);
            }
        }
        let address = Address::of(url);
        if let Some(user) = address.user {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            // A name without a password is a key.
            let secret = if password.is_empty() { name } else { password };
            secrets.add(secret.to_owned());
            secrets.add(decoded(secret));
            // As the header has it: `Basic dXNlcjpwYXNz`.
            secrets.add(STANDARD.encode(format!("{}:{}", decoded(name), decoded(password))));
        }
        for (name, value) in parameters(address.query) {
            if is_secret_parameter(name) {
                secrets.add(value.to_owned());
            }
        }
        secrets
    }

    /// One more.
    pub(crate) fn add(&mut self, text: String) {
        if text.len() >= SHORTEST_SECRET && !self.texts.contains(&text) {
            let at = self.texts.partition_point(|known| known.len() >= text.len());
            self.texts.insert(at, text);
        }
    }

    /// Whether one of them is in the text.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.texts.iter().any(|secret| text.contains(secret))
    }

    /// The text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.texts.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }

    /// A text that somebody may have cut without them, and without what is more than half of one.
    pub(crate) fn hide_cut(&self, text: &str) -> String {
        let whole = self.hide(text);
        self.texts.iter().fold(whole, |text, secret| without_pieces(secret, &text, HIDDEN))
    }

    /// The bytes without them.
    pub(crate) fn hide_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.texts.iter().fold(bytes.to_vec(), |bytes, secret| without(&bytes, secret.as_bytes()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.texts.len())
    }
}

/// An address as it may be shown: without user and password, and without what secret parameters say.
pub(crate) fn shown_address(url: &str) -> String {
    let Address { scheme, place, query, .. } = Address::of(url);
    let query = query.map(|query| format!("?{}", shown_query(query))).unwrap_or_default();
    format!("{scheme}{place}{query}")
}

/// A query with the values of secret parameters hidden.
pub(crate) fn shown_query(query: &str) -> String {
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    });
    parameters.collect::<Vec<_>>().join("&")
}

/// An address, taken apart without being checked: one that is none must not be shown either.
struct Address<'a> {
    /// With `://`, if there is one.
    scheme: &'a str,
    user: Option<&'a str>,
    /// The host, its port and the path.
    place: &'a str,
    query: Option<&'a str>,
}

impl<'a> Address<'a> {
    fn of(url: &'a str) -> Self {
        let (scheme, rest) = match url.find("://") {
            Some(at) => url.split_at(at + 3),
            None => ("", url),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (user, rest) = match rest[..end].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let (place, query) = match rest.split_once('?') {
            Some((place, query)) => (place, Some(query)),
            None => (rest, None),
        };
        Self { scheme, user, place, query }
    }
}

/// What is written with percent signs in an address, as it is sent.
fn decoded(text: &str) -> String {
    // A plus sign means a blank in a form, and itself before the host.
    let form = format!("={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn parameters(query: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
    query.unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='))
}

fn is_secret_header(name: &HeaderName) -> bool {
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) || SECRET_HEADERS.contains(&name.as_str())
}

fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "sig", "auth"].contains(&name.as_str()) || SECRET_WORDS.iter().any(|word| name.contains(word))
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
    fn an_address_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("http://u:pw-secret@h:1/v1?a=b&api_key=k1#f", "http://h:1/v1?a=b&api_key=(hidden)"),
            ("https://h/v1/a@b", "https://h/v1/a@b"),
            ("u:p@ss@h", "h"),
            ("", ""),
        ] {
            assert_eq!(shown_address(url), shown);
        }
    }

    #[test]
    fn a_password_is_found_as_it_is_sent() {
        let secrets = Secrets::of(&HeaderMap::new(), "http://user:p%40ss+word@h/v1");
        // The base64 of `user:p@ss+word`.
        let echo = "401: Basic dXNlcjpwQHNzK3dvcmQ= p@ss+word p%40ss+word";
        assert_eq!(secrets.hide(echo), "401: Basic (hidden) (hidden) (hidden)");
        let secrets = Secrets::of(&HeaderMap::new(), "http://only-a-key@h/v1");
        assert_eq!(secrets.hide("Basic b25seS1hLWtleTo= only-a-key"), "Basic (hidden) (hidden)");
    }

    #[test]
    fn what_is_left_of_a_secret_by_a_cut_is_hidden_too() {
        let mut secrets = Secrets::default();
        secrets.add("header-0123456789-secret".to_owned());
        assert_eq!(secrets.hide_cut("not JSON: {\"x\": \"header-0123456"), "not JSON: {\"x\": \"(hidden)");
        assert_eq!(secrets.hide_cut("header-0123456789-secret, header-"), "(hidden), header-");
    }

    #[test]
    fn the_longest_secret_goes_first() {
        let mut secrets = Secrets::of(&HeaderMap::new(), "http://u:long@h/?key=longer-one");
        secrets.add("abc".to_owned());
        assert_eq!(secrets.hide("abc long longer-one"), "abc (hidden) (hidden)");
    }
}
