//! Collects the secrets that a request carries.
//!
//! What it must never do: take for harmless what nobody marked. Headers and parameters whose names give them away are
//! secret too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_text::redaction::Secrets;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName};

use crate::address::Parts;

/// Headers whose values are secrets even if nobody marked them.
const SECRET_HEADERS: [&str; 4] = ["x-api-key", "x-goog-api-key", "api-key", "x-auth-token"];

/// Returns the secrets in these headers and this address.
#[must_use]
pub fn secrets_of(headers: &HeaderMap, url: &str) -> Secrets {
    let mut secrets = Secrets::default();
    for (name, value) in headers {
        if value.is_sensitive() || is_secret_header(name) {
            let text = String::from_utf8_lossy(value.as_bytes());
            // `Bearer sk-…`: the key may turn up without the word before it.
            secrets.extend(text.rsplit_once(' ').map(|(_, word)| word));
            secrets.add(text);
        }
    }
    let address = Parts::of(url);
    if let Some(user) = address.user {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        // A name without a password is a key.
        let secret = if password.is_empty() { name } else { password };
        secrets.add(secret);
        secrets.add(decoded(secret));
        // As the header has it: `Basic dXNlcjpwYXNz`.
        secrets.add(STANDARD.encode(format!("{}:{}", decoded(name), decoded(password))));
    }
    secrets.extend(address.secret_values());
    secrets
}

/// What is written with percent signs in an address, as it is sent.
fn decoded(text: &str) -> String {
    // A plus sign means a blank in a form, and itself before the host.
    let form = format!("={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn is_secret_header(name: &HeaderName) -> bool {
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) || SECRET_HEADERS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_as_it_is_sent() {
        let secrets = secrets_of(&HeaderMap::new(), "http://user:p%40ss+word@h/v1");
        // The base64 of `user:p@ss+word`.
        let echo = "401: Basic dXNlcjpwQHNzK3dvcmQ= p@ss+word p%40ss+word";
        assert_eq!(secrets.hide(echo), "401: Basic (hidden) (hidden) (hidden)");
        let secrets = secrets_of(&HeaderMap::new(), "http://only-a-key@h/v1");
        assert_eq!(secrets.hide("Basic b25seS1hLWtleTo= only-a-key"), "Basic (hidden) (hidden)");
    }

    #[test]
    fn headers_and_parameters_are_secret_by_their_names() {
        let headers = [(AUTHORIZATION, http::HeaderValue::from_static("Bearer sk-1"))].into_iter().collect();
        let secrets = secrets_of(&headers, "http://u:long@h/?key=longer-one&page=seven");
        assert_eq!(
            secrets.hide("Bearer sk-1 sk-1 long longer-one seven"),
            "(hidden) (hidden) (hidden) (hidden) seven"
        );
    }
}
