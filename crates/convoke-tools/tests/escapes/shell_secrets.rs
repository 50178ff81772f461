//! Attempts at protected files from a shell.

use serde_json::json;

use crate::common::{Hands, SECRET};
use crate::shell::{everywhere, in_views};

async fn bash(hands: &Hands, command: &str) -> String {
    let result = hands.done("bash", json!({"command": command, "timeout": 20})).await;
    assert!(!result.contains(SECRET), "`{command}` gave the secret away: {result}");
    result
}

#[tokio::test]
async fn secrets_are_not_read_or_changed_from_a_shell() {
    for hands in everywhere("secrets_are_not_read_or_changed_from_a_shell", |sandbox| sandbox) {
        hands.put(".env", SECRET);
        hands.put("convoke.toml", SECRET);
        hands.put("app/keys/server.pem", SECRET);
        hands.put("home/.ssh/id_ed25519", SECRET);
        hands.put("app/src/plain.txt", "plain");
        for command in [
            "cat .env convoke.toml app/keys/server.pem home/.ssh/id_ed25519",
            "grep -r secret .",
            "find . -type f -exec cat {} +",
            "tar cf app/t.tar . ; strings app/t.tar || cat app/t.tar",
            "cp .env app/copy; cat app/copy",
            "mv .env app/moved; cat app/moved",
            "ln .env app/hard; cat app/hard",
            "ln -s ../.env app/soft; cat app/soft",
            "mv home app/home; cat app/home/.ssh/id_ed25519",
            "mv app/keys app/other; cat app/other/server.pem",
            "rm -f .env convoke.toml; rm -rf home",
            "echo x > .env; echo x >> convoke.toml",
            "perl -e 'rename(\".env\", \"app/x\"); open(F, \"<app/x\"); print <F>'",
            "cat /proc/self/cwd/.env",
            "git diff --no-index /dev/null .env",
        ] {
            bash(&hands, command).await;
        }
        for path in [".env", "convoke.toml", "app/keys/server.pem", "home/.ssh/id_ed25519"] {
            assert_eq!(hands.content(path), SECRET, "{path}");
        }
        let done = bash(&hands, "cat app/src/plain.txt; echo new > app/src/new.txt || exit 1").await;
        assert!(done.ends_with("plainExit code: 0") || done.ends_with("plain\nExit code: 0"), "{done}");
    }
}

#[tokio::test]
async fn beside_a_secret_folders_work_and_limits_are_told() {
    for hands in everywhere("beside_a_secret_folders_work_and_limits_are_told", |sandbox| sandbox) {
        hands.put(".env", SECRET);
        hands.put("src/main.rs", "fn main() {}\n");
        assert_eq!(
            bash(&hands, "mkdir -p src/deep && echo x > src/deep/er && mv src/deep src/d").await,
            "Exit code: 0"
        );
        assert_eq!(hands.content("src/d/er"), "x\n");
        let result = bash(&hands, "echo x > new.txt").await;
        // A mount hides the file itself; Landlock alone can only close the folder, and says so, and what to do.
        let closed = hands.sandbox.as_ref().unwrap().closed_folders().unwrap();
        assert_eq!(closed.is_empty(), result.ends_with("Exit code: 0"), "{closed:?}: {result}");
        if !result.ends_with("Exit code: 0") {
            assert_eq!(closed, [std::path::PathBuf::new()]);
            assert!(result.contains("there are protected files in `.`: `.env`"), "{result}");
            assert!(result.contains("user namespaces") && result.contains("move"), "{result}");
            hands.done("write", json!({"path": "new.txt", "content": "x"})).await;
        }
    }
}

#[tokio::test]
async fn a_hard_link_to_a_secret_is_no_way_to_it_from_a_shell() {
    for hands in everywhere("a_hard_link_to_a_secret_is_no_way_to_it_from_a_shell", |sandbox| sandbox) {
        let env = hands.put(".env", SECRET);
        hands.put("app/plain.txt", "plain");
        let key = hands.put(".ssh/deep/key", SECRET);
        std::fs::hard_link(key, hands.inside("app/of_a_folder.txt")).unwrap();
        std::fs::hard_link(env, hands.inside("app/notes.txt")).unwrap();
        std::fs::hard_link(hands.inside("app/plain.txt"), hands.inside("app/same.txt")).unwrap();
        for command in [
            "cat app/notes.txt",
            "cat app/of_a_folder.txt",
            "cp app/notes.txt src; cat src",
            "echo x > app/notes.txt",
            "rm app/notes.txt",
        ] {
            bash(&hands, command).await;
        }
        assert_eq!(hands.content(".env"), SECRET);
        assert_eq!(hands.content("app/notes.txt"), SECRET);
        assert_eq!(bash(&hands, "cat app/same.txt").await, "plain\nExit code: 0");
    }
}

/// A folder of secrets that is too large to be looked through: what has a name that nobody has seen may be in there.
#[tokio::test]
async fn where_not_all_secrets_are_looked_at_files_with_unseen_names_are_hidden() {
    let test = "where_not_all_secrets_are_looked_at_files_with_unseen_names_are_hidden";
    let Some(hands) = in_views(test, |sandbox| sandbox) else { return };
    hands.put("plain.txt", "plain");
    std::fs::hard_link(hands.inside("plain.txt"), hands.inside("same.txt")).unwrap();
    let first = hands.put(".ssh/0", SECRET);
    // Names of one file are enough, and cost little.
    for number in 1..=66_000 {
        let name = hands.inside(&format!(".ssh/{number}"));
        if std::fs::hard_link(&first, name).is_err() {
            hands.put(&format!(".ssh/{number}"), "");
        }
    }
    let last = hands.put(".ssh/deep/key", SECRET);
    std::fs::hard_link(last, hands.inside("linked.txt")).unwrap();
    bash(&hands, "cat linked.txt").await;
    assert_eq!(bash(&hands, "cat same.txt").await, "plain\nExit code: 0");
}

/// In a view the folders of secrets are open, and nothing leads to the secrets themselves, nor does a change come out.
#[tokio::test]
async fn secrets_are_not_in_a_view_and_nothing_is_done_to_them() {
    let test = "secrets_are_not_in_a_view_and_nothing_is_done_to_them";
    let Some(hands) = in_views(test, |sandbox| sandbox) else { return };
    hands.put(".env", SECRET);
    hands.put("policy.toml", SECRET);
    hands.put("deep/er/server.pem", SECRET);
    hands.put("home/.ssh/id_ed25519", SECRET);
    let me = std::process::id();
    let top = hands.workspace.path().display().to_string();
    for command in [
        "mv new.txt .env".to_owned(),
        "mv -f .env gone".to_owned(),
        "rm -f .env".to_owned(),
        "ln .env hard && cat hard".to_owned(),
        "ln -f new.txt .env".to_owned(),
        "ln -s new.txt .env".to_owned(),
        "echo x > .env".to_owned(),
        "truncate -s 0 policy.toml".to_owned(),
        "chmod 644 .env".to_owned(),
        "perl -e 'rename(\"new.txt\", \".env\") or exit 1'".to_owned(),
        "perl -e 'rename(\"deep\", \"other\") or exit 1'".to_owned(),
        "perl -e 'rename(\"deep/er\", \"deep/other\") or exit 1'".to_owned(),
        "perl -e 'rename(\"home/.ssh\", \"keys\") or exit 1'".to_owned(),
        "rm -rf deep".to_owned(),
        "umount .env || umount -l .env".to_owned(),
        "mount --bind new.txt .env".to_owned(),
        "unshare -m true".to_owned(),
        "nsenter -t 1 -m true".to_owned(),
        format!("nsenter -t {me} -m true"),
        "test -s .env".to_owned(),
        "grep -r secret .".to_owned(),
        format!("grep secret {top}/.env /proc/self/cwd/.env /proc/self/root{top}/.env"),
        format!("cat /proc/{me}/cwd/.env || cat /proc/{me}/root{top}/.env"),
        format!("cat /proc/{me}/task/*/root{top}/.env"),
        "for one in /proc/[0-9]*; do grep -s secret $one/root/$PWD/.env && exit 0; done; exit 1".to_owned(),
    ] {
        let result = bash(&hands, &format!("echo x > new.txt || exit 0; {command}")).await;
        let is_told = result.contains("denied") || !result.ends_with("Exit code: 0");
        assert!(is_told && !result.contains(SECRET), "`{command}` was done: {result}");
    }
    for path in [".env", "policy.toml", "deep/er/server.pem", "home/.ssh/id_ed25519"] {
        assert_eq!(hands.content(path), SECRET, "{path}");
    }
    let done =
        bash(&hands, "mkdir -p target/debug && echo made > target/debug/x && mv target/debug/x y && cat y")
            .await;
    assert_eq!(done, "made\nExit code: 0");
    assert_eq!(hands.content("y"), "made\n");
    // It starts where it should. What is denied is said.
    let result = hands.done("bash", json!({"command": "pwd; ls; cat server.pem", "folder": "deep/er"})).await;
    assert!(result.starts_with(&format!("{top}/deep/er\nserver.pem\nSTDERR:\n")), "{result}");
    assert!(
        result.contains("[denied: these are protected") && result.contains("`deep/er/server.pem`]"),
        "{result}"
    );
}

/// A secret that is committed must not be committed as something empty because it was hidden.
#[tokio::test]
async fn what_is_hidden_is_not_committed_as_something_else() {
    let test = "what_is_hidden_is_not_committed_as_something_else";
    for hands in everywhere(test, |sandbox| sandbox) {
        hands.put("policy.toml", SECRET);
        hands.put("src/a.txt", "a");
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(arguments);
            let output =
                command.current_dir(hands.workspace.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "first"]);
        let commit = "git -c user.name=Ann -c user.email=ann@example.org commit -q";
        // Git looks into files only if their times are others than it knows.
        let hidden =
            std::fs::File::options().write(true).open(hands.workspace.path().join("policy.toml")).unwrap();
        hidden.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3_600)).unwrap();
        let result = bash(&hands, &format!("echo b > src/a.txt; git add -A; {commit} -a -m all")).await;
        assert!(!result.ends_with("Exit code: 0"), "{result}");
        assert_eq!(git(&["show", "HEAD:policy.toml"]), SECRET);
        assert_eq!(git(&["show", ":policy.toml"]), SECRET);
        let result = bash(&hands, &format!("git add src/a.txt && {commit} -m second")).await;
        assert!(result.ends_with("Exit code: 0"), "{result}");
        assert_eq!(git(&["show", "HEAD:src/a.txt"]), "b\n");
    }
}

#[tokio::test]
async fn a_link_with_the_name_of_a_secret_is_not_changed_from_a_shell() {
    let test = "a_link_with_the_name_of_a_secret_is_not_changed_from_a_shell";
    for hands in everywhere(test, |sandbox| sandbox) {
        hands.put("real/plain.txt", "plain");
        hands.link("real/plain.txt", ".env");
        for command in ["rm .env", "mv .env x", "ln -sf real .env"] {
            let result = bash(&hands, command).await;
            assert!(result.contains("denied") || !result.ends_with("Exit code: 0"), "{command}: {result}");
        }
        assert_eq!(std::fs::read_link(hands.inside(".env")).unwrap(), std::path::Path::new("real/plain.txt"));
    }
}

#[tokio::test]
async fn what_git_executes_is_not_changed_from_a_shell() {
    for hands in everywhere("what_git_executes_is_not_changed_from_a_shell", |sandbox| sandbox) {
        for command in [
            "echo '[core] fsmonitor = evil' >> .git/config",
            "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
            "ln -s ../../evil .git/hooks/post-checkout",
            "rm -f .git/config",
            "rm -rf .git/hooks",
            "mv .git other && cp -r other .git && echo evil > .git/hooks/pre-push",
            "rm -rf other; mv .git other && echo evil > other/hooks/pre-push && ln -s other .git",
            "rm -rf other; mv .git other && echo 'gitdir: other' > .git",
            "mkdir -p .git/info && echo '* filter=evil' > .git/info/attributes && false",
        ] {
            let _ = std::fs::remove_dir_all(hands.inside(".git"));
            let _ = std::fs::remove_file(hands.inside(".git"));
            hands.put(".git/config", "[core]\n");
            hands.put(".git/hooks/commit-msg.sample", "sample");
            hands.put(".git/HEAD", "ref: refs/heads/main\n");
            let result = bash(&hands, command).await;
            assert!(hands.inside(".git").symlink_metadata().unwrap().is_dir(), "{command}");
            assert_eq!(hands.content(".git/config"), "[core]\n", "{command}");
            assert_eq!(hands.content(".git/hooks/commit-msg.sample"), "sample", "{command}");
            let hooks = std::fs::read_dir(hands.inside(".git/hooks")).unwrap().count();
            assert_eq!(hooks, 1, "{command}");
            assert!(!hands.inside(".git/info/attributes").exists());
            assert!(result.contains("denied") || !result.ends_with("Exit code: 0"), "{command}: {result}");
        }
        // A place for hooks that was not there before.
        std::fs::remove_dir_all(hands.inside(".git/hooks")).unwrap();
        let result = bash(&hands, "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit").await;
        assert!(result.contains("denied") && !hands.inside(".git/hooks").exists(), "{result}");
        assert!(bash(&hands, "cat .git/config").await.starts_with("[core]"));
        assert_eq!(
            bash(&hands, "echo x > .git/index.lock && mv .git/index.lock .git/index && touch new").await,
            "Exit code: 0"
        );
    }
}

#[tokio::test]
async fn where_a_repository_is_cannot_be_changed() {
    for hands in everywhere("where_a_repository_is_cannot_be_changed", |sandbox| sandbox) {
        hands.put("sub/.git", "gitdir: ../real\n");
        let result = bash(&hands, "echo 'gitdir: ../evil' > sub/.git").await;
        assert!(result.contains("denied") || !result.ends_with("Exit code: 0"), "{result}");
        assert_eq!(hands.content("sub/.git"), "gitdir: ../real\n");
        assert!(
            hands
                .refused("write", json!({"path": "sub/.git", "content": "gitdir: ../evil"}))
                .await
                .contains("denied")
        );
        assert!(
            hands
                .refused("write", json!({"path": ".git", "content": "gitdir: evil"}))
                .await
                .contains("denied")
        );
        let away = json!({"source": "sub/.git", "destination": "sub/other"});
        assert!(hands.refused("mv", away).await.contains("denied"));
        assert!(hands.refused("rm", json!({"path": "sub/.git"})).await.contains("denied"));
        assert_eq!(hands.content("sub/.git"), "gitdir: ../real\n");
        hands.put("evil/hooks/pre-commit", "evil");
        assert!(
            hands.refused("mv", json!({"source": "evil", "destination": ".git"})).await.contains("denied")
        );
        assert!(
            hands.refused("cp", json!({"source": "evil", "destination": ".git"})).await.contains("denied")
        );
        hands.done("mv", json!({"source": "evil", "destination": "good"})).await;
    }
}

#[tokio::test]
async fn secrets_in_other_readable_folders_stay_secret() {
    let chain = tempfile::tempdir().unwrap();
    std::fs::create_dir(chain.path().join("bin")).unwrap();
    std::fs::write(chain.path().join("bin/tool"), "#!/bin/sh\necho works\n").unwrap();
    std::fs::write(chain.path().join("credentials.toml"), SECRET).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(chain.path().join("bin/tool"), mode).unwrap();
    let path = chain.path().canonicalize().unwrap();
    for hands in
        everywhere("secrets_in_other_readable_folders_stay_secret", |sandbox| sandbox.readable(&path))
    {
        assert_eq!(bash(&hands, &format!("{}/bin/tool", path.display())).await, "works\nExit code: 0");
        bash(&hands, &format!("cat {}/credentials.toml", path.display())).await;
        let written = bash(&hands, &format!("echo x > {}/bin/tool", path.display())).await;
        assert!(!written.ends_with("Exit code: 0"), "{written}");
    }
}
