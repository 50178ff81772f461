//! Parses `OLLAMA_HOST`, the address of an Ollama server.

/// Ollama's own port.
const OLLAMA_PORT: u16 = 11434;

/// What `OLLAMA_HOST` means: a host, perhaps with a port, perhaps with a scheme; all addresses are this machine.
pub(super) fn address_of(host: &str) -> String {
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
        assert_eq!(address_of("0.0.0.0"), "http://127.0.0.1:11434");
        assert_eq!(address_of("10.0.0.7:99"), "http://10.0.0.7:99");
        assert_eq!(address_of("https://ollama.example/"), "https://ollama.example");
    }
}
