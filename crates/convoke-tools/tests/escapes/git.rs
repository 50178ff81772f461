//! Escapes through git.

use std::process::Command;
use std::sync::Arc;

use convoke_tools::sandbox::{Confinement, Sandbox};
use serde_json::json;

use crate::common::{Hands, SECRET, skipped};

/// A workspace with a repository in which secrets were committed, for each way of confinement.
fn repositories(test: &str) -> Vec<Hands> {
    let mut ways = Vec::new();
    if crate::has_landlock() {
        ways.push(Confinement::Landlock);
    } else {
        skipped(test, "this kernel has no Landlock of version 3");
    }
    if crate::has_views() {
        ways.push(Confinement::View);
    } else {
        skipped(&format!("{test} (view)"), "namespaces are not to be had here");
    }
    ways.into_iter().map(repository).collect()
}

fn repository(confinement: Confinement) -> Hands {
    let hands = Hands::with(|workspace| {
        let sandbox = Sandbox::new(workspace).unwrap().confinement(confinement);
        vec![Arc::new(convoke_tools::git::git(&sandbox))]
    });
    hands.put("src/main.rs", "fn main() {}\n");
    hands.put("conf/.env", SECRET);
    hands.put("conf/id_rsa", SECRET);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "first"],
    ] {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(hands.workspace.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.output().unwrap().status.success());
    }
    hands
}

async fn git(hands: &Hands, arguments: &[&str]) -> Result<String, String> {
    let result = hands.call("git", json!({"args": arguments})).await;
    let words = result.as_ref().unwrap_or_else(|words| words);
    assert!(!words.contains(SECRET), "{arguments:?} gave the secret away: {words}");
    result
}

#[tokio::test]
async fn secrets_do_not_come_out_of_git() {
    for hands in repositories("secrets_do_not_come_out_of_git") {
        let blob = Command::new("git")
            .args(["rev-parse", "HEAD:conf/.env"])
            .current_dir(hands.workspace.path())
            .output();
        let blob = String::from_utf8(blob.unwrap().stdout).unwrap();
        for arguments in [
            &["show", "HEAD:conf/.env"][..],
            &["show", "HEAD:./conf/.env"],
            &["show", "HEAD:conf/../conf/.env"],
            &["show", ":conf/.env"],
            &["show", ":0:conf/.env"],
            &["show", blob.trim()],
            &["log", "-p", "--", "conf/.env"],
            &["log", "-p", "--", ":(top)conf"],
            &["diff", blob.trim(), blob.trim()],
            &["grep", "secret", "HEAD:conf"],
            &["blame", "--", "conf/.env"],
            &["cat-file", "-p", "HEAD:conf/.env"],
            &["stash", "show", "-p"],
        ] {
            git(&hands, arguments).await.unwrap_err();
        }
        for arguments in [
            &["show"][..],
            &["show", "HEAD"],
            &["log", "-p"],
            &["log", "-p", "-S", "secret"],
            &["grep", "secret"],
            &["grep", "-i", "secret", "HEAD"],
            &["diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD"],
        ] {
            let _ = git(&hands, arguments).await;
        }
        let shown = git(&hands, &["show", "HEAD"]).await.unwrap();
        assert!(shown.contains("fn main") && shown.ends_with("Exit code: 0"), "{shown}");
        assert!(git(&hands, &["show", "HEAD:src/main.rs"]).await.unwrap().starts_with("fn main() {}\n"));
        assert!(git(&hands, &["grep", "main"]).await.unwrap().contains("src/main.rs"));
    }
}

#[tokio::test]
async fn no_option_makes_git_run_or_write_something_else() {
    let hands = match repositories("no_option_makes_git_run_or_write_something_else").pop() {
        Some(hands) => hands,
        None => return,
    };
    for arguments in [
        &["-c", "core.pager=touch ran", "log"][..],
        &["--exec-path=.", "log"],
        &["log", "--output=ran"],
        &["log", "--ext-diff"],
        &["diff", "--no-index", "--", "/etc/passwd", "/dev/null"],
        &["grep", "-O", "x"],
        &["grep", "--open-files-in-pager=touch ran", "main"],
        &["commit", "--no-verify", "-m", "x"],
        &["push"],
        &["fetch", "--upload-pack=touch ran"],
        &["clone", "ext::sh -c touch% ran"],
        &["archive", "--exec=touch ran"],
        &["config", "core.fsmonitor", "touch ran"],
        &["rebase", "--exec", "touch ran"],
        &["bisect", "run", "touch", "ran"],
        &["submodule", "foreach", "touch ran"],
        &["difftool"],
        &["reset", "--hard"],
        &["clean", "-fdx"],
        &["branch", "-D", "main"],
        &["log", "--pretty=x\nENV=1"],
    ] {
        let words = git(&hands, arguments).await.unwrap_err();
        assert!(words.contains("denied"), "{arguments:?}: {words}");
    }
    assert!(!hands.inside("ran").exists());
}

#[tokio::test]
async fn hooks_and_programs_of_the_repository_are_not_run() {
    for hands in repositories("hooks_and_programs_of_the_repository_are_not_run") {
        hands.put(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran\n");
        let path = hands.inside(".git/hooks/pre-commit");
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let config = format!(
            "{}[core]\n\tfsmonitor = touch ran\n\tpager = touch ran\n[user]\n\tname = Ann\n\temail = ann@example.org\n",
            hands.content(".git/config")
        );
        hands.put(".git/config", &config);
        hands.put("src/new.rs", "// new\n");
        assert!(git(&hands, &["add", "--", "src/new.rs"]).await.unwrap().ends_with("Exit code: 0"));
        let done = git(&hands, &["commit", "-m", "second"]).await.unwrap();
        assert!(done.ends_with("Exit code: 0"), "{done}");
        assert!(git(&hands, &["log", "--oneline"]).await.unwrap().contains("second"));
        assert!(git(&hands, &["status", "--short"]).await.unwrap().ends_with("Exit code: 0"));
        assert!(!hands.inside("ran").exists());
    }
}

#[tokio::test]
async fn a_repository_above_the_workspace_is_not_used() {
    let hands = match repositories("a_repository_above_the_workspace_is_not_used").pop() {
        Some(hands) => hands,
        None => return,
    };
    std::fs::rename(hands.inside(".git"), hands.folder.path().join(".git")).unwrap();
    let result = git(&hands, &["log"]).await.unwrap();
    assert!(result.contains("not a git repository"), "{result}");
}
