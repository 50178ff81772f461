//! The note for a command that wanted the network where it is closed.

/// What programs say when they cannot find another machine, in lower case.
const WORDS: &[&str] = &[
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "failed to lookup address information",
    "network is unreachable",
    "no address associated with hostname",
    "eai_again",
    "enotfound",
    "enetunreach",
    // npm, pip, cargo, go and gem tell it in words of their own.
    "could not find a version that satisfies",
    "failed to establish a new connection",
    "failed to download from",
    "spurious network error",
    "dial tcp: lookup",
    "getaddrinfo",
];

const NOTE: &str = "the network is closed to commands. A person can open it to the hosts that are needed: \
    `commands.network = \"hosts\"` and `commands.hosts.allow = [\"registry.example\"]` in their own policy.toml";

/// What to say where the policy opens the network to some hosts, and commands have no network of their own.
pub(crate) const NO_NETWORK_OF_ITS_OWN: &str = "the network is closed to commands. The policy opens it to some hosts, and nothing can hold a \
    command to these here: that takes a network namespace for each command, and none can be made, so it reaches no host at all";

/// Says, if a command's words show that it wanted the network, that the network is closed, and how it is opened.
///
/// ```
/// use convoke_tools::network::closed_note;
///
/// assert!(closed_note("curl: (6) Could not resolve host: example.com").is_some());
/// assert!(closed_note("error: 3 tests failed").is_none());
/// ```
#[must_use]
pub fn closed_note(said: &str) -> Option<&'static str> {
    wanted_network(said).then_some(NOTE)
}

/// Whether a command's words show that it wanted the network.
pub(crate) fn wanted_network(said: &str) -> bool {
    let said = said.to_lowercase();
    WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wanted_the_network_is_told_that_it_is_closed() {
        for said in [
            "curl: (6) Could not resolve host: example.com",
            "npm error code EAI_AGAIN\nnpm error request to https://registry.example/x failed",
            "npm error code ENOTFOUND",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "ERROR: Could not find a version that satisfies the requirement requests",
            "error: failed to download from `https://registry.example/config.json`",
            "fatal: unable to access 'https://example.com/': Could not resolve host: example.com",
            "go: module x: Get \"https://modules.example/x\": dial tcp: lookup modules.example: no such host",
        ] {
            assert!(closed_note(said).is_some_and(|note| note.contains("policy.toml")), "{said}");
        }
    }

    #[test]
    fn whatever_else_goes_wrong_is_not_blamed_on_the_network() {
        for said in [
            "",
            "error[E0308]: mismatched types",
            "Permission denied",
            "connect ECONNREFUSED 127.0.0.1:5432",
            "No such file or directory",
        ] {
            assert_eq!(closed_note(said), None, "{said}");
        }
    }
}
