//! `convoke mcp`, with a small server in Python.

use insta::assert_snapshot;

use crate::place::{Place, stderr, stdout};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../convoke-mcp/tests/fake_server.py");

/// A home with servers in the user's own file.
fn place() -> Place {
    let place = Place::empty();
    let servers = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SCRIPT}', \"--only\", \"echo\", \"--only\", \"fail\", \"--only\", \"env\", \"--only\", \"ask\"]\n\
         protocol = \"initialize\"\nenv = {{ GREETING = \"${{THE_KEY}}\" }}\ntrust_annotations = true\nresources = true\n\
         [mcp.servers.gone]\ncommand = \"there-is-no-such-command\"\n"
    );
    place.write(".config/convoke/convoke.toml", servers);
    place
}

fn variables(place: &Place) -> Vec<(&'static str, String)> {
    vec![
        ("COLUMNS", "80".to_owned()),
        ("HOME", place.path().canonicalize().unwrap().display().to_string()),
        ("PATH", std::env::var("PATH").unwrap()),
        ("THE_KEY", "very-secret-value".to_owned()),
    ]
}

fn seen(place: &Place, arguments: &[&str]) -> String {
    let variables = variables(place);
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    place.seen_with(arguments, &variables).replace(SCRIPT, "[SCRIPT]")
}

#[test]
fn servers_are_listed_with_how_they_are() {
    let place = place();
    assert_snapshot!("mcp_list", seen(&place, &["mcp", "list"]));
    assert_snapshot!("mcp_list_json", seen(&place, &["mcp", "list", "--json"]));
    assert_snapshot!("mcp_list_none", seen(&Place::empty(), &["mcp", "list"]));
}

#[test]
fn tools_are_listed_under_their_exposed_names() {
    let place = place();
    assert_snapshot!("mcp_tools", seen(&place, &["mcp", "tools", "fake"]));
    assert_snapshot!("mcp_tools_all", seen(&place, &["mcp", "tools"]));
    assert_snapshot!("mcp_tools_gone", seen(&place, &["mcp", "tools", "gone"]));
    assert_snapshot!("mcp_tools_unknown", seen(&place, &["mcp", "tools", "fak"]));
    assert_snapshot!("mcp_tools_json", seen(&place, &["mcp", "tools", "fake", "--json"]));
}

#[test]
fn a_tool_is_called_by_hand() {
    let place = place();
    assert_snapshot!("mcp_call", seen(&place, &["mcp", "call", "fake", "echo", r#"{"text": "hello"}"#]));
    assert_snapshot!(
        "mcp_call_json",
        seen(&place, &["mcp", "call", "fake", "echo", r#"{"text": "hello"}"#, "--json"])
    );
    assert_snapshot!("mcp_call_failed", seen(&place, &["mcp", "call", "fake", "fail"]));
    assert_snapshot!("mcp_call_asks", seen(&place, &["mcp", "call", "fake", "ask"]));
    assert_snapshot!("mcp_call_unknown", seen(&place, &["mcp", "call", "fake", "eko"]));
    assert_snapshot!("mcp_call_no_json", seen(&place, &["mcp", "call", "fake", "echo", "hello"]));
    assert_snapshot!("mcp_call_missing", seen(&place, &["mcp", "call", "fake", "echo"]));
    let given = seen(&place, &["mcp", "call", "fake", "env", r#"{"name": "GREETING"}"#]);
    assert!(given.contains("(hidden)") && !given.contains("very-secret-value"), "{given}");
}

#[test]
fn a_folders_server_is_not_started_until_it_is_trusted() {
    let place = Place::empty();
    place.write(
        "convoke.toml",
        format!("[mcp.servers.fake]\ncommand = \"touch\"\nargs = [\"{}\"]\nsandbox = false\n", "started"),
    );
    let listed = seen(&place, &["mcp", "list"]);
    assert!(listed.contains("not trusted") && listed.contains("wants to start `touch started`"), "{listed}");
    let tools = seen(&place, &["mcp", "tools"]);
    assert!(tools.contains("wants to start") && !tools.contains("no MCP servers are configured"), "{tools}");
    let called = seen(&place, &["mcp", "call", "fake", "echo"]);
    assert!(called.contains("if you trust it as it is"), "{called}");
    assert!(!place.path().join("started").exists());

    let variables = variables(&place);
    let mut variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let listed: serde_json::Value =
        serde_json::from_str(&stdout(&place.convoke_with(&["mcp", "list", "--json"], &variables))).unwrap();
    let fingerprint = listed[0]["fingerprint"].as_str().unwrap();
    variables.push(("CONVOKE_MCP_TRUSTED", fingerprint));
    let output = place.convoke_with(&["mcp", "list"], &variables);
    assert!(stderr(&output).contains("did not become ready"), "{}", stderr(&output));
    assert!(place.path().join("started").exists(), "now it was");
}
