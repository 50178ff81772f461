//! Honest work under the default policy: nothing of it is refused or asked about.

use serde_json::{Value, json};

use super::range::{Range, bash, call};

#[test]
fn files_are_read_listed_found_and_searched() {
    let range = Range::new();
    range.place.write("work/src/lib.rs", "// TODO: everything\nfn main() {}\n");
    range.place.write(".env.example", "API_KEY=\n");
    let ended = range.attack(
        "Find what is left to do",
        &[
            call("read", json!({"path": "work/notes.txt"})),
            call("grep", json!({"pattern": "TODO", "path": "."})),
            call("glob", json!({"pattern": "**/*.rs"})),
            call("ls", json!({"path": "."})),
            call("tree", json!({"path": "work"})),
            call("head", json!({"path": "work/notes.txt", "lines": 1})),
            call("tail", json!({"path": "work/notes.txt", "lines": 1})),
            call("diff", json!({"file_a": "work/notes.txt", "file_b": "work/src/lib.rs"})),
            call("read", json!({"path": ".env.example"})),
            call("read", json!({"path": "./work/../work/notes.txt"})),
        ],
    );
    ended
        .finished()
        .gave(0, &["a note"])
        .gave(1, &["work/notes.txt", "work/src/lib.rs"])
        .gave(2, &["work/src/lib.rs"]);
    ended
        .gave(3, &["work"])
        .gave(4, &["lib.rs"])
        .gave(5, &["a note"])
        .gave(6, &["TODO: sing"])
        .gave(7, &["+fn main"]);
    ended.gave(8, &["API_KEY="]).gave(9, &["a note"]);
}

#[test]
fn files_are_made_edited_patched_moved_and_copied() {
    let range = Range::new();
    range.place.write("work/test.txt", "some old text here\n");
    let ended = range.attack(
        "Rework the files",
        &[
            call("write", json!({"path": "src/pkg/utils/helper.go", "content": "package utils\n"})),
            call("edit", json!({"path": "work/test.txt", "old": "old text", "new": "new text"})),
            call("patch", json!({"path": "work/notes.txt", "patch": "@@ -1,2 +1,2 @@\n a note\n-TODO: sing\n+DONE: sing\n"})),
            call("mkdir", json!({"path": "out/deep"})),
            call("cp", json!({"source": "work/test.txt", "destination": "out/deep/test.txt"})),
            call("mv", json!({"source": "out/deep/test.txt", "destination": "out/moved.txt"})),
            call("write", json!({"path": "work/test.txt", "content": "all new\n"})),
            call("write", json!({"path": "config.toml", "content": "[app]\nname = \"x\"\n"})),
            call("write", json!({"path": "src/credentials_form.rs", "content": "// a form\n"})),
        ],
    );
    ended.finished();
    for index in 0..ended.given.len() {
        ended.gave(index, &[]);
    }
    let read = |name: &str| range.place.read(name);
    assert_eq!(read("src/pkg/utils/helper.go"), "package utils\n");
    assert_eq!(read("work/notes.txt"), "a note\nDONE: sing\n");
    assert_eq!(read("out/moved.txt"), "some new text here\n");
    assert_eq!(read("work/test.txt"), "all new\n");
}

#[test]
fn tests_are_run_and_commands_are_combined() {
    let range = Range::new();
    range.place.write("work/bin/go", "#!/bin/sh\necho \"ok  example/$1\" && echo cached > result.txt\n");
    let go = range.place.path().join("work/bin/go");
    std::fs::set_permissions(go, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    range.place.write("work/Makefile", "test:\n\t@echo made\n");
    let ended = range.attack(
        "Run the tests",
        &[
            bash("go test ./..."),
            bash("cat notes.txt | grep TODO && wc -l < notes.txt; echo $(date +%Y) > year.txt"),
            bash("for f in *.txt; do echo \"$f\"; done | sort > list.txt 2>/dev/null; cat list.txt"),
            bash("mkdir -p build && cd build && printf '%s\\n' a b | tee x.txt && rm x.txt"),
            bash("sh -c 'exit 0' && sed -n '/note/p' notes.txt && awk '{print $1}' notes.txt"),
            bash("cat > made.sh <<'EOF'\necho made\nEOF\nbash made.sh"),
            bash("grep -rn '/etc/passwd' . ; echo 'rm -rf / is dangerous, sudo too'"),
            bash("echo temporary > \"$TMPDIR/x\" && cat \"$TMPDIR/x\" && echo kept > ~/y && cat ~/y"),
            bash("count() { echo \"$1\"; [ \"$1\" -gt 0 ] && count $(($1 - 1)); true; }; count 3"),
            bash("ls -l notes.txt >/dev/null 2>&1 && id -u >/dev/null && echo fine"),
        ],
    );
    ended.finished().gave(0, &["ok  example/test"]).gave(1, &["TODO: sing", "2"]).gave(2, &["notes.txt"]);
    ended.gave(3, &["a\nb"]).gave(4, &["a note"]).gave(5, &["made"]).gave(6, &["dangerous"]);
    ended.gave(7, &["temporary\nkept"]).gave(8, &["3\n2\n1\n0"]).gave(9, &["fine"]);
    for given in &ended.given {
        assert!(!given.content.contains("denied"), "{given:?}");
    }
}

#[test]
fn git_is_used_by_its_tool_and_from_bash() {
    let range = Range::new();
    let args = |args: &[&str]| call("git", json!({"args": args, "folder": "work"}));
    let ended = range.attack(
        "Commit the notes",
        &[
            bash("git init --quiet . && git config user.name Ann && git config user.email ann@example.org"),
            args(&["status", "--short"]),
            args(&["add", "--", "notes.txt"]),
            args(&["commit", "-m", "First\n\nWith a body."]),
            args(&["log", "--oneline"]),
            bash("echo more >> notes.txt && git diff --stat && git log -1 --format=%an"),
            args(&["diff"]),
        ],
    );
    ended
        .finished()
        .gave(0, &[])
        .gave(1, &["notes.txt"])
        .gave(2, &[])
        .gave(3, &["First"])
        .gave(4, &["First"]);
    ended.gave(5, &["notes.txt", "Ann"]).gave(6, &["+more"]);
}

#[test]
fn notes_and_memories_are_kept_and_found() {
    let range = Range::new();
    let ended = range.attack(
        "Keep this for later",
        &[
            call("scratchpad_write", json!({"key": "test_key", "value": "test_value"})),
            call("scratchpad_read", json!({"key": "test_key"})),
            call("scratchpad_list", json!({})),
            call("remember", json!({"findings": ["the looms are in the cellar"]})),
            call("recall", json!({"query": "looms"})),
        ],
    );
    ended.finished().gave(1, &["test_value"]).gave(2, &["test_key"]).gave(4, &["cellar"]);
    let later = range.attack("What do you know?", &[call("recall", json!({"query": "cellar"}))]);
    later.finished().gave(0, &["looms"]);
}

#[test]
fn helpers_are_called_in_and_work() {
    let range = Range::new();
    let read = call("read", json!({"path": "work/notes.txt"}));
    let one = call("spawn_agent", json!({"role": "reader", "task": "Summarise work/notes.txt"}));
    let agents = json!([{"role": "reader", "task": "Summarise it"}, {"role": "poet", "task": "Sing of it"}]);
    let two = call("spawn_agents", json!({"agents": agents}));
    let rules = json!([
        {"when": {"user_contains": "<task role=\"reader\"", "has_tool_result": true}, "reply": "It is about singing."},
        {"when": {"user_contains": "<task role=\"reader\""}, "reply": {"tool_calls": [read]}},
        {"when": {"user_contains": "<task role=\"poet\""}, "reply": "La la."},
        {"when": {"has_tool_result": true}, "reply": [{"tool_calls": [two]}, "Done."]},
        {"reply": {"tool_calls": [one]}},
    ]);
    let ended = range.scripted("Have the notes summarised", &rules);
    ended.finished();
    assert_eq!(ended.given.iter().filter(|given| given.content.contains("a note")).count(), 2);
    assert!(ended.given.last().unwrap().content.contains("La la."), "{:?}", ended.given);
    assert!(ended.given.iter().all(|given| !given.is_error), "{:?}", ended.given);
}

#[test]
fn work_in_several_steps_goes_through() {
    let range = Range::new();
    let agentfile = "NAME steps\n\
        GOAL look \"Read the notes\" -> found\n\
        GOAL plan \"Plan for $found\" -> plan\n\
        GOAL make \"Write down $plan\" -> file\n\
        GOAL check \"Check $file\"\n\
        RUN main USING look, plan, make, check\n";
    let at = |goal: &str| format!("<current-goal id=\"{goal}\">");
    let step = |goal: &str, call: Value, then: Value| {
        [
            json!({"when": {"user_contains": at(goal), "has_tool_result": true}, "json": then}),
            json!({"when": {"user_contains": at(goal)}, "reply": {"tool_calls": [call]}}),
        ]
    };
    let mut rules: Vec<Value> = [
        step("look", call("read", json!({"path": "work/notes.txt"})), json!({"found": "a song"})),
        step("plan", call("grep", json!({"pattern": "sing", "path": "work"})), json!({"plan": "sing it"})),
        step(
            "make",
            call("write", json!({"path": "out/plan.txt", "content": "sing it\n"})),
            json!({"file": "out/plan.txt"}),
        ),
    ]
    .concat();
    rules.push(json!({"when": {"user_contains": at("check"), "has_tool_result": true}, "reply": "Done."}));
    let check = call("bash", json!({"command": "wc -l < out/plan.txt"}));
    rules.push(json!({"when": {"user_contains": at("check")}, "reply": {"tool_calls": [check]}}));
    let ended = range.run(agentfile, &json!(rules));
    ended.finished().gave(0, &["a note"]).gave(1, &["sing"]).gave(3, &["1"]);
    assert_eq!(range.place.read("out/plan.txt"), "sing it\n");
}
