//! Other keys of a policy: protection, limits, the sandbox; and that every key is documented.

use convoke_core::ToolEffect;
use convoke_tools::policy::{
    CommandNetwork, KEYS, Policy, PolicyCall, PolicyOutcome, RulePlace, Sandboxing, Subject,
};
use convoke_tools::workspace::{Protected, Protection};
use std::path::Path;

use crate::policy;

#[test]
fn a_policy_adds_to_what_is_protected_and_takes_nothing_away() {
    let policy = policy("protected = [\"*.sqlite\"]\nread_only = [\"Cargo.lock\"]\n");
    let protected = policy.protect(Protected::defaults());
    assert_eq!(protected.of(Path::new("deep/x.sqlite")), Some(Protection::Secret));
    assert_eq!(protected.of(Path::new("Cargo.lock")), Some(Protection::ReadOnly));
    assert_eq!(protected.of(Path::new("policy.toml")), Some(Protection::Secret));
    let decision = policy.command("echo > data.sqlite");
    assert_eq!(decision.rule.key, "protected", "{decision}");
    assert!(Policy::parse("version = 1\nprotected = [\"/abs\"]\n", "p").is_err());
}

#[test]
fn what_is_denied_to_all_tools_is_hidden_from_searches_and_commands() {
    let policy =
        policy("[paths]\ndeny = [\"secrets/**\", \"**/*.sqlite\", \"$WORKSPACE/a/b.txt\", \"/etc/**\"]\n");
    let protected = policy.protect(Protected::defaults());
    for path in ["secrets", "secrets/deep/x", "x/y.sqlite", "a/b.txt"] {
        assert_eq!(protected.of(Path::new(path)), Some(Protection::Secret), "{path}");
    }
    assert_eq!(protected.of(Path::new("etc/x")), None);
    assert_eq!(protected.of(Path::new("src/secrets.rs")), None);
}

#[test]
fn limits_and_the_sandbox_are_said() {
    let set = policy(
        "sandbox = \"off\"\n[limits]\ntool_calls = 100\ncpu_seconds = 5\nmemory_mb = 512\nprocesses = 9\nfile_mb = 7\noutput_mb = 3\n[tools.web_search]\ncalls = 3\n[commands]\nnetwork = true\n",
    );
    assert_eq!(set.sandbox(), Sandboxing::Off);
    assert_eq!(set.command_network(), CommandNetwork::Open);
    let limits = set.limits();
    let all = [
        limits.tool_calls,
        limits.cpu_seconds,
        limits.memory_mb,
        limits.processes,
        limits.file_mb,
        limits.output_mb,
    ];
    assert_eq!(all, [Some(100), Some(5), Some(512), Some(9), Some(7), Some(3)]);
    let budget = set.budget(&convoke_core::Limits::default().tool_calls(50).calls_of("web_search", 9));
    assert_eq!((budget.tool_calls, budget.per_tool["web_search"]), (Some(50), 3));
    let default = Policy::default();
    assert_eq!((default.sandbox(), default.command_network()), (Sandboxing::Required, CommandNetwork::None));
}

/// Every key, each with a value that is not its default.
const EVERYTHING: &str = r#"version = 1
sandbox = "landlock"
readable = ["/opt/x"]
protected = ["*.sqlite"]
read_only = ["Cargo.lock", "*.snap"]
[defaults]
reads = "ask"
writes = "deny"
spawns = "allow"
network = "ask"
irreversible = "deny"
[tools.upload]
decision = "ask"
calls = 3
arguments.file = "path"
arguments.to = "url"
paths.allow = ["a"]
paths.ask = ["b"]
paths.deny = ["c"]
domains.allow = ["a.org"]
domains.ask = ["b.org"]
domains.deny = ["c.org"]
[paths]
within = ["d"]
ask = ["e"]
deny = ["f"]
[commands]
default = "deny"
unclear = "deny"
network = "hosts"
hosts.default = "deny"
hosts.allow = ["m.org:443"]
hosts.ask = ["n.org"]
hosts.deny = ["*.o.org"]
allow = ["g"]
ask = ["h"]
deny = ["i"]
[mcp]
default = "allow"
allow = ["j:*"]
ask = ["k:*"]
deny = ["l:*"]
[limits]
tool_calls = 11
cpu_seconds = 12
memory_mb = 13
processes = 14
file_mb = 15
output_mb = 16
"#;

fn shown(policy: &Policy) -> Vec<(String, String)> {
    let line = |place: &RulePlace| match place {
        RulePlace::File { line, .. } => format!(" (line {line})"),
        RulePlace::BuiltIn => String::new(),
    };
    let settings = policy.settings().into_iter();
    settings.map(|setting| (setting.key, setting.value + &line(&setting.place))).collect()
}

#[test]
fn everything_that_is_set_is_shown_with_its_line() {
    let mut shown = shown(&Policy::parse(EVERYTHING, "policy.toml").unwrap());
    for key in KEYS.iter().filter(|key| key.path != "version") {
        let path = key.path.replacen('*', "upload", 1).replacen('*', "file", 1);
        assert!(shown.iter().any(|(shown, _)| *shown == path), "{path}");
    }
    // What is built in holds behind what is set.
    for built_in in [("commands.ask", "git push"), ("commands.deny", "curl"), ("commands.deny", "mkfs.*")] {
        assert!(shown.iter().any(|(key, value)| (&**key, &**value) == built_in), "{built_in:?}");
    }
    shown.retain(|(key, value)| !key.starts_with("commands.") || value.contains("(line"));
    let lines: Vec<String> = shown.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn where_nothing_is_set_the_defaults_are_shown() {
    let mut shown_by_default = shown(&Policy::default());
    shown_by_default.retain(|(key, _)| !matches!(&**key, "commands.ask" | "commands.deny"));
    let lines: Vec<String> =
        shown_by_default.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    insta::assert_snapshot!(lines.join("\n"));
    // Some follow from what is set elsewhere.
    for (text, key, value) in [
        ("sandbox = \"off\"\n", "commands.default", "ask (line 2)"),
        ("[mcp]\nallow = [\"a:b\"]\n", "mcp.default", "deny"),
        ("[mcp]\ndeny = [\"a:b\"]\n", "mcp.default", "ask"),
    ] {
        let shown = shown(&policy(text));
        let found = shown.iter().find(|(found, _)| found == key).unwrap();
        assert_eq!(found.1, value, "{text}");
    }
}

#[test]
fn lists_that_ask_only_ask() {
    let policy =
        policy("[defaults]\nspawns = \"allow\"\n[tools.read.paths]\nask = [\"b\"]\n[paths]\nask = [\"e\"]\n");
    let outcome = |tool: &str, path: &str| {
        let call = PolicyCall::new(tool, ToolEffect::Reads.into()).about(Subject::Path(path.to_owned()));
        policy.decide(&call).outcome
    };
    assert_eq!(
        ["b", "e", "x"].map(|path| outcome("read", path)),
        [PolicyOutcome::Ask, PolicyOutcome::Ask, PolicyOutcome::Allow]
    );
    assert_eq!(outcome("head", "b"), PolicyOutcome::Allow);
    assert_eq!(policy.decide(&PolicyCall::new("x", ToolEffect::Spawns.into())).outcome, PolicyOutcome::Allow);
    assert_eq!(
        policy.decide(&PolicyCall::new("x", ToolEffect::Irreversible.into())).outcome,
        PolicyOutcome::Ask
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_sandbox_is_what_the_policy_says() {
    use convoke_tools::sandbox::{Network, Sandbox};
    let folder = tempfile::tempdir().unwrap();
    let workspace = convoke_tools::workspace::Workspace::open(folder.path()).unwrap();
    let sandbox = || Sandbox::new(&workspace).unwrap();
    let set = policy(
        "[limits]\ncpu_seconds = 5\nmemory_mb = 512\nprocesses = 9\nfile_mb = 7\noutput_mb = 3\n[commands]\nnetwork = true\n",
    );
    let confined = set.confine(sandbox());
    let limits = confined.limited();
    assert_eq!((limits.cpu_seconds, limits.memory, limits.processes), (5, 512 << 20, 9));
    assert_eq!((limits.file, limits.output, confined.reaches()), (7 << 20, 3 << 20, Network::Open));
    let default = Policy::default().confine(sandbox().network(Network::Open));
    assert_eq!((default.reaches(), default.limited()), (Network::None, sandbox().limited()));
    let off = policy("sandbox = \"off\"\n").confine(sandbox());
    assert!(format!("{off:?}").contains("confinement: Off"));
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_accepted() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md")).unwrap();
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|key| !key.contains(' '))
        .collect();
    let accepted: Vec<String> = KEYS.iter().map(|key| key.path.replace('*', "NAME")).collect();
    assert_eq!(documented, accepted);
    for block in page.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        Policy::parse_at_home(text, "docs/policy.md", Some(Path::new("/home/ann"))).unwrap();
    }
}

#[test]
fn folders_are_opened_by_their_whole_paths() {
    let home = Some(Path::new("/home/ann"));
    let read = |list: &str| Policy::parse_at_home(&format!("version = 1\nreadable = {list}\n"), "p", home);
    let policy = read("[\"~/.cache/x/\", \"/opt/./y\"]").unwrap();
    let folders: Vec<_> = policy.readable().map(|(folder, place)| (folder.to_owned(), place)).collect();
    let place = RulePlace::File { name: "p".into(), line: 2 };
    assert_eq!(folders, [("/home/ann/.cache/x".into(), place.clone()), ("/opt/y".into(), place)]);
    let shown: Vec<_> = policy.settings().into_iter().filter(|setting| setting.key == "readable").collect();
    assert_eq!(shown.iter().map(|setting| &*setting.value).collect::<Vec<_>>(), ["~/.cache/x/", "/opt/./y"]);
    // It decides about no call.
    assert_eq!(policy.command("cat /opt/y/z"), Policy::default().command("cat /opt/y/z"));
    for (list, why) in [
        ("[\"/\"]", "everything"),
        ("[\"~\"]", "home"),
        ("[\"~/\"]", "home"),
        ("[\"/home\"]", "home"),
        ("[\"src\"]", "whole path"),
        ("[\"~bob/x\"]", "whole path"),
        ("[\"\"]", "whole path"),
        ("[\"~/x/../..\"]", "`..`"),
        ("[\"/opt/*\"]", "patterns"),
        ("\"/opt\"", "a list"),
        ("[1]", "a text"),
    ] {
        let told = read(list).unwrap_err().to_string();
        assert!(told.contains(why), "{list}: {told}");
    }
    assert!(Policy::parse_at_home("version = 1\nreadable = [\"~/x\"]\n", "p", None).is_err());
    assert_eq!(Policy::default().readable().count(), 0);
}
