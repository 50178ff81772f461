//! Escapes by what a command leaves behind for others to follow.

use serde_json::json;

use crate::common::{Hands, SECRET, assert_denied, sleeping};
use crate::shell::{by_landlock, everywhere, in_views};

async fn bash(hands: &Hands, command: &str) -> String {
    match hands.call("bash", json!({"command": command, "timeout": 60})).await {
        Ok(result) | Err(result) => result,
    }
}

/// Convoke's own files, made by a command, would decide what the next run may do.
#[tokio::test]
async fn a_command_makes_no_policy_and_no_configuration() {
    for hands in everywhere("a_command_makes_no_policy_and_no_configuration", |sandbox| sandbox) {
        hands.put("here/policy.toml", "version = 1\n");
        for path in ["policy.toml", "convoke.toml", "agent.toml", "sub/policy.toml", "POLICY.TOML"] {
            let command = format!("mkdir -p sub; printf 'version = 1\\nsandbox = \"off\"\\n' > {path}");
            let result = bash(&hands, &command).await;
            assert!(!hands.inside(path).exists(), "{path}: {result}");
            assert!(result.contains("denied") || !result.ends_with("Exit code: 0"), "{path}: {result}");
        }
        let result = bash(&hands, "ln -s here/policy.toml policy.toml; mkdir convoke.toml").await;
        assert!(hands.inside("policy.toml").symlink_metadata().is_err(), "{result}");
        assert!(!hands.inside("convoke.toml").exists(), "{result}");
        assert_eq!(hands.content("here/policy.toml"), "version = 1\n");
    }
    // Where nothing closes the folder.
    for hands in everywhere("a_command_makes_no_policy_and_no_configuration", |sandbox| sandbox) {
        let result = bash(&hands, "echo version = 1 > policy.toml; touch fine.toml keys.pem").await;
        assert!(!hands.inside("policy.toml").exists(), "{result}");
        assert!(result.contains("denied: `policy.toml`"), "{result}");
        assert!(hands.inside("fine.toml").exists() && hands.inside("keys.pem").exists());
    }
}

/// A store in the workspace, say: what hides it from a command leaves nothing in its place.
#[tokio::test]
async fn a_protected_file_that_somebody_deletes_under_a_command_stays_deleted() {
    let test = "a_protected_file_that_somebody_deletes_under_a_command_stays_deleted";
    for hands in everywhere(test, |sandbox| sandbox) {
        let own = ["convoke.db", "convoke.db-wal", "convoke.db-shm", ".env", "deeper/.env"];
        let own = own.map(|path| hands.put(path, "mine"));
        let begun = async {
            let sleeper = loop {
                match sleeping("60.0917").first() {
                    Some(sleeper) => break sleeper.to_string(),
                    None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                }
            };
            own.iter().for_each(|path| std::fs::remove_file(path).unwrap());
            assert!(std::process::Command::new("kill").arg(sleeper).status().unwrap().success());
        };
        let (told, ()) = tokio::join!(bash(&hands, "ls -a; sleep 60.0917; ls -a; echo over"), begun);
        assert!(told.contains("over"), "{told}");
        let again = bash(&hands, "ls -a; echo over").await;
        assert!(again.contains("over"), "{again}");
        for path in &own {
            assert!(path.symlink_metadata().is_err(), "{} is there again: {told}\n{again}", path.display());
        }
    }
}

/// That one thing cannot be put back must not leave another one changed.
#[tokio::test]
async fn a_hook_goes_whatever_else_is_in_the_way() {
    for hands in everywhere("a_hook_goes_whatever_else_is_in_the_way", |sandbox| sandbox) {
        for obstacle in [
            "mkdir -p .git/hooks/z/y && chmod 000 .git/hooks/z",
            "chmod 111 .git/hooks",
            "chmod 111 .git/hooks .git .",
            "chmod 111 .git/hooks/pre-commit",
            "mkfifo .git/hooks/z",
            "perl -e 'chdir \".git/hooks\"; for (1..2500) { mkdir \"z\"; chdir \"z\" or last }'",
            "ln -s . .git/hooks/z; ln -s /nowhere .git/hooks/zz",
        ] {
            hands.put(".git/config", "[core]\n");
            hands.put(".git/hooks/sample", "sample");
            let command = format!(
                "printf '#!/bin/sh\\nevil' > .git/hooks/pre-commit; echo x >> .git/config; {obstacle}"
            );
            let result = bash(&hands, &command).await;
            let left = hands.inside(".git/hooks/pre-commit");
            assert!(left.symlink_metadata().is_err(), "{obstacle}: {result}");
            assert_eq!(hands.content(".git/config"), "[core]\n", "{obstacle}: {result}");
            // With the system's own means: what could not be put back is as deep as it was made.
            let cleared = std::process::Command::new("sh")
                .args(["-c", "chmod -R u+rwx .git; rm -rf .git"])
                .current_dir(hands.workspace.path())
                .status();
            assert!(cleared.unwrap().success());
        }
    }
}

/// Hooks that a person keeps elsewhere, behind a link.
#[tokio::test]
async fn a_link_to_hooks_leads_where_it_led() {
    for hands in everywhere("a_link_to_hooks_leads_where_it_led", |sandbox| sandbox) {
        hands.put(".git/config", "[core]\n");
        let outside = hands.outside("");
        hands.link(&outside, ".git/hooks");
        for command in
            ["ln -sfn ../evil .git/hooks", "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-push"]
        {
            let result = bash(&hands, &format!("mkdir -p evil; {command}")).await;
            assert!(result.contains("denied") || !result.ends_with("Exit code: 0"), "{command}: {result}");
            assert_eq!(
                std::fs::read_link(hands.inside(".git/hooks")).unwrap(),
                outside,
                "{command}: {result}"
            );
        }
    }
}

/// Where this file is, git reads configuration and hooks from the folder it names.
#[tokio::test]
async fn configuration_of_git_is_not_read_from_elsewhere() {
    for hands in everywhere("configuration_of_git_is_not_read_from_elsewhere", |sandbox| sandbox) {
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(arguments).current_dir(hands.workspace.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
            command.output().unwrap()
        };
        assert!(git(&["init", "-q"]).status.success());
        let evil = "mkdir -p evil/refs evil/objects && cp .git/HEAD evil && printf '[alias]\\n\\tst = !touch ran\\n' > evil/config";
        for path in [".git/commondir", ".git/modules/m/commondir", ".git/worktrees/w/commondir"] {
            let written = hands.refused("write", json!({"path": path, "content": "../evil\n"})).await;
            assert_denied(&written, "is protected");
        }
        let result = bash(&hands, &format!("{evil}; echo ../evil > .git/commondir")).await;
        assert!(!hands.inside(".git/commondir").exists(), "{result}");
        git(&["st"]);
        assert!(!hands.inside("ran").exists());
        // A working tree beside it is another matter.
        let set =
            "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git worktree add -q tree";
        let result = bash(&hands, set).await;
        assert!(hands.inside(".git/worktrees/tree/commondir").exists(), "{result}");
        bash(&hands, "echo ../../../evil > .git/worktrees/tree/commondir").await;
        assert_eq!(hands.content(".git/worktrees/tree/commondir"), "../..\n");
    }
}

#[tokio::test]
async fn another_name_of_a_secret_is_no_way_to_it_from_a_shell() {
    for hands in everywhere("another_name_of_a_secret_is_no_way_to_it_from_a_shell", |sandbox| sandbox) {
        let env = hands.put("conf/.env", SECRET);
        hands.put("notes/plain.txt", "plain");
        std::fs::hard_link(&env, hands.inside("notes/env.txt")).unwrap();
        for command in
            ["cat notes/env.txt", "cp notes/env.txt x; cat x", "mv notes n; cat n/env.txt", "grep -r . ."]
        {
            let result = bash(&hands, command).await;
            assert!(!result.contains(SECRET), "{command}: {result}");
        }
        bash(&hands, "echo changed > notes/env.txt").await;
        assert_eq!(hands.content("conf/.env"), SECRET);
        assert_eq!(bash(&hands, "cat notes/plain.txt").await, "plain\nExit code: 0");
    }
}

/// Ctrl-C, or a run whose time is up: nobody waits for the command any more.
#[tokio::test]
async fn a_command_that_is_given_up_leaves_no_hook() {
    for hands in everywhere("a_command_that_is_given_up_leaves_no_hook", |sandbox| sandbox) {
        hands.put(".git/config", "[core]\n");
        hands.put(".git/hooks/sample", "sample");
        let command = "echo evil > .git/hooks/pre-commit; echo x >> .git/config; exec sleep 60.0815";
        let begun = async {
            while sleeping("60.0815").is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = hands.call("bash", json!({"command": command, "timeout": 60})) => panic!("it ended: {ended:?}"),
            () = begun => {}
        }
        assert!(!hands.inside(".git/hooks/pre-commit").exists());
        assert_eq!(hands.content(".git/config"), "[core]\n");
    }
}

/// However deep a folder is, it is removed, and nothing overflows.
#[tokio::test]
async fn a_bottomless_folder_is_removed() {
    if let Some(hands) = in_views("a_bottomless_folder_is_removed", |sandbox| sandbox) {
        let made = bash(&hands, "perl -e 'for (1..2500) { mkdir \"z\"; chdir \"z\" or last }'").await;
        assert!(made.contains("in more than 128 folders") && made.ends_with("Exit code: 0"), "{made}");
        assert!(!hands.inside("z").exists());
    }
    if let Some(hands) = by_landlock("a_bottomless_folder_is_removed", |sandbox| sandbox) {
        let made = bash(&hands, "perl -e 'for (1..2500) { mkdir \"z\"; chdir \"z\" or last }'").await;
        assert_eq!(made, "Exit code: 0");
        let removed = hands.done("rm", json!({"path": "z", "recursive": true})).await;
        assert!(removed.contains("2500 entries"), "{removed}");
        assert!(!hands.inside("z").exists());
    }
}
