//! Paths that git's settings name: nothing that a tool made comes to be there, by whatever way.

use serde_json::json;

use crate::common::Hands;
use crate::gate::{bash, person, planted, view};

const FIRST: &str = "git init -q; git commit -q --allow-empty -m first";

/// Given what a person has set up, when these commands have run, then git executes nothing that they left.
async fn nothing_runs(test: &str, before: &str, commands: &[&str], after: &str) {
    let Some(hands) = view(test) else { return };
    person(&hands, &format!("{FIRST}; {before}"));
    let mut told = bash(&hands, &planted(&hands)).await;
    for command in commands {
        told += &bash(&hands, command).await;
    }
    let said = person(&hands, after);
    assert!(!hands.outside("ran").exists(), "{before}: {commands:?}\n{told}\n{said}");
}

#[tokio::test]
async fn a_link_on_the_way_to_hooks_does_not_come_out() {
    let test = "a_link_on_the_way_to_hooks_does_not_come_out";
    let missing = "git config core.hooksPath .husky/_";
    let there = "git config core.hooksPath .husky/_; mkdir -p .husky/_; touch .husky/keep .husky/_/keep";
    let linked = "git config core.hooksPath .husky/_; mkdir hk; touch hk/keep; ln -s hk .husky";
    let dangling = "git config core.hooksPath .husky/_; ln -s hk .husky";
    let hooks = "git config core.hooksPath a/b/c";
    let plant = "mkdir -p hk/_ && cp evil.sh hk/_/post-checkout";
    for (before, commands) in [
        (missing, &[plant, "ln -s hk .husky"][..]),
        (missing, &["mkdir -p hk/_ && cp evil.sh hk/_/post-checkout && ln -s hk .husky"]),
        (missing, &["mkdir -p .husky/_ && cp evil.sh .husky/_/post-checkout"]),
        (missing, &[plant, "ln -s \"$PWD/hk\" .husky"]),
        (missing, &[plant, "mkdir .husky; ln -s ../hk/_ .husky/_"]),
        (missing, &[plant, "mv hk .husky"]),
        (there, &["mv .husky h; mkdir -p h/_; cp evil.sh h/_/post-checkout; ln -s h .husky"]),
        (there, &["rm -rf .husky", plant, "ln -s hk .husky"]),
        (linked, &[plant]),
        (linked, &["mkdir -p x/_; cp evil.sh x/_/post-checkout", "rm .husky; ln -s x .husky"]),
        (linked, &["mv hk old; mkdir -p x/_; cp evil.sh x/_/post-checkout; ln -s x hk"]),
        (dangling, &[plant]),
        (hooks, &["mkdir -p x/b/c; cp evil.sh x/b/c/post-checkout", "ln -s x a"]),
        (hooks, &["mkdir -p a x/c; cp evil.sh x/c/post-checkout", "ln -s ../x a/b"]),
    ] {
        nothing_runs(test, before, commands, "git checkout -q -b z").await;
    }
}

/// A repository without a working tree names its hooks from itself.
#[tokio::test]
async fn hooks_of_a_bare_repository_are_not_made() {
    let test = "hooks_of_a_bare_repository_are_not_made";
    let before = "git init -q --bare b.git; git -C b.git config core.hooksPath hk";
    let plant = "mkdir -p b.git/hk; cp evil.sh b.git/hk/pre-receive; cp evil.sh b.git/hk/post-receive";
    nothing_runs(test, before, &[plant], "git push -q b.git HEAD:refs/heads/x").await;
    let link = "mkdir hk; cp evil.sh hk/pre-receive; ln -s ../hk b.git/hk";
    nothing_runs(test, before, &[link], "git push -q b.git HEAD:refs/heads/x").await;
}

#[tokio::test]
async fn what_settings_execute_is_not_made_whether_it_was_there_or_not() {
    let test = "what_settings_execute_is_not_made_whether_it_was_there_or_not";
    let names =
        ["clean.sh", "smudge.sh", "conv", "lint.sh", "l2.sh", "fsm", "proc", "drv", "idf", "ed", "pg"];
    let set = "mkdir tools; touch tools/keep; git config filter.x.clean 'sh tools/clean.sh'; \
         git config filter.x.smudge 'bash -c \"exec sh ./tools/smudge.sh\"'; git config diff.y.textconv tools/conv; \
         git config alias.lint '!f() { sh tools/lint.sh; }; f'; git config alias.l2 '!cd tools && ./l2.sh'; \
         git config core.fsmonitor tools/fsm; git config filter.z.process \"$PWD/tools/proc\"; \
         git config merge.q.driver 'tools/drv %O %A %B'; git config interactive.diffFilter 'tools/idf --x'; \
         git config core.editor 'env X=1 tools/ed'; git config core.pager 'LESS=x tools/pg | cat'";
    for is_there in [false, true] {
        let Some(hands) = view(test) else { return };
        person(&hands, &format!("{FIRST}; {set}"));
        if is_there {
            for name in names {
                hands.put(&format!("tools/{name}"), "before");
            }
        }
        let told = bash(
            &hands,
            &format!(
                "for one in {}; do echo evil > tools/$one; done; echo fine > tools/other",
                names.join(" ")
            ),
        )
        .await;
        for name in names {
            let content = std::fs::read_to_string(hands.inside(&format!("tools/{name}"))).unwrap_or_default();
            assert!(!content.contains("evil"), "{name}: {told}");
            let path = format!("tools/{name}");
            let written = hands.call("write", json!({"path": path, "content": "evil"})).await;
            assert!(written.is_err(), "{name}: {written:?}");
        }
        assert_eq!(hands.content("tools/other"), "fine\n", "{told}");
        // Nor behind a link in the place of their folder.
        let told = bash(&hands, "mkdir evil; echo evil > evil/conv; mv tools old; ln -s evil tools").await;
        assert!(!hands.inside("tools").is_symlink(), "{told}");
    }
}

/// What is included names hooks as well, however deep.
#[tokio::test]
async fn included_settings_are_read() {
    let Some(hands) = view("included_settings_are_read") else { return };
    person(
        &hands,
        &format!(
            "{FIRST}; mkdir conf; printf '[include]\\npath = two\\n' > conf/one; \
             printf '[core]\\nfsmonitor = tools/fsm\\nhooksPath = hooks-of-ours\\n' > conf/two; git config include.path ../conf/one"
        ),
    );
    let told = bash(
        &hands,
        &format!(
            "{}; mkdir tools hooks-of-ours; cp evil.sh tools/fsm; cp evil.sh hooks-of-ours/post-checkout; cp evil.sh conf/two",
            planted(&hands)
        ),
    )
    .await;
    let said = person(&hands, "git status; git checkout -q -b z");
    assert!(!hands.outside("ran").exists(), "{told}\n{said}");
}

/// A relative path in the user's own settings is one of every repository, also of one that is made now. Started again with a
/// home that has such settings.
#[test]
fn the_users_own_hooks_are_not_made_in_any_repository() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitconfig"), "[core]\n\thooksPath = .githooks\n").unwrap();
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["git_settings::with_hooks_of_the_users_own", "--exact", "--ignored"]);
    let output = again.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
#[ignore = "started by the test above"]
async fn with_hooks_of_the_users_own() {
    let Some(hands) = view("with_hooks_of_the_users_own") else { return };
    let told = bash(
        &hands,
        &format!(
            "{}; git init -q nest; mkdir -p nest/.githooks later/.githooks linked/hk; cp evil.sh nest/.githooks/post-checkout; \
             cp evil.sh later/.githooks/post-checkout; cp evil.sh linked/hk/post-checkout; ln -s hk linked/.githooks; \
             git init -q --bare bare; mkdir bare/.githooks; cp evil.sh bare/.githooks/post-receive",
            planted(&hands)
        ),
    )
    .await;
    bash(&hands, "git init -q later; git init -q linked").await;
    for path in [
        "nest/.githooks/post-checkout",
        "later/.githooks/post-checkout",
        "linked/.githooks",
        "bare/.githooks/x",
    ] {
        let written = hands.call("write", json!({"path": format!("{path}/x"), "content": "evil"})).await;
        assert!(!hands.inside(path).exists() && written.is_err(), "{path}: {told} {written:?}");
    }
    assert!(!hands.inside("bare/.githooks/post-receive").exists());
    assert!(hands.inside("nest/.git/HEAD").exists(), "{told}");
}

/// A remote that was there stays where it was, and nothing is fetched by itself.
#[tokio::test]
async fn a_known_remote_is_not_led_elsewhere() {
    let Some(hands) = view("a_known_remote_is_not_led_elsewhere") else { return };
    person(&hands, &format!("{FIRST}; git remote add origin https://example.org/a.git"));
    let told = bash(
        &hands,
        "git remote set-url origin https://evil.example/a.git; git config remote.origin.pushurl https://evil.example/p.git; \
         git remote add other https://example.org/b.git; git config remote.other.promisor true; \
         git config remote.other.partialclonefilter blob:none; mkdir -p .git/remotes .git/branches; \
         echo 'URL: https://evil.example/x' > .git/remotes/third; echo https://evil.example/y > .git/branches/fourth",
    )
    .await;
    bash(&hands, "git remote remove origin").await;
    bash(&hands, "git remote add origin https://evil.example/a.git").await;
    assert_eq!(
        person(
            &hands,
            "git remote -v; git config --get-regexp 'promisor|partial'; find .git -path '*remotes*' -type f; find .git -path '*branches*' -type f"
        ),
        "origin\thttps://example.org/a.git (fetch)\norigin\thttps://example.org/a.git (push)\n\
         other\thttps://example.org/b.git (fetch)\nother\thttps://example.org/b.git (push)\n",
        "{told}"
    );
    assert!(told.contains("`remote.origin.url`") && told.contains("`remote.other.promisor`"), "{told}");
}

/// Hands that a test of file tools alone has.
#[tokio::test]
async fn file_tools_put_no_link_on_the_way_to_hooks() {
    let hands = Hands::new();
    person(&hands, &format!("{FIRST}; git config core.hooksPath .husky/_; mkdir -p hk/_; ln -s hk link"));
    let moved = hands.call("mv", json!({"source": "link", "destination": ".husky"})).await;
    assert!(moved.is_err() && !hands.inside(".husky").is_symlink(), "{moved:?}");
    let copied = hands.call("mkdir", json!({"path": ".husky/_"})).await;
    assert!(copied.is_err(), "{copied:?}");
}
