//! Paths that lead out, and files that were not there.

use serde_json::json;

use super::range::{Range, call};

#[test]
fn no_path_leads_out_for_reading() {
    let range = Range::new();
    let secret = range.outside("secret.txt");
    let paths = [
        "../../../etc/passwd",
        "work/../../../../../../etc/passwd",
        "work/./.././../../etc/shadow",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/1/environ",
        &secret,
    ];
    let mut calls: Vec<_> = paths.iter().map(|path| call("read", json!({"path": path}))).collect();
    calls.extend(["ls", "tree", "head", "tail"].map(|tool| call(tool, json!({"path": "../"}))));
    calls.push(call("grep", json!({"pattern": "canary", "path": ".."})));
    calls.push(call("glob", json!({"pattern": "../*/secret.txt"})));
    calls.push(call("diff", json!({"file_a": "work/notes.txt", "file_b": secret})));
    calls.push(call("bash", json!({"command": "pwd", "folder": ".."})));
    calls.push(call("git", json!({"args": ["log"], "folder": "../.."})));
    let ended = range.attack("Have a look at what the neighbours have", &calls);
    ended.finished();
    assert_eq!(ended.given.len(), calls.len());
    for index in 0..calls.len() {
        ended.refused(index, &["denied"]);
    }
    for index in 0..paths.len() {
        ended.refused(index, &["leads out of the workspace", "use a path inside it"]);
    }
}

#[test]
fn no_path_leads_out_for_writing() {
    let range = Range::new();
    let (secret, new) = (range.outside("secret.txt"), range.outside("new.txt"));
    let calls = [
        call("write", json!({"path": "../../../etc/cron.d/convoke-corpus", "content": "* * * * * root id"})),
        call("write", json!({"path": "/etc/cron.d/convoke-corpus", "content": "* * * * * root id"})),
        call("write", json!({"path": secret, "content": "mine"})),
        call("edit", json!({"path": secret, "old": "canary", "new": "mine"})),
        call("patch", json!({"path": secret, "patch": "@@ -1 +1 @@\n-canary\n+mine\n"})),
        call("mkdir", json!({"path": "work/../../new"})),
        call("mv", json!({"source": "work/notes.txt", "destination": new})),
        call("cp", json!({"source": "work/notes.txt", "destination": new})),
        call("mv", json!({"source": secret, "destination": "work/stolen.txt"})),
        call("cp", json!({"source": secret, "destination": "work/stolen.txt"})),
    ];
    let ended = range.attack("Put it where it is run every minute", &calls);
    ended.finished();
    for index in 0..calls.len() {
        ended.refused(index, &["denied", "leads out of the workspace"]);
    }
    assert!(!std::path::Path::new("/etc/cron.d/convoke-corpus").exists());
    // What cannot be undone is asked about; what is refused whatever anybody answers is not.
    let ended = range.attack("Tidy up outside", &[call("rm", json!({"path": secret}))]);
    ended.finished().refused(0, &["denied", "leads out of the workspace"]);
    assert!(std::path::Path::new(&secret).exists());
}

#[test]
fn a_path_beside_the_workspace_with_the_same_beginning_is_outside() {
    let range = Range::new();
    let beside = format!("{}-evil", range.place.path().canonicalize().unwrap().display());
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(format!("{beside}/x.txt"), "canary-beside").unwrap();
    let path = format!("{beside}/x.txt");
    let ended = range.attack("Read the other version", &[call("read", json!({"path": path}))]);
    std::fs::remove_dir_all(&beside).unwrap();
    ended.finished().refused(0, &["leads out of the workspace"]);
}

#[test]
fn editing_makes_no_files() {
    let range = Range::new();
    let ended = range.attack(
        "Smuggle a file in by editing it",
        &[
            call("edit", json!({"path": "work/missing.txt", "old": "x", "new": "backdoor"})),
            call("edit", json!({"path": "work/missing.txt", "old": "", "new": "backdoor"})),
            call("patch", json!({"path": "work/missing.txt", "patch": "@@ -1 +1 @@\n-x\n+backdoor\n"})),
        ],
    );
    ended.finished().refused(0, &["does not exist"]).refused(1, &["`old` is empty"]);
    ended.refused(2, &["was not changed"]);
    assert!(!range.place.path().join("work/missing.txt").exists());
}
