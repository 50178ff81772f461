//! Classifies addresses (same origin, on this machine) and shows them without secrets.

use convoke_text::redaction::HIDDEN;
use url::{Host, Url};

/// Words that give away a query parameter whose value is a secret.
const SECRET_WORDS: [&str; 8] =
    ["token", "secret", "password", "signature", "credential", "apikey", "api_key", "api-key"];

/// The host of an address, in small letters.
#[must_use]
pub fn host(address: &str) -> Option<String> {
    Some(Url::parse(address).ok()?.host_str()?.to_ascii_lowercase())
}

/// Returns whether two addresses are of one server, reached in the same way: scheme, host and port.
#[must_use]
pub fn same_origin(first: &str, second: &str) -> bool {
    match (Url::parse(first), Url::parse(second)) {
        (Ok(first), Ok(second)) => first.origin() == second.origin(),
        _ => false,
    }
}

/// Returns whether an address is on this machine: loopback, `localhost`, and the names under it, which are nobody else's
/// (RFC 6761).
///
/// ```
/// use convoke_http::address::is_local;
///
/// assert!(is_local("http://localhost:11434/v1") && is_local("http://a.localhost") && is_local("http://[::1]"));
/// assert!(!is_local("https://localhost.example") && !is_local("http://127.0.0.1.evil.example"));
/// ```
#[must_use]
pub fn is_local(address: impl AsRef<str>) -> bool {
    let Ok(url) = Url::parse(address.as_ref()) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(number)) => number.is_loopback(),
        Some(Host::Ipv6(number)) => number.to_canonical().is_loopback(),
        None => false,
    }
}

/// An address as it may be shown: without name, password, query and fragment.
///
/// ```
/// use convoke_http::address::shown;
///
/// assert_eq!(shown("http://ann:secret@proxy.example:8080/v1?key=k#f"), "http://proxy.example:8080/v1");
/// assert_eq!(shown("what is this"), "(not an address)");
/// ```
#[must_use]
pub fn shown(address: impl AsRef<str>) -> String {
    // What cannot be taken apart may have anything in it.
    let Ok(mut url) = Url::parse(address.as_ref()) else { return "(not an address)".to_owned() };
    // Both fail only for addresses that can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    // The slash that stands for no path at all is nobody's.
    let text = url.as_str();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text.to_owned() }
}

/// An address as it may be shown where its query matters, without what secret parameters say. It need not be a valid one.
///
/// ```
/// use convoke_http::address::shown_with_query;
///
/// assert_eq!(shown_with_query("http://u:pw@h:1/v1?a=b&api_key=k1#f"), "http://h:1/v1?a=b&api_key=(hidden)");
/// ```
#[must_use]
pub fn shown_with_query(address: &str) -> String {
    // Readers of addresses pass over line ends and tabs, wherever they are.
    let address = address.replace(char::is_control, "");
    let Parts { scheme, place, query, .. } = Parts::of(&address);
    let query = query.map(|query| format!("?{}", shown_query(query))).unwrap_or_default();
    format!("{scheme}{place}{query}")
}

/// A query with the values of secret parameters hidden.
#[must_use]
pub fn shown_query(query: &str) -> String {
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    });
    parameters.collect::<Vec<_>>().join("&")
}

/// An address, taken apart without being checked: one that is none must not be shown either.
pub(crate) struct Parts<'a> {
    /// With the colon and the slashes behind it, if there is one.
    scheme: &'a str,
    /// The name, and perhaps the password behind a colon.
    pub(crate) user: Option<&'a str>,
    /// The host, its port and the path.
    place: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(address: &'a str) -> Self {
        let (address, _fragment) = address.split_once('#').unwrap_or((address, ""));
        let (scheme, rest) = address.split_at(scheme_of(address));
        let end = rest.find(['/', '\\', '?']).unwrap_or(rest.len());
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

    /// The values of parameters that are secret by their names.
    pub(crate) fn secret_values(&self) -> impl Iterator<Item = &'a str> {
        let parameters = self.query.unwrap_or_default().split('&');
        let pairs = parameters.filter_map(|parameter| parameter.split_once('='));
        pairs.filter(|(name, _)| is_secret_parameter(name)).map(|(_, value)| value)
    }
}

/// The length of the scheme and the slashes behind it, as leniently as browsers take them: `http:/`, `https:\\`, `//`.
fn scheme_of(address: &str) -> usize {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    let name = address.find(|character| !is_part(character)).unwrap_or(address.len());
    let colon = if address[name..].starts_with(':') { name + 1 } else { 0 };
    let slashes = address[colon..].bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    if slashes > usize::from(colon == 0) { colon + slashes } else { 0 }
}

fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "sig", "auth"].contains(&name.as_str()) || SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("http://u:pw-secret@h:1/v1?a=b&api_key=k1#f", "http://h:1/v1?a=b&api_key=(hidden)"),
            ("https://h/v1/a@b", "https://h/v1/a@b"),
            ("https://h/v1#access_token=t", "https://h/v1"),
            ("/login?next=a@b", "/login?next=a@b"),
            ("u:p@ss@h", "h"),
            ("//u:p@h/x", "//h/x"),
            ("http:/u:p@h/x", "http:/h/x"),
            ("https:\\\\u:p@h\\x", "https:\\\\h\\x"),
            ("ht\ttp://u:p@h", "http://h"),
            ("", ""),
        ] {
            assert_eq!(shown_with_query(url), shown);
        }
        assert_eq!(shown("http://ann:secret@proxy.example:8080/?key=k#f"), "http://proxy.example:8080");
        assert_eq!(shown("https://h.example/simple/?page=2"), "https://h.example/simple/");
    }

    #[test]
    fn this_machine_is_known_by_every_name_it_has() {
        for here in [
            "http://127.0.0.1:1/v1",
            "http://127.9.9.9",
            "http://localhost",
            "http://LOCALHOST./",
            "http://x.localhost:8080",
            "http://[::1]:8080",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(is_local(here), "{here}");
        }
        for elsewhere in [
            "http://127.0.0.1.evil.example",
            "https://localhost.example",
            "https://notlocalhost",
            "http://0.0.0.0",
            "http://10.0.0.1",
            "nonsense",
        ] {
            assert!(!is_local(elsewhere), "{elsewhere}");
        }
    }
}
