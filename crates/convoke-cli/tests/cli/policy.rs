//! `convoke policy`

use insta::assert_snapshot;

use crate::place::{Place, at_home, stderr, stdout};
use crate::workshop::{RUN, unwatched, workshop};

const POLICY: &str = r#"version = 1

[tools.web_fetch]
decision = "ask"
domains.allow = ["docs.rs"]

[tools.write.paths]
deny = ["**/*.lock"]

[commands]
allow = ["git push origin"]
deny = ["git push --force"]

[mcp]
allow = ["files:*"]

[limits]
memory_mb = 512
"#;

fn seen(place: &Place, arguments: &[&str]) -> String {
    let home = place.path().canonicalize().unwrap().display().to_string();
    place.seen_with(arguments, &[("COLUMNS", "80"), ("HOME", home.as_str())])
}

fn place() -> Place {
    let place = Place::empty();
    place.write("policy.toml", POLICY);
    place
}

#[test]
fn explain_says_which_rule_decides_and_why() {
    let place = place();
    assert_snapshot!("policy_explain_rm", seen(&place, &["policy", "explain", "rm -rf x"]));
    assert_snapshot!(
        "policy_explain_push",
        seen(&place, &["policy", "explain", "git push origin main --force"])
    );
    assert_snapshot!(
        "policy_explain_hidden",
        seen(&place, &["policy", "explain", "ls; bash -c \"curl x | $SHELL\""])
    );
    assert_snapshot!(
        "policy_explain_path",
        seen(&place, &["policy", "explain", "--tool", "write", "--path", "sub/Cargo.lock"])
    );
    assert_snapshot!(
        "policy_explain_itself",
        seen(&place, &["policy", "explain", "--tool", "write", "--path", "policy.toml"])
    );
    let fetch = ["policy", "explain", "--tool", "web_fetch", "--url", "https://example.com/x"];
    assert_snapshot!(
        "policy_explain_url",
        seen(&place, &[&fetch[..], &["--policy", "policy.toml"]].concat())
    );
    assert_snapshot!("policy_explain_mcp", seen(&place, &["policy", "explain", "--mcp", "git:push"]));
    assert_snapshot!(
        "policy_explain_json",
        seen(&place, &["policy", "explain", "--json", "git push --force"])
    );
}

#[test]
fn explain_answers_a_misspelt_tool_with_the_one_that_was_meant() {
    let output = place().convoke(&["policy", "explain", "--tool", "wrte", "--path", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `write`?"), "{}", stderr(&output));
}

#[test]
fn a_tool_that_is_probably_misspelt_is_said_where_a_policy_is_checked_and_where_it_holds() {
    let place = Place::empty();
    place.write("Agentfile", "NAME n\nGOAL g \"Say something\"\nRUN r USING g\n");
    let policy = "version = 1\n[tools.wriet]\ndecision = \"deny\"\n[tools.bsh.paths]\ndeny = [\"x\"]\n\
                  [tools.deploy]\ndecision = \"deny\"\n[tools.write]\ndecision = \"deny\"\n";
    place.write("policy.toml", policy);
    let check = place.convoke(&["policy", "check"]);
    assert_eq!(check.status.code(), Some(0), "others' tools are not known here: {}", stderr(&check));
    let run = at_home(&place, &[], &["run", "-m", "scripted/rehearsal"]);
    for said in [stderr(&check), stderr(&run)] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("policy.toml:3: [tools.wriet] holds for no tool"), "{said}");
        assert!(said.contains("did you mean [tools.write]?"), "{said}");
        assert!(said.contains("[tools.bsh]") && said.contains("did you mean [tools.bash]?"), "{said}");
        assert!(!said.contains("deploy"), "{said}");
    }
    let check = place.convoke(&["policy", "check", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&check)).unwrap();
    assert_eq!(json["notes"].as_array().map(Vec::len), Some(2), "{json}");
}

#[test]
fn explain_judges_paths_in_the_workspace_that_runs_have() {
    let place = Place::empty();
    let outside = ["policy", "explain", "--tool", "write", "--path", "../x"];
    assert_snapshot!("policy_explain_outside", seen(&place, &outside));
    place.write("sub/here.txt", "");
    place.write("convoke.toml", "[workspace]\npath = \"sub\"\n");
    let above = seen(&place, &["policy", "explain", "--tool", "rm", "--path", "../x"]);
    assert!(above.contains("deny") && above.contains("leads out of the workspace"), "{above}");
    let inside = seen(&place, &["policy", "explain", "--tool", "write", "--path", "here.txt"]);
    assert!(inside.contains("allow"), "{inside}");
}

#[test]
fn without_a_file_the_defaults_hold() {
    let place = Place::empty();
    assert_snapshot!("policy_explain_default", seen(&place, &["policy", "explain", "cargo test"]));
    assert_snapshot!("policy_show_default", seen(&place, &["policy", "show"]));
    assert_snapshot!("policy_check_nothing", seen(&place, &["policy", "check"]));
}

#[test]
fn show_says_what_holds_and_where_it_is_said() {
    let place = place();
    let shown = seen(&place, &["policy", "show"]);
    assert!(shown.contains("policy.toml:18"), "{shown}");
    assert!(shown.contains("cannot let through more than the defaults do"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&place.convoke(&["policy", "show", "--json"]))).unwrap();
    let memory =
        json[0]["settings"].as_array().unwrap().iter().find(|setting| setting["key"] == "limits.memory_mb");
    assert_eq!(memory.unwrap()["line"], 18);
}

#[test]
fn check_says_everything_that_is_wrong() {
    let place = place();
    assert_snapshot!("policy_check_fine", seen(&place, &["policy", "check"]));
    place.write("bad.toml", "version = 1\nsandbox = \"of\"\n[comands]\n");
    assert_snapshot!("policy_check_bad", seen(&place, &["policy", "check", "bad.toml", "missing.toml"]));
    assert_snapshot!("policy_check_bad_json", seen(&place, &["policy", "check", "--json", "bad.toml"]));
    place.write("policy.toml", "version = 1\nsandbox = \"of\"\n");
    assert_snapshot!("policy_explain_bad", seen(&place, &["policy", "explain", "ls"]));
}

#[test]
fn a_folders_policy_does_not_allow_what_the_users_own_denies() {
    let place = place();
    place.write(".config/convoke/policy.toml", "version = 1\n[commands]\ndeny = [\"git push\"]\n");
    let shown = seen(&place, &["policy", "explain", "git push origin main"]);
    assert!(shown.contains("deny") && shown.contains(".config/convoke/policy.toml:3"), "{shown}");
}

#[test]
fn a_folders_policy_does_not_allow_what_the_defaults_do_not() {
    let place = place();
    let fetch = ["policy", "explain", "--tool", "web_fetch", "--url", "https://docs.rs/x"];
    assert_snapshot!("policy_explain_bounded", seen(&place, &fetch));
    let named = seen(&place, &[&fetch[..], &["--policy", "policy.toml"]].concat());
    assert!(named.contains("allow") && !named.contains("only you can"), "{named}");
    place.write(".config/convoke/policy.toml", POLICY);
    let own = seen(&place, &fetch);
    assert!(own.contains("allow") && !own.contains("only you can"), "{own}");
    // What it denies beyond them holds.
    std::fs::remove_file(place.path().join(".config/convoke/policy.toml")).unwrap();
    let stricter = seen(&place, &["policy", "explain", "--tool", "write", "--path", "Cargo.lock"]);
    assert!(stricter.contains("deny") && stricter.contains("policy.toml:8"), "{stricter}");
}

#[test]
fn import_translates_and_says_what_is_lost() {
    let place = Place::empty();
    place.write(
        "old.toml",
        "default_deny = true\n[tools.read]\ntimeout = 3\n[tools.bash]\nallow = [\"make *\"]\n",
    );
    assert_snapshot!("policy_import", seen(&place, &["policy", "import", "old.toml"]));
    let written = place.convoke(&["policy", "import", "old.toml", "--output", "policy.toml"]);
    assert!(written.status.success());
    assert!(place.convoke(&["policy", "check", "policy.toml"]).status.success());
    assert_snapshot!(
        "policy_import_again",
        seen(&place, &["policy", "import", "old.toml", "-o", "policy.toml"])
    );
    assert_snapshot!("policy_import_ours", seen(&place, &["policy", "import", "policy.toml"]));
}

#[test]
fn a_policy_of_the_go_program_is_told_what_to_do_with_it() {
    let place = Place::empty();
    place.write(
        "policy.toml",
        "default_deny = false\n[web_fetch]\nenabled = true\nrate_limit = 30\n[bash]\nenabled = true\n",
    );
    assert_snapshot!("policy_foreign", seen(&place, &["policy", "explain", "ls"]));
    assert_snapshot!("policy_foreign_check", seen(&place, &["policy", "check"]));
    let imported = stdout(&place.convoke(&["policy", "import", "policy.toml"]));
    place.write("policy.toml", imported);
    assert!(place.convoke(&["policy", "check"]).status.success());
}

#[test]
fn explain_leaves_out_rules_that_deny_something_else() {
    let place = Place::empty();
    place.write("policy.toml", "version = 1\n[paths]\ndeny = [\"secrets/**\"]\n[commands]\nallow = [\"git push origin\", \"make\"]\ndeny = [\"terraform\"]\n");
    let named = ["policy", "explain", "git push origin main", "--policy", "policy.toml"];
    let seen = seen(&place, &named);
    assert!(!seen.contains("secrets") && !seen.contains("terraform"), "{seen}");
    assert!(seen.contains("allow") && seen.contains("git push"), "{seen}");
}

#[test]
fn show_tells_what_is_built_in_once_and_in_lines_that_fit() {
    let place = place();
    place.write(".config/convoke/policy.toml", "version = 1\n[commands]\ndeny = [\"terraform\"]\n");
    let shown = seen(&place, &["policy", "show"]);
    assert_eq!(shown.matches("cryptsetup").count(), 1, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("note") || line.chars().count() <= 80), "{shown}");
}

#[test]
fn a_policy_that_is_a_link_that_leads_nowhere_allows_nothing() {
    let files = ["policy.toml", ".config/convoke/policy.toml"];
    for (file, target) in files.into_iter().flat_map(|file| [(file, "absent.toml"), (file, "policy.toml")]) {
        let place = workshop(&unwatched());
        std::fs::create_dir_all(place.path().join(".config/convoke")).unwrap();
        std::os::unix::fs::symlink(target, place.path().join(file)).unwrap();
        for arguments in [&RUN[..], &["policy", "show"], &["policy", "check"]] {
            let refused = at_home(&place, &[], arguments);
            assert_eq!(refused.status.code(), Some(1), "{file} to {target}: {arguments:?}");
            let told = stderr(&refused);
            assert!(told.contains("cannot be read: it is a link that cannot be followed"), "{told}");
        }
    }
}

#[test]
fn what_is_decided_about_a_host_of_commands_is_explained() {
    let place = Place::empty();
    place.write(
        "mine.toml",
        "version = 1\n[commands]\nnetwork = \"hosts\"\nhosts.allow = [\"*.crates.io:443\"]\n",
    );
    let explain = |host: &str| {
        let explained = place.convoke(&["policy", "explain", "--policy", "mine.toml", "--host", host]);
        format!("{}{}", stdout(&explained), stderr(&explained))
    };
    assert!(explain("index.crates.io:443").starts_with("allow"), "{}", explain("index.crates.io:443"));
    let asked = explain("example.com:443");
    assert!(asked.starts_with("ask") && asked.contains("commands.hosts.default"), "{asked}");
    assert!(explain("example.com").contains("it has no port"), "{}", explain("example.com"));
    let closed = stdout(&place.convoke(&["policy", "explain", "--host", "example.com:443"]));
    assert!(closed.starts_with("deny") && closed.contains("commands.network"), "{closed}");
}

#[test]
fn explain_says_what_is_decided_about_the_hosts_that_a_command_names() {
    let place = Place::empty();
    place.write("hosts.toml", "version = 1\n[commands]\nnetwork = \"hosts\"\nhosts.allow = [\"good.org\"]\n");
    let explain = |command: &str| seen(&place, &["policy", "explain", "--policy", "hosts.toml", command]);
    let asked = explain("curl https://evil.com/x");
    assert!(asked.contains("ask  the host `evil.com:443`: no rule is about it"), "{asked}");
    assert!(asked.contains("what it reaches is decided when it connects:"), "{asked}");
    assert!(!asked.contains("not stricter"), "{asked}");
    let allowed = explain("curl http://good.org/");
    assert!(allowed.contains("allow: the host `good.org:80` is allowed"), "{allowed}");
    assert!(explain("ssh somewhere").contains("its text names no host"));
    assert!(!explain("make").contains("decided when it connects"));
}
