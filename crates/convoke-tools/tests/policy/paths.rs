//! Rules about paths.

use convoke_core::ToolEffect;
use convoke_tools::policy::{Decision, Policy, PolicyCall, PolicyOutcome, Subject};
use convoke_tools::workspace::Workspace;

use crate::policy;

fn call<'a>(tool: &'a str, path: &str, workspace: Option<&'a Workspace>) -> PolicyCall<'a> {
    let effect = if tool == "read" { ToolEffect::Reads } else { ToolEffect::Writes };
    PolicyCall::new(tool, effect.into()).about(Subject::Path(path.to_owned())).within(workspace)
}

fn read(policy: &Policy, path: &str) -> Decision {
    policy.decide(&call("read", path, None))
}

#[track_caller]
fn paths(policy: &Policy, outcome: PolicyOutcome, paths: &[&str]) {
    for path in paths {
        let decision = read(policy, path);
        assert_eq!(decision.outcome, outcome, "`{path}`: {decision}");
    }
}

#[test]
fn agentcore_235_a_tool_that_is_not_listed_follows_what_it_does() {
    // Where the Go `agent` program allows or denies all unlisted tools alike, ours go by their effects.
    let decide =
        |policy: &Policy, effect: ToolEffect| policy.decide(&PolicyCall::new("thing", effect.into())).outcome;
    let default = Policy::default();
    assert_eq!(decide(&default, ToolEffect::Reads), PolicyOutcome::Allow);
    assert_eq!(decide(&default, ToolEffect::Writes), PolicyOutcome::Allow);
    assert_eq!(decide(&default, ToolEffect::Spawns), PolicyOutcome::Ask);
    assert_eq!(decide(&default, ToolEffect::Network), PolicyOutcome::Deny);
    assert_eq!(decide(&default, ToolEffect::Irreversible), PolicyOutcome::Ask);
    let strict =
        policy("[defaults]\nreads = \"deny\"\nwrites = \"ask\"\n[tools.thing]\ndecision = \"allow\"\n");
    assert_eq!(decide(&strict, ToolEffect::Network), PolicyOutcome::Allow, "listed");
    assert_eq!(decide(&strict, ToolEffect::Irreversible), PolicyOutcome::Allow, "listed");
    let denied = policy("[defaults]\nreads = \"allow\"\n[tools.thing]\ndecision = \"deny\"\n");
    assert_eq!(decide(&denied, ToolEffect::Reads), PolicyOutcome::Deny, "listed");
    assert_eq!(
        strict.decide(&PolicyCall::new("other", [ToolEffect::Reads, ToolEffect::Writes].into())).outcome,
        PolicyOutcome::Deny
    );
}

#[test]
fn agentcore_236_deny_beats_allow_and_a_star_is_one_level() {
    let policy = policy(
        "[tools.read.paths]\nallow = [\"/workspace/*.go\", \"/deep/**\", \"/any/**/*.go\", \"/last/**/test\"]\ndeny = [\"/deep/secret/**\", \"**/no.go\"]\n",
    );
    paths(
        &policy,
        PolicyOutcome::Allow,
        &[
            "/workspace/a.go",
            "/deep",
            "/deep/a",
            "/deep/a/b/c",
            "/any/a.go",
            "/any/b/c/a.go",
            "/last/test",
            "/last/a/b/test",
        ],
    );
    paths(
        &policy,
        PolicyOutcome::Deny,
        &[
            "/workspace/a.txt",
            "/workspace/b/a.go",
            "/deep/secret/x",
            "/any/a.rs",
            "/workspace/no.go",
            "/last/tests",
            "/elsewhere",
        ],
    );
    // The whole of a path is matched, wherever it begins.
    let flat = crate::policy("[tools.read.paths]\nallow = [\"/workspace/*\"]\n");
    paths(&flat, PolicyOutcome::Allow, &["/workspace/a", "/workspace/b"]);
    paths(&flat, PolicyOutcome::Deny, &["/workspace/b/a", "/other/a"]);
    let anywhere = crate::policy("[tools.read.paths]\nallow = [\"**/*.go\", \"**/test\"]\n");
    paths(&anywhere, PolicyOutcome::Allow, &["a.go", "/x/a.go", "/x/y/a.go", "test", "/x/test", "/x/y/test"]);
    paths(&anywhere, PolicyOutcome::Deny, &["/x/a.rs", "/x/tests", "/x/test/a"]);
    let all = crate::policy("[tools.read.paths]\nallow = [\"**\"]\n");
    paths(&all, PolicyOutcome::Allow, &["a", "/x/y/z"]);
    let decision = read(&policy, "/deep/secret/x");
    assert_eq!(
        decision.to_string(),
        "deny: `/deep/secret/x` is denied (tools.read.paths.deny = \"/deep/secret/**\", policy.toml:4)"
    );
}

#[test]
fn agentcore_237_the_workspace_and_the_home_folder_are_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let policy = policy("[paths]\nwithin = [\"$WORKSPACE/**\", \"~/notes/**\"]\n");
    let outcome = |path: &str| policy.decide(&call("read", path, Some(&workspace)));
    for path in ["src/a", ".", "./x", "a/../b", &workspace.path().join("y").display().to_string()] {
        assert_eq!(outcome(path).outcome, PolicyOutcome::Allow, "{path}");
    }
    // Tools of others may work elsewhere; those that come with Convoke never do.
    let notes = |tool| policy.decide(&call(tool, "/home/ann/notes/x", Some(&workspace)));
    assert_eq!(notes("notes").outcome, PolicyOutcome::Allow);
    assert_eq!((notes("read").outcome, &*notes("read").rule.key), (PolicyOutcome::Deny, "workspace"));
    for path in ["/home/ann/other", "/home/ann/notes-evil/x", "/etc/passwd", "../x"] {
        let decision = outcome(path);
        assert_eq!(decision.outcome, PolicyOutcome::Deny, "{path}");
        assert!(decision.because.contains("outside of the folders"), "{decision}");
    }
    paths(&Policy::default(), PolicyOutcome::Allow, &["/anything", "x"]);
    let error = Policy::parse_at_home("version = 1\n[paths]\ndeny = [\"~/x\", \"$HOME/x\"]\n", "p", None)
        .unwrap_err();
    assert_eq!(error.iter().count(), 2, "{error}");
}

#[test]
fn agentcore_242_a_folder_is_not_its_neighbour() {
    let allow = policy("[tools.read.paths]\nallow = [\"/workspace/**\", \"/home/ann/**\"]\n");
    paths(
        &allow,
        PolicyOutcome::Deny,
        &[
            "/workspace-evil/x",
            "/home/ann-evil/x",
            "/workspace/../etc/passwd",
            "/workspace/a/../../workspace-evil",
        ],
    );
    let deny = policy("[paths]\ndeny = [\"**/*.db\", \"**/.git/config\"]\n");
    paths(
        &deny,
        PolicyOutcome::Deny,
        &["a.db", "deep/down/a.db", "/else/where/a.db", ".git/config", "sub/.git/config", "./sub/./a.db"],
    );
    paths(&deny, PolicyOutcome::Allow, &["a.db.txt", ".git/configs", "x.git/config"]);
}

#[test]
fn agentcore_239_protected_files_stay_protected_whatever_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/policy.toml"), "").unwrap();
    std::os::unix::fs::symlink("sub/policy.toml", folder.path().join("harmless.txt")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let policy = policy(
        "[tools.write.paths]\nallow = [\"**\"]\n[tools.edit.paths]\nallow = [\"**\"]\n\
         [tools.read.paths]\nallow = [\"**\"]\n",
    );
    for tool in ["write", "edit", "read"] {
        for path in [
            "policy.toml",
            "sub/policy.toml",
            "convoke.toml",
            "agent.toml",
            "credentials.toml",
            "harmless.txt",
        ] {
            let decision = policy.decide(&call(tool, path, Some(&workspace)));
            assert_eq!(decision.outcome, PolicyOutcome::Deny, "{tool} {path}: {decision}");
        }
        let decision = policy.decide(&call(tool, "config.toml", Some(&workspace)));
        assert_eq!(decision.outcome, PolicyOutcome::Allow, "{decision}");
    }
    let told = |path: &str| policy.decide(&call("write", path, Some(&workspace))).because;
    let secret = "`policy.toml` is protected (configuration, credentials, keys or a store)";
    assert_eq!(told("policy.toml"), secret);
    let read_only = "`.git/config` is protected (read-only, because other programs act on it)";
    assert_eq!(told(".git/config"), read_only);
    // What git believes is read, and not changed.
    assert_eq!(policy.decide(&call("read", ".git/config", Some(&workspace))).outcome, PolicyOutcome::Allow);
    assert_eq!(policy.decide(&call("write", ".git/config", Some(&workspace))).outcome, PolicyOutcome::Deny);
}

#[test]
fn links_are_judged_by_where_they_lead_and_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("private")).unwrap();
    std::fs::write(folder.path().join("private/x"), "").unwrap();
    std::fs::create_dir_all(folder.path().join("public")).unwrap();
    std::os::unix::fs::symlink("../private/x", folder.path().join("public/link")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let policy = policy(
        "[paths]\ndeny = [\"private/**\"]\n[tools.read.paths]\nallow = [\"public/**\"]\n[tools.edit.paths]\nask = [\"public/link\"]\n",
    );
    assert_eq!(policy.decide(&call("read", "public/link", Some(&workspace))).outcome, PolicyOutcome::Deny);
    assert_eq!(policy.decide(&call("read", "public/other", Some(&workspace))).outcome, PolicyOutcome::Allow);
    let allowed = crate::policy("[tools.read.paths]\nallow = [\"public/**\"]\n");
    assert_eq!(
        allowed.decide(&call("read", "public/link", Some(&workspace))).outcome,
        PolicyOutcome::Deny,
        "it leads elsewhere"
    );
}

/// Nobody is asked about what the tool will refuse anyway.
#[test]
fn a_path_that_leads_out_of_the_workspace_is_denied_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("away")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let rules =
        "[defaults]\nreads = \"ask\"\nwrites = \"ask\"\n[tools.cp.paths]\nallow = [\"/**\", \"**\"]\n";
    for policy in [Policy::default(), policy(rules)] {
        for tool in ["read", "ls", "write", "mkdir", "cp", "rm", "mv"] {
            let effects = Policy::effects_of(tool).unwrap();
            let about = |path: &str| {
                let call = PolicyCall::new(tool, effects).about(Subject::Path(path.to_owned()));
                policy.decide(&call.within(Some(&workspace)))
            };
            for path in ["../x", "sub/../../x", "missing/../../x", "/etc/x", "away/x"] {
                let decision = about(path);
                assert_eq!(decision.outcome, PolicyOutcome::Deny, "{tool} {path}: {decision}");
                assert_eq!(decision.rule.key, "workspace", "{tool} {path}: {decision}");
            }
            for path in ["x", "sub/../x", "new/folder/x", &workspace.path().join("x").display().to_string()] {
                let decision = about(path);
                assert_ne!(decision.outcome, PolicyOutcome::Deny, "{tool} {path}: {decision}");
            }
            let link = about("away");
            let itself = matches!(tool, "rm" | "mv");
            assert_eq!(link.outcome == PolicyOutcome::Deny, !itself, "{tool} away: {link}");
        }
    }
    let denial = Policy::default().decide(&call("write", "../x", Some(&workspace))).denial();
    insta::assert_snapshot!(denial, @"denied by the policy: `../x` leads out of the workspace (`..` goes above its top) (workspace, built in). No tool works there: use a path inside it, relative to its top.");
    let folder = PolicyCall::new("bash", Policy::effects_of("bash").unwrap())
        .about(Subject::Command("ls".to_owned()))
        .about(Subject::Folder("..".to_owned()));
    assert_eq!(Policy::default().decide(&folder.within(Some(&workspace))).outcome, PolicyOutcome::Deny);
}

#[test]
fn an_allow_list_without_a_decision_denies_the_rest_and_with_one_leaves_it_to_that() {
    let listed = policy("[tools.write.paths]\nallow = [\"docs/**\"]\n");
    assert_eq!(listed.decide(&call("write", "src/x", None)).outcome, PolicyOutcome::Deny);
    let decided = policy("[tools.write]\ndecision = \"ask\"\npaths.allow = [\"docs/**\"]\n");
    assert_eq!(decided.decide(&call("write", "docs/x", None)).outcome, PolicyOutcome::Allow);
    assert_eq!(decided.decide(&call("write", "src/x", None)).outcome, PolicyOutcome::Ask);
    let removal = PolicyCall::new("rm", [ToolEffect::Writes, ToolEffect::Irreversible].into());
    let allowed = policy("[tools.rm.paths]\nallow = [\"target/**\"]\n");
    assert_eq!(
        allowed.decide(&removal.clone().about(Subject::Path("target/x".to_owned()))).outcome,
        PolicyOutcome::Allow
    );
    assert_eq!(
        Policy::default().decide(&removal.about(Subject::Path("x".to_owned()))).outcome,
        PolicyOutcome::Ask
    );
}

#[test]
fn agent_166_allow_lists_levels_and_the_home_folder() {
    let policy = policy(
        "[tools.read.paths]\nallow = [\"$WORKSPACE/deep/**\", \"$WORKSPACE/flat/*\", \"~/notes/*\"]\ndeny = [\"deep/no\"]\n",
    );
    paths(&policy, PolicyOutcome::Allow, &["deep/a/b/c", "flat/a", "/home/ann/notes/x"]);
    paths(&policy, PolicyOutcome::Deny, &["deep/no", "flat/a/b", "other", "/home/ann/notes/x/y"]);
    let closed = crate::policy("[defaults]\nreads = \"deny\"\n");
    paths(&closed, PolicyOutcome::Deny, &["anything"]);
}

#[test]
fn the_workspace_a_folder_and_the_root_are_named_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    for (pattern, denied, allowed) in [
        ("$WORKSPACE", ".", "x"),
        ("${WORKSPACE}", ".", "x"),
        ("$WORKSPACE/x", "x", "y"),
        ("./docs/", "docs", "docs/x"),
    ] {
        let policy = policy(&format!("[paths]\ndeny = [\"{pattern}\"]\n"));
        let outcome = |path| policy.decide(&call("read", path, Some(&workspace))).outcome;
        assert_eq!(
            (outcome(denied), outcome(allowed)),
            (PolicyOutcome::Deny, PolicyOutcome::Allow),
            "{pattern}"
        );
    }
    let root = policy("[paths]\ndeny = [\"/\"]\n");
    paths(&root, PolicyOutcome::Deny, &["/", "/x/.."]);
    paths(&root, PolicyOutcome::Allow, &["/x", "x"]);
    for (pattern, why) in [
        ("$WORKSPACES/x", "after $WORKSPACE comes a `/`"),
        ("$HOME/x", "the only variable"),
        ("./", "names nothing"),
    ] {
        let text = format!("version = 1\n[paths]\ndeny = [\"{pattern}\"]\n");
        let told = Policy::parse_at_home(&text, "policy.toml", None).unwrap_err().to_string();
        assert!(told.contains(why), "{pattern}: {told}");
    }
}

/// What goes above where it begins is not what it would be without that.
#[test]
fn dots_above_the_beginning_are_not_taken_away() {
    let policy = policy("[tools.read.paths]\nallow = [\"src/**\", \"/src/**\"]\n");
    paths(&policy, PolicyOutcome::Deny, &["../src/x", "src/../../src/x", "/src/../x"]);
    paths(&policy, PolicyOutcome::Allow, &["src/x", "x/../src/x", "/../src/x"]);
}

#[test]
fn a_policy_above_the_workspace_is_about_the_folder_it_is_in() {
    let folder = tempfile::tempdir().unwrap();
    let above = folder.path().canonicalize().unwrap();
    std::fs::create_dir(above.join("work")).unwrap();
    let workspace = Workspace::open(above.join("work")).unwrap();
    let text = "[paths]\ndeny = [\"work/private/**\", \"secrets/**\", \"**/*.sqlite\", \"/etc/**\"]\n\
                [tools.notes.paths]\nask = [\"work/asked\"]\n";
    let policy = policy(text).seen_from(&above);
    let outcome = |path: &str| policy.decide(&call("notes", path, Some(&workspace))).outcome;
    let beside = above.join("secrets/x").display().to_string();
    for path in ["private", "private/x", "deep/x.sqlite", "/etc/passwd", &beside] {
        assert_eq!(outcome(path), PolicyOutcome::Deny, "{path}");
    }
    assert_eq!(outcome("asked"), PolicyOutcome::Ask);
    for path in ["work/private/x", "secrets/x", "work/asked", "x"] {
        assert_eq!(outcome(path), PolicyOutcome::Allow, "{path}");
    }
    // The folder itself.
    let all = crate::policy("[paths]\ndeny = [\"$WORKSPACE\"]\n").seen_from(&above.join("work"));
    assert_eq!(all.decide(&call("notes", ".", Some(&workspace))).outcome, PolicyOutcome::Deny);
    assert_eq!(all.decide(&call("notes", "x", Some(&workspace))).outcome, PolicyOutcome::Allow);
}

#[test]
fn agent_167_patterns_that_match_anywhere_and_folders_that_are_not_their_neighbours() {
    let policy =
        policy("[tools.read.paths]\nallow = [\"/home/ann/**\"]\ndeny = [\"**/*.pem\", \"**/.git/config\"]\n");
    paths(
        &policy,
        PolicyOutcome::Deny,
        &["/home/ann/a.pem", "/home/ann/deep/a.pem", "/home/ann/x/.git/config", "/home/ann-evil/x"],
    );
    paths(&policy, PolicyOutcome::Allow, &["/home/ann/x", "/home/ann/x/config"]);
}

#[test]
fn agent_177_the_workspace_is_added_to_imported_folders_unless_it_is_there() {
    let within = |text: &str| {
        let imported = convoke_tools::policy::import::translate(text, "old.toml").unwrap().text;
        imported.lines().find(|line| line.starts_with("within")).unwrap().to_owned()
    };
    assert_eq!(within("allowed_dirs = [\"/tmp\"]\n"), "within = [\"$WORKSPACE/**\", \"/tmp/**\"]");
    assert_eq!(
        within("allowed_dirs = [\"/tmp\", \"$WORKSPACE\"]\n"),
        "within = [\"/tmp/**\", \"$WORKSPACE/**\"]"
    );
}

#[test]
fn no_path_is_the_whole_workspace() {
    use convoke_core::ToolSpec;
    use serde_json::json;

    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tools = convoke_tools::files::all(&workspace);
    let spec = |name: &str| -> ToolSpec {
        tools.iter().map(|tool| tool.spec().clone()).find(|spec| spec.name() == name).unwrap()
    };
    for text in ["[paths]\nwithin = [\"src/**\"]\n", "[tools.TOOL.paths]\nallow = [\"src/**\"]\n"] {
        for name in ["grep", "glob", "ls", "tree"] {
            let policy = policy(&text.replace("TOOL", name));
            let decide = |arguments: serde_json::Value| {
                let spec = spec(name);
                policy.decide(&policy.call(&spec, &arguments).within(Some(&workspace))).outcome
            };
            assert_eq!(decide(json!({"pattern": "x"})), PolicyOutcome::Deny, "{name}");
            assert_eq!(decide(json!({"pattern": "x", "path": "."})), PolicyOutcome::Deny, "{name}");
            assert_eq!(decide(json!({"pattern": "x", "path": "src"})), PolicyOutcome::Allow, "{name}");
        }
    }
}

/// What is denied by its whole path is not come upon by searches either.
#[test]
fn a_whole_path_that_is_denied_is_protected_in_the_workspace() {
    use convoke_tools::workspace::{Protected, Protection};
    use std::path::Path;

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("work")).unwrap();
    let text = "[paths]\ndeny = [\"ROOT/work/secret/**\", \"/**/hidden.txt\"]\n";
    let policy = policy(&text.replace("ROOT", &root.display().to_string()));
    let workspace = Workspace::open_with(root.join("work"), policy.protect(Protected::defaults())).unwrap();
    let of = |path: &str| workspace.protected().of(Path::new(path));
    for path in ["secret", "secret/a", "secret/b/c", "hidden.txt", "deep/hidden.txt"] {
        assert_eq!(of(path), Some(Protection::Secret), "{path}");
    }
    for path in ["a", "src/secret/a", "secrets", "hidden.md"] {
        assert_eq!(of(path), None, "{path}");
    }
}
