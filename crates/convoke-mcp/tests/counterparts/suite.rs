//! The official conformance suite: it starts a server per scenario, and drives `examples/conformance_client.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{counterparts, path};

/// The client, which is built along with the tests.
fn client() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let client = tests.parent().unwrap().parent().unwrap().join("examples/conformance_client");
    assert!(client.exists(), "build it: cargo build -p convoke-mcp --example conformance_client");
    client
}

fn passes(place: &Path, scenario: &str, revision: &str) {
    let results = tempfile::tempdir().unwrap();
    let output = Command::new(place.join("node_modules/.bin/conformance"))
        .args(["client", "--scenario", scenario, "--spec-version", revision, "--command"])
        .arg(client())
        .arg("-o")
        .arg(results.path())
        .env("PATH", path(place))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario} of {revision}: {said}");
}

#[test]
fn the_revision_with_initialize() {
    let Some(place) = counterparts() else { return };
    let scenarios = [
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ];
    for scenario in scenarios {
        passes(&place, scenario, "2025-11-25");
    }
    for scenario in ["initialize", "tools_call"] {
        passes(&place, scenario, "2025-06-18");
    }
}

#[test]
fn the_stateless_revision() {
    let Some(place) = counterparts() else { return };
    let scenarios = [
        "tools_call",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-2020-12-preservation",
        "json-schema-ref-no-deref",
        "request-metadata",
        "sep-2322-client-request-state",
    ];
    for scenario in scenarios {
        passes(&place, scenario, "2026-07-28");
    }
}
