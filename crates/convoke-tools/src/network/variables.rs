//! Environment variables that tell programs of the proxy.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What is reached without it: the command's own loopback.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// Variables whose value is the proxy, each with whom it is for.
const PROXY: &[&str] = &[
    // Nearly everybody: curl, git, cargo, pip, requests, go, wget. curl reads only the lower case for plain http.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    // Protocols that have no variable of their own. It names HTTP, although SOCKS is spoken here as well: Python's httpx
    // refuses to start where it finds SOCKS here and a package is missing.
    "ALL_PROXY",
    "all_proxy",
    // These have a configuration that would go before the variables above, and may name a proxy that is not there.
    "CARGO_HTTP_PROXY",
    "PIP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];

/// The variables that have a command's programs use the proxy that listens at this port of its loopback.
#[must_use]
pub fn variables(port: u16) -> BTreeMap<String, OsString> {
    let proxy = format!("http://127.0.0.1:{port}");
    let own = PROXY.iter().map(|name| (*name, proxy.as_str()));
    let direct = ["NO_PROXY", "no_proxy", "npm_config_noproxy"].map(|name| (name, DIRECT));
    // Node's own client looks at variables only if it is told to.
    let node = [("NODE_USE_ENV_PROXY", "1")];
    own.chain(direct).chain(node).map(|(name, value)| (name.to_owned(), value.into())).collect()
}
