//! Headers that a configuration adds to every request.

use convoke_text::template::expand;
pub use convoke_text::template::variables;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::Environment;

/// What names of headers with secrets in them have.
const SECRET_NAMES: [&str; 6] = ["authorization", "key", "token", "secret", "cookie", "password"];

/// The headers with environment variables put in. All are marked as sensitive: nobody shows what they say, neither the
/// configuration nor an error in which a server repeats them.
///
/// # Errors
/// In words: what no header can be, and variables that are not set.
pub fn headers<'a>(
    pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
    environment: &Environment,
) -> Result<HeaderMap, String> {
    let headers = pairs.into_iter().map(|(name, text)| {
        let header: HeaderName = name.parse().map_err(|_| format!("invalid header name `{name}`"))?;
        let expanded = expand(text, |name| environment.get(name)).map_err(|error| error.to_string())?;
        let mut value = HeaderValue::from_str(&expanded)
            .map_err(|_| format!("the value of `{name}` has characters no header can carry"))?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    headers.collect()
}

/// Returns whether something of the environment goes into it.
#[must_use]
pub fn has_variables(text: &str) -> bool {
    !variables(text).is_empty()
}

/// Returns whether a header of this name usually carries a secret.
#[must_use]
pub fn names_secret(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| header.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_header_says_is_not_shown() {
        let pairs = [("x-team".to_owned(), "looms".to_owned()), ("x-api-key".to_owned(), "sk-1".to_owned())];
        let headers = headers(pairs.iter().map(|(name, text)| (name, text)), &Environment::of([])).unwrap();
        assert!(headers.values().all(HeaderValue::is_sensitive));
        assert!(!format!("{headers:?}").contains("looms"));
    }
    #[test]
    fn a_variable_that_is_never_closed_is_an_error() {
        let open = ("x-team".to_owned(), "a ${TEAM".to_owned());
        let error = headers([(&open.0, &open.1)], &Environment::of([("TEAM", "t")])).unwrap_err();
        assert!(error.starts_with("a `${` is never closed"), "{error}");
    }
}
