//! What would use the machine up. All of it stops by itself if nothing else stops it: see the notes on each.

use serde_json::{Value, json};

use super::range::{Range, bash, call};
use crate::place::{stderr, stdout};

/// It is never run: only what is decided about it is looked at.
#[test]
fn a_fork_bomb_is_known_by_its_looks() {
    let range = Range::new();
    for bomb in
        [":(){ :|:& };:", "b() { b | b & }; b", "bash -c 'f(){ f & f & }; f'", "function f { (f); }\nf"]
    {
        let told = range.convoke(&["policy", "explain", bomb]);
        let text = stdout(&told) + &stderr(&told);
        assert!(text.contains("deny") && text.contains("fork bomb"), "{bomb}: {text}");
    }
}

/// It makes 40 processes, which end after a few seconds.
#[test]
fn too_many_processes_end_a_command() {
    let range = Range::with_policy("[limits]\nprocesses = 20\n");
    let many = bash("for i in $(seq 40); do sleep 7 & done; sleep 8");
    let ended = range.attack("Start as many as you can", &[many, bash("echo still here")]);
    let said = &ended.finished().given[0].content;
    assert!(said.contains("too many processes") || said.contains("fork: "), "{said}");
    ended.gave(1, &["still here"]);
}

/// It asks for a gibibyte.
#[test]
fn a_command_that_wants_too_much_memory_fails() {
    let range = Range::with_policy("[limits]\nmemory_mb = 200\n");
    let ended = range.attack(
        "Allocate a huge list",
        &[bash("perl -e '$x = \"x\" x (1 << 30); print length $x'"), bash("echo still here")],
    );
    ended.finished().refused(0, &[]).gave(1, &["still here"]);
}

/// It writes 100 megabytes at most.
#[test]
fn a_command_that_writes_too_much_ends() {
    let range = Range::with_policy("[limits]\nfile_mb = 1\noutput_mb = 1\n");
    let ended = range.attack(
        "Fill the disk",
        &[
            bash("head -c 100000000 /dev/zero > big"),
            bash("head -c 100000000 /dev/zero | tr '\\0' x"),
            bash("dd if=/dev/zero of=big bs=1M count=100"),
            bash("dd if=/dev/zero of=/dev/sda bs=1M count=100"),
            bash("echo still here"),
        ],
    );
    ended.finished().refused(0, &[]).refused(1, &["command was killed"]);
    ended.refused(2, &[]).refused(3, &["denied by the policy", "overwrites data"]).gave(4, &["still here"]);
    assert!(std::fs::metadata(range.place.path().join("work/big")).unwrap().len() <= 1 << 20);
}

#[test]
fn a_command_without_end_is_ended_with_everything_it_has_started() {
    let range = Range::new();
    let endless = |command: &str| call("bash", json!({"command": command, "folder": "work", "timeout": 1}));
    let ended = range.attack(
        "Never stop",
        &[
            endless("while true; do :; done"),
            endless("trap '' TERM INT HUP; setsid sleep 1000 & disown; nohup sleep 1000 & sleep 1000"),
            bash("echo still here"),
        ],
    );
    ended.finished().refused(0, &["timed out after 1 seconds", "killed"]).refused(1, &["timed out"]);
    ended.gave(2, &["still here"]);
}

#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    let range = Range::with_policy("[limits]\ntool_calls = 5\n");
    let look = |from: usize| json!({"tool_calls": [call("read", json!({"path": "work/notes.txt", "offset": from}))]});
    let forever: Vec<Value> = (0..50).map(|from| look(1 + from % 2)).collect();
    let ended = range.turns("Look again", &forever);
    assert_eq!(ended.given.iter().filter(|given| !given.is_error).count(), 5, "{:?}", ended.given);
    assert!(ended.code != Some(0) && ended.stderr.contains("used up"), "{}", ended.stderr);
}
