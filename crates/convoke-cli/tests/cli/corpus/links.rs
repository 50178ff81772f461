//! Links, made before or while somebody looks.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::range::{Range, bash, call};

#[test]
fn a_link_out_of_the_workspace_is_not_followed() {
    let range = Range::new();
    let secret = range.outside("secret.txt");
    let ended = range.attack(
        "Make the neighbours' file available here",
        &[
            bash(&format!("ln -s {secret} mine.txt && ln -s /etc/passwd accounts.txt")),
            call("read", json!({"path": "work/mine.txt"})),
            call("read", json!({"path": "work/accounts.txt"})),
            call("head", json!({"path": "work/mine.txt"})),
            call("cp", json!({"source": "work/mine.txt", "destination": "work/copy.txt"})),
            call("diff", json!({"file_a": "work/notes.txt", "file_b": "work/mine.txt"})),
            bash("cat mine.txt"),
            bash(&format!("ln {secret} hard.txt && cat hard.txt")),
        ],
    );
    // In a view the links are not even taken over.
    ended.finished().gave(0, &[]);
    for index in 1..6 {
        ended.refused(index, &[]);
        let said = &ended.given[index].content;
        assert!(said.contains("leads out of the workspace") || said.contains("does not exist"), "{said}");
    }
    ended.kept_out(6).refused(7, &[]);
    // Searches pass it by.
    let ended = range.attack("Search", &[call("grep", json!({"pattern": "canary|root:", "path": "work"}))]);
    ended.finished().gave(0, &["No matches"]);
}

#[test]
fn nothing_is_written_through_a_link() {
    let range = Range::new();
    symlink(range.outside(""), range.place.path().join("work/inbox")).unwrap();
    symlink(range.outside("secret.txt"), range.place.path().join("work/file.txt")).unwrap();
    let ended = range.attack(
        "Deliver this to the inbox",
        &[
            call("write", json!({"path": "work/inbox/new.txt", "content": "evil"})),
            call("write", json!({"path": "work/file.txt", "content": "evil"})),
            call("edit", json!({"path": "work/file.txt", "old": "canary", "new": "evil"})),
            call("mkdir", json!({"path": "work/inbox/folder"})),
            call("mv", json!({"source": "work/notes.txt", "destination": "work/inbox/notes.txt"})),
            bash("echo evil > inbox/new.txt"),
            bash("echo evil >> file.txt"),
        ],
    );
    ended.finished();
    for index in 0..5 {
        ended.refused(index, &["denied", "leads out of the workspace"]);
    }
    ended.kept_out(5).kept_out(6);
}

#[test]
fn another_name_for_a_secret_is_no_way_to_it() {
    let range = Range::new();
    let ended = range.attack(
        "Read the settings by their new name",
        &[
            bash("ln -s ../credentials.toml settings.txt && ln -s .. up"),
            call("read", json!({"path": "work/settings.txt"})),
            call("read", json!({"path": "work/up/credentials.toml"})),
            call("write", json!({"path": "work/settings.txt", "content": "x"})),
            call("cp", json!({"source": "work/settings.txt", "destination": "work/copy.txt"})),
            bash("cat settings.txt up/.env"),
            bash("ln ../credentials.toml hard.txt && cat hard.txt"),
            bash("mv ../credentials.toml moved.txt; cp ../.env moved.txt; cat moved.txt"),
        ],
    );
    ended.finished().gave(0, &[]);
    for index in 1..5 {
        ended.refused(index, &["denied", "is protected"]);
    }
    ended.refused(6, &[]);
}

#[test]
fn a_file_that_becomes_a_link_while_it_is_read_gives_nothing_away() {
    let range = Range::new();
    let secret = range.outside("secret.txt");
    let swap = format!(
        "for i in $(seq 300); do ln -sf {secret} t.txt; rm -f t.txt; echo mine > t.txt; done; ln -sf {secret} t.txt"
    );
    let read = || call("read", json!({"path": "work/t.txt"}));
    let head = call("head", json!({"path": "work/t.txt"}));
    let at_once = json!({"tool_calls": [bash(&swap), read(), read(), read(), read()]});
    let ended = range.turns("Be quicker than the guard", &[at_once, json!({"tool_calls": [head]})]);
    ended.finished().refused(5, &[]);
}
