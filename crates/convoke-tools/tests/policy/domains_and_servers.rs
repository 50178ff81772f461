//! Rules about hosts and MCP servers.

use convoke_core::ToolEffect;
use convoke_tools::policy::{Policy, PolicyCall, PolicyGate, PolicyOutcome, Subject};

use crate::policy;

#[test]
fn agentcore_238_hosts_are_matched_as_wholes() {
    let policy = policy(
        "[tools.web_fetch.domains]\nallow = [\"example.com\", \"*.google.com\"]\ndeny = [\"evil.google.com\"]\n",
    );
    let outcome = |url: &str| policy.address("web_fetch", url).outcome;
    for url in [
        "https://example.com/x",
        "http://EXAMPLE.com.",
        "https://google.com",
        "https://a.b.google.com:8443/x?y",
    ] {
        assert_eq!(outcome(url), PolicyOutcome::Allow, "{url}");
    }
    for url in [
        "https://www.example.com",
        "https://evilgoogle.com",
        "https://google.com.evil.org",
        "https://evil.google.com",
        "https://google.com@evil.org/",
        "file:///etc/passwd",
        "ftp://example.com",
        "example.com",
        "https://",
        "https://evil.org#.google.com",
        "https://evil.org\\.google.com",
    ] {
        assert_eq!(outcome(url), PolicyOutcome::Deny, "{url}");
    }
    let any = crate::policy(
        "[tools.web_fetch.domains]\nallow = [\"*\"]\ndeny = [\"*.evil.org\"]\nask = [\"ask.org\"]\n",
    );
    assert_eq!(any.address("web_fetch", "https://anything.net").outcome, PolicyOutcome::Allow);
    assert_eq!(any.address("web_fetch", "https://evil.org").outcome, PolicyOutcome::Deny);
    assert_eq!(any.address("web_fetch", "https://ask.org").outcome, PolicyOutcome::Ask);
    let disabled = crate::policy("[tools.web_fetch]\ndecision = \"deny\"\ndomains.allow = [\"*\"]\n");
    assert_eq!(disabled.address("web_fetch", "https://example.com").outcome, PolicyOutcome::Deny);
    // Without a list, what holds is what holds for the network: not that everything is allowed.
    assert_eq!(Policy::default().address("web_fetch", "https://example.com").outcome, PolicyOutcome::Deny);
    let open = crate::policy("[defaults]\nnetwork = \"allow\"\n");
    assert_eq!(open.address("web_fetch", "https://example.com").outcome, PolicyOutcome::Allow);
}

#[test]
fn a_decision_for_the_tool_holds_for_hosts_that_are_not_listed() {
    let policy = policy("[tools.web_fetch]\ndecision = \"ask\"\ndomains.allow = [\"docs.rs\"]\n");
    assert_eq!(policy.address("web_fetch", "https://docs.rs/x").outcome, PolicyOutcome::Allow);
    assert_eq!(policy.address("web_fetch", "https://example.com").outcome, PolicyOutcome::Ask);
}

#[test]
fn agent_077_what_servers_offer_is_asked_about_denied_with_a_reason_or_allowed_by_a_pattern() {
    // Where the Go `agent` program allows it with a warning, we ask.
    assert_eq!(Policy::default().mcp_tool("memory", "store").outcome, PolicyOutcome::Ask);
    let closed = policy("[mcp]\ndefault = \"deny\"\nallow = [\"memory:*\"]\n");
    let denied = closed.mcp_tool("files", "read");
    assert_eq!(denied.outcome, PolicyOutcome::Deny);
    assert!(denied.denial().contains("files:read") && denied.denial().contains("mcp.default"), "{denied}");
    for tool in ["store", "search", "anything"] {
        assert_eq!(closed.mcp_tool("memory", tool).outcome, PolicyOutcome::Allow);
    }
    assert_eq!(closed.mcp_tool("memory-2", "store").outcome, PolicyOutcome::Deny);
}

#[test]
fn agentcore_240_tools_of_servers_are_asked_about_unless_a_list_says_otherwise() {
    // Where the Go `agent` program allows all with a warning, we ask.
    let decision = Policy::default().mcp_tool("files", "read");
    assert_eq!(decision.outcome, PolicyOutcome::Ask);
    assert!(decision.because.contains("files:read"), "{decision}");
    let open = policy("[mcp]\ndefault = \"allow\"\n");
    assert_eq!(open.mcp_tool("files", "read").outcome, PolicyOutcome::Allow);
    let closed = policy("[mcp]\ndefault = \"deny\"\n");
    assert_eq!(closed.mcp_tool("files", "read").outcome, PolicyOutcome::Deny);
    let listed = policy(
        "[mcp]\nallow = [\"files:read\", \"git:*\", \"*:ping\"]\ndeny = [\"git:push\"]\nask = [\"git:tag\"]\n",
    );
    for (server, tool, outcome) in [
        ("files", "read", PolicyOutcome::Allow),
        ("files", "write", PolicyOutcome::Deny),
        ("git", "log", PolicyOutcome::Allow),
        ("git", "push", PolicyOutcome::Deny),
        ("git", "tag", PolicyOutcome::Ask),
        ("other", "ping", PolicyOutcome::Allow),
        ("github", "log", PolicyOutcome::Deny),
    ] {
        assert_eq!(listed.mcp_tool(server, tool).outcome, outcome, "{server}:{tool}");
    }
    // A pattern without a server or a tool would never match: it is refused.
    for pattern in ["files", "files:", ":read", ":"] {
        let text = format!("version = 1\n[mcp]\nallow = [\"{pattern}\"]\n");
        let error = Policy::parse(&text, "policy.toml").unwrap_err();
        assert!(error.to_string().contains(":*` is all tools of a server"), "{pattern}: {error}");
    }
}

#[test]
fn agentcore_241_of_several_policies_the_strictest_decides() {
    // Where the Go `agent` program lets the last file win, no file can loosen what another one says.
    let users = policy("[mcp]\nallow = [\"a:*\"]\n[commands]\ndeny = [\"make deploy\"]\n");
    let folders = policy(
        "[commands]\nallow = [\"make\", \"curl\"]\nask = [\"cargo publish\"]\n[defaults]\nnetwork = \"allow\"\n",
    );
    let gate = PolicyGate::new(folders.clone()).and(users.clone());
    let bash = convoke_core::ToolSpec::new("bash", "", [ToolEffect::Spawns].into());
    let outcome = |command: &str| gate.decide(&bash, &serde_json::json!({"command": command})).outcome;
    assert_eq!(outcome("make test"), PolicyOutcome::Allow);
    assert_eq!(outcome("make deploy"), PolicyOutcome::Deny);
    assert_eq!(outcome("curl x"), PolicyOutcome::Deny);
    assert_eq!(outcome("cargo publish"), PolicyOutcome::Ask);
    let fetch = convoke_core::ToolSpec::new("web_fetch", "", [ToolEffect::Network].into());
    let decision = gate.decide(&fetch, &serde_json::json!({"url": "https://example.com"}));
    assert_eq!(decision.outcome, PolicyOutcome::Deny);

    // Whichever is named first; and of three, the strictest still.
    let turned = PolicyGate::new(users).and(folders);
    let more = turned.clone().and(policy("[commands]\ndeny = [\"make test\"]\n"));
    for command in ["make test", "make deploy", "curl x", "cargo publish"] {
        let decide = |gate: &PolicyGate| gate.decide(&bash, &serde_json::json!({"command": command})).outcome;
        assert_eq!(decide(&turned), outcome(command), "{command}");
        let expected = if command == "make test" { PolicyOutcome::Deny } else { outcome(command) };
        assert_eq!(decide(&more), expected, "{command}");
    }
}

#[test]
fn arguments_of_other_tools_are_judged_if_the_policy_says_what_they_are() {
    let policy = policy(
        "[tools.upload]\narguments = { file = \"path\", to = \"url\", run = \"command\" }\npaths.deny = [\"private/**\"]\ndomains.allow = [\"example.com\"]\ndecision = \"allow\"\n",
    );
    let spec = convoke_core::ToolSpec::new("upload", "", [ToolEffect::Network].into());
    let outcome = |arguments| policy.decide(&policy.call(&spec, &arguments)).outcome;
    assert_eq!(outcome(serde_json::json!({"file": "x", "to": "https://example.com"})), PolicyOutcome::Allow);
    assert_eq!(
        outcome(serde_json::json!({"file": ["x", "private/y"], "to": "https://example.com"})),
        PolicyOutcome::Deny
    );
    assert_eq!(outcome(serde_json::json!({"run": "curl x"})), PolicyOutcome::Deny);
}

#[test]
fn programs_without_a_shell_are_judged_by_the_same_rules() {
    let git = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let call = PolicyCall::new("git", [ToolEffect::Reads].into()).about(Subject::Program(words));
        Policy::default().decide(&call).outcome
    };
    assert_eq!(git(&["git", "status"]), PolicyOutcome::Allow);
    assert_eq!(git(&["git", "push"]), PolicyOutcome::Ask);
    assert_eq!(git(&["git", "config", "--global", "x", "y"]), PolicyOutcome::Deny);
}

#[test]
fn agent_169_hosts_by_name_and_below_a_domain_each_time_anew() {
    // Every redirection is asked about like the first address; private addresses are refused by web_fetch itself.
    let policy = policy("[tools.web_fetch.domains]\nallow = [\"*.trusted.com\", \"docs.rs\"]\n");
    for (url, outcome) in [
        ("https://docs.rs/x", PolicyOutcome::Allow),
        ("https://trusted.com", PolicyOutcome::Allow),
        ("https://api.trusted.com", PolicyOutcome::Allow),
        ("https://untrusted.com", PolicyOutcome::Deny),
        ("http://127.0.0.1/", PolicyOutcome::Deny),
        ("http://169.254.169.254/latest", PolicyOutcome::Deny),
        ("http://[::1]/", PolicyOutcome::Deny),
    ] {
        assert_eq!(policy.address("web_fetch", url).outcome, outcome, "{url}");
    }
}
