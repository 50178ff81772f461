//! Tools that an Agentfile names and that are not there: it is said why, and what to do about it.

use crate::place::{Place, at_home, stderr, stdout};

/// A goal with these tools, whose model calls none of them.
fn place(tools: &str) -> Place {
    let place = Place::empty();
    place.write("Agentfile", format!("NAME x\nGOAL a \"Do it\" TOOLS {tools}\nRUN main USING a\n"));
    place.write("script.toml", "[[rule]]\nreply = \"Done.\"\n");
    place
}

const RUN: [&str; 3] = ["run", "-m", "scripted/script.toml"];

#[test]
fn of_a_built_in_tool_that_is_not_there_it_is_said_why() {
    let told = |place: &Place, variables: &[(&str, &str)]| stderr(&at_home(place, variables, &RUN));
    let seen = told(&place("read, write"), &[("CONVOKE_WORKSPACE_READ_ONLY", "true")]);
    assert!(seen.contains("there is no `write` here: `workspace.read_only` is set"), "{seen}");
    let seen = told(&place("weather"), &[]);
    assert!(seen.contains("no tool is called `weather`"), "{seen}");
    let searching = place("web_search");
    searching.write(OWN, "version = 1\n[tools.web_search]\ndecision = \"allow\"\n");
    let seen = told(&searching, &[]);
    assert!(seen.contains("web_search is of no use here: no service is set up"), "{seen}");
}

#[test]
fn a_misspelt_tool_is_an_error_before_anything_is_run() {
    let place = place("raed");
    let ran = at_home(&place, &[], &RUN);
    let seen = stderr(&ran);
    assert_eq!((ran.status.code(), stdout(&ran).as_str()), (Some(1), ""), "{seen}");
    assert!(seen.contains("there is no tool `raed`") && seen.contains("did you mean `read`?"), "{seen}");
    assert!(!place.file().exists(), "no run was begun");
}

/// The user's own policy, at home.
const OWN: &str = ".config/convoke/policy.toml";

#[test]
fn what_a_policy_rules_out_is_there_once_what_is_said_is_written() {
    let place = place("web_fetch");
    let seen = stderr(&at_home(&place, &[], &RUN));
    assert!(seen.contains("there is no `web_fetch` here: the policy rules it out"), "{seen}");
    assert!(!seen.contains("no tool is called"), "{seen}");
    let line = "tools.web_fetch.decision = \"ask\"";
    let file = place.path().canonicalize().unwrap().join(OWN).display().to_string();
    assert!(seen.contains(line) && seen.contains(&file), "{seen}");
    place.write(OWN, format!("version = 1\n{line}\n"));
    let done = at_home(&place, &[], &RUN);
    assert_eq!((stdout(&done).as_str(), stderr(&done).contains("web_fetch")), ("Done.\n", false));
    // Whoever has no home is not told of a file there.
    let homeless = stderr(&place.convoke(&RUN));
    assert!(homeless.contains("into a file that you name with --policy"), "{homeless}");
}

#[test]
fn a_dry_run_starts_no_servers() {
    let place = place("mcp_fake_echo, weather");
    let server = "[mcp.servers.fake]\ncommand = \"touch\"\nargs = [\"started\"]\n";
    place.write(".config/convoke/convoke.toml", server);
    let dry = at_home(&place, &[], &[&RUN[..], &["--dry-run"]].concat());
    let seen = stderr(&dry);
    assert_eq!(dry.status.code(), Some(0), "{seen}");
    assert!(!place.path().join("started").exists());
    assert!(seen.contains("MCP servers are not started") && seen.contains("not checked: fake"), "{seen}");
    assert!(!seen.contains("mcp_fake_echo"), "nobody knows whether it is there: {seen}");
    assert!(seen.contains("no tool is called `weather`"), "{seen}");
    assert!(!place.file().exists());
    at_home(&place, &[], &RUN);
    assert!(place.path().join("started").exists(), "a run starts them");
}
