//! Headers that a configuration adds to every request.

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
        let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name for a header"))?;
        let expanded = expanded(text, environment)?;
        let mut value = HeaderValue::from_str(&expanded)
            .map_err(|_| format!("the value of `{name}` has characters no header can carry"))?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    headers.collect()
}

/// Whether something of the environment goes into it.
#[must_use]
pub fn has_variables(text: &str) -> bool {
    !variables(text).is_empty()
}

/// The environment variables that go into it.
#[must_use]
pub fn variables(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('$') {
        rest = after.strip_prefix('$').unwrap_or(after);
        if let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            names.push(name);
            rest = after;
        }
    }
    names
}

/// Whether a header of this name usually carries a secret.
#[must_use]
pub fn names_secret(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| header.contains(secret))
}

/// Puts environment variables in for `${NAME}`; `$$` is a dollar.
fn expanded(text: &str, environment: &Environment) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            let value = environment.get(name);
            expanded.push_str(&value.ok_or_else(|| format!("the environment variable {name} is not set"))?);
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
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
}
