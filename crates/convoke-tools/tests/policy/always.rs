//! The rule that lets one call through, for a person who says "always".

use convoke_core::{ToolEffect, ToolSpec};
use convoke_tools::policy::{Policy, PolicyGate, PolicyOutcome};
use convoke_tools::workspace::Workspace;
use serde_json::{Value, json};

/// The rule for a call in this workspace, with a tool `store` of the server `memory`.
fn rule(workspace: Option<&Workspace>, tool: &str, arguments: &Value) -> Option<String> {
    let mut gate = PolicyGate::new(Policy::default()).mcp("store", "memory", "store_fact");
    if let Some(workspace) = workspace {
        gate = gate.workspace(workspace);
    }
    let spec = ToolSpec::new(tool, "", [ToolEffect::Spawns].into());
    gate.narrowest(&spec, arguments).map(|rule| rule.to_string())
}

#[test]
fn it_says_no_more_than_it_has_to() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let top = workspace.path().display();
    for (tool, arguments, expected) in [
        (
            "bash",
            json!({"command": "cargo  test --all"}),
            "commands.allow = [\"cargo test --all $\"]".to_owned(),
        ),
        ("bash", json!({"command": "make", "folder": "src"}), "commands.allow = [\"make $\"]".to_owned()),
        ("git", json!({"args": ["push", "origin"]}), "commands.allow = [\"git push origin $\"]".to_owned()),
        ("rm", json!({"path": "./a/b"}), format!("tools.rm.paths.allow = [\"{top}/a/b\"]")),
        ("rm", json!({"path": "a*"}), format!("tools.rm.paths.allow = [\"{top}/a[*]\"]")),
        (
            "web_fetch",
            json!({"url": "https://docs.rs/x?y"}),
            "tools.web_fetch.domains.allow = [\"docs.rs\"]".to_owned(),
        ),
        ("store", json!({"path": "x"}), "mcp.allow = [\"memory:store_fact\"]".to_owned()),
        ("deploy", json!({"path": "x"}), "tools.deploy.decision = \"allow\"".to_owned()),
    ] {
        assert_eq!(rule(Some(&workspace), tool, &arguments), Some(expected), "{tool} {arguments}");
    }
}

#[test]
fn there_is_none_where_it_would_say_more() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let commands = ["rm *.o", "rm ?", "rm [ab]", "ls\nmake", "ls a\\ b", "echo \"x\"", "echo 'x'", "", "  "];
    for command in commands {
        assert_eq!(rule(Some(&workspace), "bash", &json!({"command": command})), None, "{command:?}");
    }
    for (tool, arguments) in [
        ("mv", json!({"source": "a", "destination": "b"})),
        ("git", json!({"args": ["add", "*.rs"]})),
        ("web_fetch", json!({"url": "file:///etc/passwd"})),
    ] {
        assert_eq!(rule(Some(&workspace), tool, &arguments), None, "{tool} {arguments}");
    }
    assert_eq!(rule(None, "rm", &json!({"path": "a"})), None, "where that is, is not known");
}

#[test]
fn a_policy_with_it_lets_the_call_through_and_its_neighbour_not() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let gate = PolicyGate::new(Policy::default()).workspace(&workspace);
    let effects = [ToolEffect::Writes, ToolEffect::Irreversible].into();
    for (tool, call, neighbour) in [
        ("bash", json!({"command": "git push origin"}), json!({"command": "git push upstream"})),
        // What is destroyed is named: nothing else may stand behind it.
        ("bash", json!({"command": "rm -r a"}), json!({"command": "rm -r a .git src"})),
        ("bash", json!({"command": "git push origin"}), json!({"command": "git push origin --force"})),
        ("git", json!({"args": ["push", "origin"]}), json!({"args": ["push", "origin", "--force"]})),
        ("bash", json!({"command": "make"}), json!({"command": "rm -r make"})),
        ("rm", json!({"path": "a[1]"}), json!({"path": "a1"})),
        ("web_fetch", json!({"url": "https://docs.rs/x"}), json!({"url": "https://crates.io/x"})),
    ] {
        let spec = ToolSpec::new(tool, "", effects);
        let rule = gate.narrowest(&spec, &call).unwrap();
        let with = gate.with_policies([crate::policy(&rule.to_string())]);
        assert_eq!(with.decide(&spec, &call).outcome, PolicyOutcome::Allow, "{rule}");
        assert_ne!(with.decide(&spec, &neighbour).outcome, PolicyOutcome::Allow, "{rule}");
    }
}
