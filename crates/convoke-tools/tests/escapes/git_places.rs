//! Escapes through git, from a folder or a commit in which what is protected has a shorter name.

use std::process::Command;
use std::sync::Arc;

use convoke_tools::sandbox::Sandbox;
use serde_json::json;

use crate::common::{Hands, SECRET, skipped};

fn repository() -> Option<Hands> {
    if !crate::has_landlock() && !crate::has_views() {
        skipped("git_places", "nothing can confine commands here");
        return None;
    }
    let hands = Hands::with(|workspace| {
        let sandbox = Sandbox::new(workspace).unwrap();
        vec![Arc::new(convoke_tools::git::git(&sandbox))]
    });
    hands.put("src/.docker/config.json", SECRET);
    hands.put("src/.docker/readme.md", "plain\n");
    hands.put("lib/readme.md", "plain\n");
    hands.link("src/.docker", "shown");
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "first"],
    ] {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(hands.workspace.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.output().unwrap().status.success());
    }
    Some(hands)
}

#[tokio::test]
async fn a_secret_has_its_whole_name_in_every_folder() {
    let Some(hands) = repository() else { return };
    for folder in ["src/.docker", "shown"] {
        for arguments in [
            &["show", "HEAD:./config.json"][..],
            &["blame", "HEAD", "--", "config.json"],
            &["blame", "HEAD", "--", "../.docker/x/../config.json"],
            &["show", "HEAD", "--", "config.json"],
        ] {
            let words = hands.refused("git", json!({"args": arguments, "folder": folder})).await;
            assert!(
                words.contains("is protected") && !words.contains(SECRET),
                "{folder} {arguments:?}: {words}"
            );
        }
        let shown = hands.done("git", json!({"args": ["show", "HEAD:./readme.md"], "folder": folder})).await;
        assert!(shown.starts_with("plain\n"), "{shown}");
    }
}

/// A folder of a commit, restored as if it were all of it, would lose the name that protects what is in it.
#[tokio::test]
async fn content_is_restored_from_commits_only() {
    let Some(hands) = repository() else { return };
    for source in ["--source=HEAD:src/.docker", "-sHEAD:src/.docker", "--source=HEAD^{tree}"] {
        let arguments = ["restore", source, "--", "config.json"];
        let words = hands.refused("git", json!({"args": arguments})).await;
        assert!(!hands.inside("config.json").exists(), "{source}: {words}");
    }
    hands.put("lib/readme.md", "changed\n");
    let restore = ["restore", "--source", "HEAD", "--", "lib/readme.md"];
    let done = hands.done("git", json!({"args": restore})).await;
    assert_eq!(hands.content("lib/readme.md"), "plain\n", "{done}");
}
