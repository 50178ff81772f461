//! Addresses: whose they are, and how to show them.

use std::net::IpAddr;

use url::{Host, Url};

/// Ollama's own port.
const OLLAMA_PORT: u16 = 11434;

/// The host of an address, in small letters.
#[must_use]
pub fn host(address: &str) -> Option<String> {
    Some(Url::parse(address).ok()?.host_str()?.to_ascii_lowercase())
}

/// Whether an address is on this machine.
#[must_use]
pub fn is_here(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        None => false,
    }
}

/// An address without the name, the password and the query that may be in it.
#[must_use]
pub fn shown(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return "(an address that makes no sense)".to_owned() };
    // Both fail only for addresses that can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// What `OLLAMA_HOST` means: a host, perhaps with a port, perhaps with a scheme; all addresses are this machine.
pub(super) fn of_ollama(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = rest.replace("0.0.0.0", "127.0.0.1");
    let has_port =
        rest.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_port || scheme == "https" {
        format!("{scheme}://{rest}")
    } else {
        format!("{scheme}://{rest}:{OLLAMA_PORT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollamas_own_variable_is_understood_as_ollama_does() {
        assert_eq!(of_ollama("0.0.0.0"), "http://127.0.0.1:11434");
        assert_eq!(of_ollama("10.0.0.7:99"), "http://10.0.0.7:99");
        assert_eq!(of_ollama("https://ollama.example/"), "https://ollama.example");
    }

    #[test]
    fn passwords_are_not_shown_and_this_machine_is_known() {
        assert_eq!(shown("http://ann:secret@proxy.example:8080/v1?key=k#f"), "http://proxy.example:8080/v1");
        for here in ["http://127.0.0.1:1/v1", "http://localhost", "http://[::1]:8080"] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in ["http://127.0.0.1.evil.example", "https://localhost.example", "nonsense"] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
