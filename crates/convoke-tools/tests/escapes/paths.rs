//! Escapes by paths.

use serde_json::{Value, json};

use crate::common::{Hands, SECRET, assert_denied};

/// Every way a file tool can be given a path, with what would be got or done if it led outside.
fn attempts(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({"path": path})),
        ("head", json!({"path": path})),
        ("tail", json!({"path": path})),
        ("grep", json!({"path": path, "pattern": "."})),
        ("diff", json!({"file_a": path, "file_b": "inside.txt"})),
        ("cp", json!({"source": path, "destination": "stolen.txt"})),
        ("mv", json!({"source": path, "destination": "stolen.txt"})),
        ("write", json!({"path": path, "content": "overwritten"})),
        ("edit", json!({"path": path, "old": SECRET, "new": "overwritten"})),
        ("patch", json!({"path": path, "patch": format!("@@ -1 +1 @@\n-{SECRET}\n+overwritten\n")})),
        ("mv", json!({"source": "inside.txt", "destination": path, "replace": true})),
        ("cp", json!({"source": "inside.txt", "destination": path, "replace": true})),
        ("rm", json!({"path": path})),
    ]
}

fn hands() -> Hands {
    let hands = Hands::new();
    hands.put("inside.txt", "inside");
    hands
}

async fn all_refused(hands: &Hands, path: &str, because: &str) {
    for (tool, arguments) in attempts(path) {
        assert_denied(&hands.refused(tool, arguments).await, because);
    }
    assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
    assert!(!hands.inside("stolen.txt").exists());
    assert_eq!(hands.content("inside.txt"), "inside");
}

#[tokio::test]
async fn dots_do_not_lead_out() {
    let hands = hands();
    all_refused(&hands, "../outside/secret.txt", "goes above its top").await;
    hands.put("deep/er/x", "");
    all_refused(&hands, "deep/er/../../../outside/secret.txt", "goes above its top").await;
    assert_eq!(hands.done("read", json!({"path": "deep/er/../../inside.txt"})).await, "inside");
}

#[tokio::test]
async fn absolute_paths_do_not_lead_out() {
    let hands = hands();
    let secret = hands.outside("secret.txt");
    all_refused(&hands, secret.to_str().unwrap(), "absolute path").await;
    let inside = hands.inside("inside.txt");
    assert_eq!(hands.done("read", json!({"path": inside})).await, "inside");
}

/// W32: a prefix test without a separator takes `/home/ann-evil` for a part of `/home/ann`.
#[tokio::test]
async fn a_sibling_with_the_same_beginning_is_outside() {
    let hands = hands();
    let sibling = hands.folder.path().canonicalize().unwrap().join("inside-evil");
    std::fs::create_dir(&sibling).unwrap();
    std::fs::write(sibling.join("x"), SECRET).unwrap();
    assert_denied(&hands.refused("read", json!({"path": sibling.join("x")})).await, "absolute path");
    assert_denied(&hands.refused("read", json!({"path": "../inside-evil/x"})).await, "above its top");
}

#[tokio::test]
async fn a_link_to_a_file_outside_is_not_followed() {
    let hands = hands();
    hands.link(hands.outside("secret.txt"), "link");
    for (tool, arguments) in attempts("link") {
        // The link itself may be moved and removed: it is inside.
        if tool == "rm" || arguments["source"] == "link" && tool == "mv" {
            continue;
        }
        assert_denied(&hands.refused(tool, arguments).await, "the link `link` leads there");
    }
    assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
    hands.done("rm", json!({"path": "link"})).await;
    assert!(hands.outside("secret.txt").exists());
    hands.link("inside.txt", "link");
    assert_eq!(hands.done("read", json!({"path": "link"})).await, "inside");
}

#[tokio::test]
async fn a_link_to_a_folder_outside_is_not_entered() {
    let hands = hands();
    hands.link("../outside", "folder");
    all_refused(&hands, "folder/secret.txt", "goes above its top").await;
    for tool in ["ls", "tree"] {
        assert_denied(&hands.refused(tool, json!({"path": "folder"})).await, "above its top");
    }
    assert_denied(
        &hands.refused("write", json!({"path": "folder/new.txt", "content": "x"})).await,
        "above its top",
    );
    assert_denied(&hands.refused("mkdir", json!({"path": "folder/new"})).await, "above its top");
    assert!(!hands.outside("new.txt").exists() && !hands.outside("new").exists());
}

#[tokio::test]
async fn walks_pass_links_to_the_outside_by() {
    let hands = hands();
    hands.link("../outside", "folder");
    hands.link(hands.outside("secret.txt"), "link.txt");
    assert_eq!(hands.done("grep", json!({"pattern": SECRET})).await, "No matches found.");
    let found = hands.done("glob", json!({"pattern": "**/*"})).await;
    assert_eq!(found, "folder\ninside.txt\nlink.txt\n");
    hands.done("rm", json!({"path": "folder"})).await;
    assert!(hands.outside("secret.txt").exists());
}

#[tokio::test]
async fn a_chain_of_links_is_judged_by_its_end() {
    let hands = hands();
    hands.link("b", "a");
    hands.link("deep/c", "b");
    std::fs::create_dir(hands.inside("deep")).unwrap();
    hands.link("../../outside/secret.txt", "deep/c");
    assert_denied(&hands.refused("read", json!({"path": "a"})).await, "above its top");
    std::fs::remove_file(hands.inside("deep/c")).unwrap();
    hands.link("../inside.txt", "deep/c");
    assert_eq!(hands.done("read", json!({"path": "a"})).await, "inside");
}

#[tokio::test]
async fn the_folder_of_processes_is_no_way_out() {
    let hands = hands();
    for path in [
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        "/proc/self/fd/0",
        "/etc/passwd",
        "/dev/tcp/127.0.0.1/80",
    ] {
        assert_denied(&hands.refused("read", json!({"path": path})).await, "absolute path");
    }
    hands.link("/proc/self/root", "root");
    hands.link("/proc/self/environ", "environment");
    assert_denied(&hands.refused("read", json!({"path": "root/etc/passwd"})).await, "leads there");
    assert_denied(&hands.refused("read", json!({"path": "environment"})).await, "leads there");
}

#[tokio::test]
async fn a_hard_link_to_the_outside_is_neither_read_nor_written() {
    let hands = hands();
    std::fs::hard_link(hands.outside("secret.txt"), hands.inside("hard.txt")).unwrap();
    for (tool, arguments) in attempts("hard.txt") {
        // A name can be moved and removed; the file it names stays what it is.
        if tool == "rm" || arguments["source"] == "hard.txt" && tool == "mv" {
            continue;
        }
        assert_denied(&hands.refused(tool, arguments).await, "hard links");
    }
    let found = hands.done("grep", json!({"pattern": SECRET})).await;
    assert!(!found.contains(SECRET) && found.contains("not searched: 1 file"), "{found}");
    assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
    // Its only name is inside: no link.
    hands.done("write", json!({"path": "inside.txt", "content": "new"})).await;
}

#[tokio::test]
async fn pipes_and_devices_are_not_opened() {
    let hands = hands();
    let made = std::process::Command::new("mkfifo").arg(hands.inside("pipe")).status().unwrap();
    assert!(made.success());
    let refusal = hands.refused("read", json!({"path": "pipe"})).await;
    assert!(refusal.contains("is a pipe, not a file"), "{refusal}");
    assert_eq!(hands.done("grep", json!({"pattern": "x"})).await, "No matches found.");
    assert!(hands.refused("write", json!({"path": "pipe", "content": "x"})).await.contains("is a pipe"));
}

#[tokio::test]
async fn odd_characters_in_paths_are_only_characters() {
    let hands = hands();
    for path in ["a\nb", "$(touch x)", "`touch x`", "a;b", "~", "$HOME", "*", "-rf"] {
        hands.done("write", json!({"path": path, "content": "x"})).await;
        assert_eq!(hands.content(path), "x");
    }
    assert!(hands.refused("read", json!({"path": "a\u{0}b"})).await.contains("NUL"));
    assert!(hands.refused("read", json!({"path": ""})).await.contains("empty"));
    assert!(!hands.inside("x").exists());
}

#[tokio::test]
async fn the_home_folder_is_not_made_in_the_workspace() {
    let hands = hands();
    for path in ["~/.bashrc", "./~/.ssh/authorized_keys", "$HOME/.profile", "${HOME}/x"] {
        for (tool, arguments) in [
            ("write", json!({"path": path, "content": "x"})),
            ("read", json!({"path": path})),
            ("mkdir", json!({"path": path})),
            ("cp", json!({"source": "inside.txt", "destination": path})),
        ] {
            assert_denied(&hands.refused(tool, arguments).await, "paths are from the top of the workspace");
        }
    }
    for home in ["~", "$HOME", "${HOME}"] {
        assert!(!hands.inside(home).exists(), "{home}");
    }
    // A folder that is called so is a folder.
    std::fs::create_dir(hands.inside("~")).unwrap();
    hands.done("write", json!({"path": "~/x", "content": "x"})).await;
    assert_eq!(hands.content("~/x"), "x");
}

#[tokio::test]
async fn patterns_do_not_lead_out() {
    let hands = hands();
    for pattern in ["../outside/*", "/etc/*", "a/../../outside/*"] {
        assert_denied(
            &hands.refused("glob", json!({"pattern": pattern})).await,
            "patterns are for what is inside",
        );
    }
    assert_denied(&hands.refused("glob", json!({"pattern": "*", "path": ".."})).await, "above its top");
    assert_eq!(hands.done("glob", json!({"pattern": "*.txt"})).await, "inside.txt\n");
}
