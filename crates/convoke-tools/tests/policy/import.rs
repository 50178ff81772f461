//! Importing policies of other programs.

use convoke_tools::network::Destination;
use convoke_tools::policy::{Policy, PolicyOutcome, import};

fn translated(text: &str) -> (Policy, String) {
    let imported = import::translate(text, "old.toml").unwrap();
    let policy =
        Policy::parse_at_home(&imported.text, "new.toml", Some(std::path::Path::new("/home/ann"))).unwrap();
    let notes: Vec<String> = imported.notes.iter().map(|note| format!("note: {note}\n")).collect();
    (policy, format!("{}\n{}", imported.text, notes.concat()))
}

#[test]
fn the_newer_dialect() {
    let (policy, text) = translated(
        "default_deny = true\nallowed_dirs = [\"/tmp\"]\nnonsense = 3\n\
         [tools.read]\n[tools.write]\nallow = [\"$WORKSPACE/**\"]\ndeny = [\"**/*.lock\", \"a**b\"]\ntimeout = 5\n\
         [tools.bash]\nallow = [\"ls *\", \"git status\"]\nsandbox = \"none\"\n[tools.web_fetch]\nallow = [\"*.google.com\"]\n\
         [mcp]\nenabled = true\nallow = [\"files:*\", \"nothing\"]\n[content.security]\npatterns = [\"x:y\"]\n",
    );
    insta::assert_snapshot!(text);
    assert_eq!(policy.command("ls -l").outcome, PolicyOutcome::Allow);
    assert_eq!(policy.command("rm x").outcome, PolicyOutcome::Deny);
    assert_eq!(policy.address("web_fetch", "https://google.com").outcome, PolicyOutcome::Allow);
    assert_eq!(policy.address("web_search", "https://google.com").outcome, PolicyOutcome::Deny);
    assert_eq!(policy.mcp_tool("files", "read").outcome, PolicyOutcome::Allow);
    assert_eq!(policy.mcp_tool("other", "read").outcome, PolicyOutcome::Deny);
}

#[test]
fn the_older_dialect() {
    let (policy, text) = translated(
        "default_deny = false\n[mcp]\ndefault_deny = true\nallowed_tools = [\"files:read\", \"*\"]\n[security]\nextra_keywords = [\"x\"]\n\
         [web_fetch]\nenabled = true\nrate_limit = 30\nallow_domains = [\"github.com\"]\n[write]\nenabled = false\n\
         [bash]\nenabled = true\nallowlist = [\"make\"]\ndenylist = [\"rm -rf *\", \"a | b\"]\n[edit]\nallowed_dirs = [\"./src\"]\n",
    );
    insta::assert_snapshot!(text);
    assert_eq!(policy.command("make test").outcome, PolicyOutcome::Allow);
    assert_eq!(policy.command("ls").outcome, PolicyOutcome::Deny);
}

#[test]
fn what_is_denied_there_is_denied_here() {
    let (policy, _) = translated("[tools.bash]\n[mcp]\nenabled = false\nallow = [\"a:*\"]\n");
    assert_eq!(policy.mcp_tool("a", "b").outcome, PolicyOutcome::Deny);
    assert_eq!(policy.address("web_fetch", "https://example.com").outcome, PolicyOutcome::Deny);
    let (policy, _) = translated(
        "default_deny = true\n[bash]\nallowlist = []\n[web_fetch]\nallow_domains = [\"no/host\"]\n",
    );
    assert_eq!(policy.address("web_fetch", "https://example.com").outcome, PolicyOutcome::Deny);
    assert_eq!(policy.command("ls").outcome, PolicyOutcome::Deny);
}

#[test]
fn what_is_no_policy_of_others_is_refused() {
    let told = |text: &str| import::translate(text, "old.toml").unwrap_err().to_string();
    assert!(told("version = 1\n").contains("already"));
    assert!(told("[x\n").contains("not valid TOML"));
}

#[test]
fn domains_of_bash_become_the_hosts_that_commands_reach() {
    let old = "default_deny = true\n[tools.bash]\nallow_domains = [\"*.crates.io\", \"no host\"]\n";
    let imported = import::translate(old, "old.toml").unwrap();
    let policy = Policy::parse(&imported.text, "policy.toml").unwrap();
    let outcome = |host: &str| policy.command_host(&Destination::parse(host).unwrap()).outcome;
    assert_eq!(outcome("index.crates.io:443"), PolicyOutcome::Allow);
    assert_eq!(outcome("example.com:443"), PolicyOutcome::Deny);
    assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
}
