//! What else a file says: protection, limits, the sandbox; and that every key is documented.

use convoke_tools::policy::{KEYS, Policy, RulePlace, Sandboxing};
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
    assert!(set.command_network());
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
    assert_eq!((default.sandbox(), default.command_network()), (Sandboxing::Required, false));
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
