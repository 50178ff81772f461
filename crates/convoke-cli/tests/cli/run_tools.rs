//! The tools that `convoke run` gives to agents, and the policy before every call of them.

use serde_json::{Value, json};

use crate::place::{Place, stderr, stdout};
use crate::workshop::document;

/// A goal whose model makes these calls, one after the other, and then says what the last one gave.
pub(crate) fn calling(calls: &[Value]) -> Place {
    let place = Place::empty();
    place.write("Agentfile", "NAME work\nGOAL work \"Work\"\nRUN main USING work\n");
    let mut replies: Vec<String> = calls
        .iter()
        .map(|call| {
            format!(
                "{{ tool_calls = [{{ name = {}, arguments = {} }}] }}",
                call["name"],
                table(&call["arguments"])
            )
        })
        .collect();
    replies.push("{ text = \"Done.\" }".to_owned());
    // A later process begins with the reply to the first result, not with the first call.
    let later = replies.split_off(1.min(replies.len() - 1)).join(",\n");
    let first = replies.pop().unwrap_or_else(|| later.clone());
    place.write(
        "script.toml",
        format!("[[rule]]\nwhen.has_tool_result = true\nreply = [{later}]\n\n[[rule]]\nreply = {first}\n"),
    );
    place
}

/// A flat object as TOML.
fn table(object: &Value) -> String {
    let pairs = object.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn run(place: &Place, more: &[&str]) -> std::process::Output {
    place.convoke(&[&["run", "-m", "scripted/script.toml", "--id", "work-1"], more].concat())
}

/// What tools gave to the model, in order.
fn results(place: &Place) -> Vec<String> {
    let shown = place.convoke(&["replay", "work-1", "--json"]);
    let mut found = Vec::new();
    collect(&document(&shown), &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let (Some(Value::String(content)), Some(_)) = (object.get("content"), object.get("is_error")) {
                found.push(content.clone());
            }
            object.values().for_each(|value| collect(value, found));
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[test]
fn agents_read_and_write_the_workspace_and_nothing_else() {
    let place = calling(&[
        call("read", json!({"path": "notes.txt"})),
        call("write", json!({"path": "out/copy.txt", "content": "copied"})),
        call("read", json!({"path": ".env"})),
        call("read", json!({"path": "runs.sqlite"})),
        call("read", json!({"path": "../outside.txt"})),
        call("write", json!({"path": "policy.toml", "content": "version = 1"})),
    ]);
    place.write("notes.txt", "a note");
    place.write(".env", "KEY=s-e-c-r-e-t");
    // Where a store may be in the workspace, no tool reads it.
    let may_be = [("COLUMNS", "80"), ("CONVOKE_STORE_INSIDE_WORKSPACE", "true")];
    let work = [
        "run",
        "-m",
        "scripted/script.toml",
        "--id",
        "work-1",
        "--store",
        "runs.sqlite",
        "--output",
        "ndjson",
    ];
    let output = place.convoke_with(&work, &may_be);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&Value> = events.iter().filter(|event| event["type"] == "tool_call_result").collect();
    assert_eq!(results.len(), 6, "{results:?}");
    assert!(results[0]["content"].as_str().unwrap().contains("a note"), "{:?}", results[0]);
    assert_eq!(place.read("out/copy.txt"), "copied");
    for denied in &results[2..] {
        assert_eq!(denied["is_error"], true, "{denied}");
    }
    assert!(!stdout(&output).contains("s-e-c-r-e-t") && !place.path().join("policy.toml").exists());
    let told = stderr(&output);
    assert!(told.contains("read") && told.contains("write"), "calls are part of the progress: {told}");
}

#[test]
fn commands_run_in_the_sandbox_and_the_network_is_denied() {
    let outside = tempfile::tempdir().unwrap();
    let escape = format!("echo out > {}", outside.path().join("out.txt").display());
    let place = calling(&[
        call("bash", json!({"command": "echo in > in.txt; cat in.txt", "folder": "work"})),
        call("bash", json!({"command": escape})),
        call("bash", json!({"command": "curl https://example.com"})),
    ]);
    place.write("work/a.txt", "");
    let output = run(&place, &["--output", "ndjson"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(place.read("work/in.txt"), "in\n");
    assert!(!outside.path().join("out.txt").exists());
    let told = stdout(&output);
    assert!(told.contains("it talks to other machines"), "the model is told why: {told}");
}

#[test]
fn a_folder_that_is_read_only_is_left_as_it_is() {
    let place = calling(&[call("write", json!({"path": "x.txt", "content": "x"}))]);
    place.write("convoke.toml", "[workspace]\nread_only = true\n");
    let output = run(&place, &["--output", "ndjson"]);
    assert!(!place.path().join("x.txt").exists());
    assert!(stdout(&output).contains("write"), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_undone_is_asked_about_and_done_or_not_as_the_person_says() {
    for (answer, is_gone) in [("--approve", true), ("--reject=keep it", false)] {
        let place = calling(&[call("bash", json!({"command": "rm -r build", "folder": "work"}))]);
        place.write("work/build/x.o", "");
        let asked = run(&place, &[]);
        let told = stderr(&asked);
        assert_eq!(asked.status.code(), Some(5), "{told}");
        assert!(told.contains("May `bash` be called?"), "{told}");
        let questions = stdout(&place.convoke(&["questions"]));
        assert!(questions.contains("rm -r build"), "whoever decides sees the command: {questions}");
        assert!(questions.contains("  tool      │ bash\n") && !questions.contains('{'), "{questions}");
        assert!(questions.contains("            │ folder: work\n"), "in words: {questions}");
        assert!(place.path().join("work/build/x.o").exists(), "nothing is done before the answer");
        let done = place.convoke(&["answer", "work-1", answer, "--resume"]);
        assert_eq!(stdout(&done).lines().last(), Some("Done."), "{}", stderr(&done));
        assert_eq!(!place.path().join("work/build").exists(), is_gone);
        if !is_gone {
            assert!(results(&place).iter().any(|result| result.contains("keep it")), "the model is told why");
            let told = stderr(&done);
            assert!(
                told.contains("bash refused") && !told.contains("bash failed"),
                "it is told once: {told}"
            );
        }
    }
}

#[test]
fn a_call_is_approved_by_whom_the_configuration_names_and_refused_when_they_do_not_answer_in_time() {
    for (expiry, is_late) in [("2d", false), ("1s", true)] {
        let place = calling(&[call("bash", json!({"command": "rm -r build", "folder": "work"}))]);
        place.write("work/build/x.o", "");
        place.write(
            "convoke.toml",
            format!("[supervision]\nanswerers = [\"ann\"]\nhuman_expiry = \"{expiry}\"\n"),
        );
        assert_eq!(run(&place, &[]).status.code(), Some(5));
        let answer = |by: &str| place.convoke(&["answer", "work-1", "--approve", "--by", by, "--resume"]);
        if is_late {
            std::thread::sleep(std::time::Duration::from_millis(1_100));
            let done = place.convoke(&["resume", "work-1"]);
            assert_eq!(stdout(&done).lines().last(), Some("Done."), "{}", stderr(&done));
            assert!(results(&place).iter().any(|result| result.contains("nobody answered in time")));
        } else {
            let refused = answer("mallory");
            let told = stderr(&refused);
            assert!(told.contains("it still waits for an answer by somebody it is for"), "{told}");
            assert_eq!(refused.status.code(), Some(5), "it has not gone on");
            assert!(place.path().join("work/build/x.o").exists());
            let done = answer("ann");
            assert_eq!(stdout(&done).lines().last(), Some("Done."), "{}", stderr(&done));
        }
        assert_eq!(place.path().join("work/build/x.o").exists(), is_late);
    }
}

#[test]
fn what_is_approved_for_the_run_is_not_asked_again_also_after_it_was_resumed() {
    let (build, other) = (json!({"command": "rm -rf build"}), json!({"command": "rm -rf other"}));
    let place = calling(&[call("bash", build.clone()), call("bash", build), call("bash", other)]);
    assert_eq!(run(&place, &[]).status.code(), Some(5));
    let shown = stdout(&place.convoke(&["show", "work-1"]));
    assert!(shown.contains("for this run: `bash` with `rm -rf build`"), "it is said what that is: {shown}");
    let asked = |place: &Place, command: &str| {
        let shown = document(&place.convoke(&["show", "work-1", "--json"]));
        let effects = shown["effects"].as_array().unwrap().clone();
        let is_it = |effect: &&Value| effect["question"]["subject"]["arguments"]["command"] == command;
        effects.iter().filter(is_it).count()
    };
    let on = place.convoke(&["answer", "work-1", "--approve", "--for-run", "--resume"]);
    assert_eq!(on.status.code(), Some(5), "another command is asked about: {}", stderr(&on));
    assert_eq!((asked(&place, "rm -rf build"), asked(&place, "rm -rf other")), (1, 1));
    // The script of a later process begins anew: with the first command, of which the journal knows.
    let on = place.convoke(&["answer", "work-1", "--approve", "--resume"]);
    assert_eq!(on.status.code(), Some(5), "what was approved once is asked again: {}", stderr(&on));
    assert_eq!((asked(&place, "rm -rf build"), asked(&place, "rm -rf other")), (1, 2));
    let fork = ["fork", "work-1", "--at", "2", "--id", "work-2"];
    assert!(place.convoke(&fork).status.success());
    assert_eq!(place.convoke(&["resume", "work-2"]).status.code(), Some(5), "a fork is another run");
}

#[test]
fn an_answer_holds_though_another_rule_asks_by_now() {
    let place = calling(&[call("bash", json!({"command": "rm -r build", "folder": "work"}))]);
    place.write("work/build/x.o", "");
    assert_eq!(run(&place, &[]).status.code(), Some(5));
    place.write("policy.toml", "version = 1\n\n[commands]\nask = [\"rm -r build\"]\n");
    let again = place.convoke(&["resume", "work-1"]);
    assert_eq!(again.status.code(), Some(5), "it waits as before: {}", stderr(&again));
    let done = place.convoke(&["answer", "work-1", "--approve", "--resume"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
    assert!(!place.path().join("work/build").exists());
}

#[test]
fn a_policy_decides_and_names_its_rule() {
    let place = calling(&[call("write", json!({"path": "src/x.rs", "content": "x"}))]);
    place.write("policy.toml", "version = 1\n[tools.write]\ndecision = \"deny\"\n");
    let output = run(&place, &["--output", "ndjson"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("policy.toml:3"), "{}", stdout(&output));
    assert!(!place.path().join("src").exists());
    // Another one, named on the command line, holds instead.
    place.write("other.toml", "version = 1\n");
    let rewriting = calling(&[call("write", json!({"path": "other.toml", "content": "sandbox = \"off\""}))]);
    rewriting.write("other.toml", "version = 1\n");
    let output = run(&rewriting, &["--policy", "other.toml"]);
    assert_eq!(rewriting.read("other.toml"), "version = 1\n", "whatever it is called: {}", stderr(&output));
    let output = place.convoke(&["run", "-m", "scripted/script.toml", "--policy", "other.toml"]);
    assert_eq!((output.status.code(), &*place.read("src/x.rs")), (Some(0), "x"), "{}", stderr(&output));
}

#[test]
fn a_run_goes_on_under_the_policy_that_was_named_when_it_began() {
    let write = |path: &str| call("write", json!({"path": path, "content": "x"}));
    let place = calling(&[write("asked.txt"), write("denied.txt")]);
    place.write("strict.toml", "version = 1\n[paths]\nask = [\"asked.txt\"]\ndeny = [\"denied.txt\"]\n");
    let asked = run(&place, &["--policy", "strict.toml"]);
    assert_eq!(asked.status.code(), Some(5), "{}", stderr(&asked));
    let told = stderr(&asked);
    assert!(told.contains("`convoke resume work-1 --policy strict.toml`"), "{told}");
    assert!(told.contains("`--resume --policy strict.toml`"), "{told}");
    // A store may have come with somebody else's folder: what it names is not what the user names.
    let unnamed = place.convoke(&["resume", "work-1"]);
    assert_eq!(unnamed.status.code(), Some(2), "{}", stderr(&unnamed));
    assert!(
        stderr(&unnamed).contains("`convoke resume work-1 --policy strict.toml`"),
        "{}",
        stderr(&unnamed)
    );
    let answer = ["answer", "work-1", "--approve", "--resume", "--policy", "strict.toml"];
    let done = place.convoke(&answer);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
    let made = |name: &str| place.path().join(name).exists();
    assert!(made("asked.txt") && !made("denied.txt"), "{}", stderr(&done));
}

#[test]
fn nobody_is_asked_about_a_path_that_leads_out_of_the_workspace() {
    let place = calling(&[call("rm", json!({"path": "../x"}))]);
    let output = run(&place, &[]);
    assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
    let told = results(&place).join("\n");
    assert!(told.contains("denied by the policy: `../x` leads out of the workspace"), "{told}");
}

#[test]
fn a_policy_that_is_not_valid_stops_the_run_before_it_begins() {
    let place = calling(&[]);
    place.write("policy.toml", "version = 1\n[tool.write]\n");
    let output = run(&place, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("policy.toml"), "{}", stderr(&output));
    assert!(!place.file().exists());
}

#[test]
fn agent_181_a_named_policy_must_be_there_and_without_one_the_defaults_hold() {
    let place = calling(&[]);
    let output = run(&place, &["--policy", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nowhere.toml cannot be read"), "{}", stderr(&output));
    assert!(!place.file().exists(), "nothing was started");
    let output = run(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_policy_limits_what_a_run_uses() {
    let read = call("read", json!({"path": "a.txt"}));
    let place = calling(&[read.clone(), read.clone(), read]);
    place.write("a.txt", "a");
    place.write("policy.toml", "version = 1\n[limits]\ntool_calls = 2\n");
    let output = run(&place, &[]);
    let told = stderr(&output);
    assert_eq!(told.matches("read(").count(), 2, "{told}");
    assert!(told.contains("what it may use was used up"), "{told}");
}

#[test]
fn a_limit_of_the_policy_is_raised_in_the_policy() {
    let read = |path: &str| call("read", json!({"path": path}));
    let place = calling(&[read("a.txt"), read("b.txt"), read("c.txt")]);
    for file in ["a.txt", "b.txt", "c.txt"] {
        place.write(file, file);
    }
    let policy = |most: u8| format!("version = 1\n[limits]\ntool_calls = {most}\n");
    place.write("policy.toml", policy(1));
    let output = run(&place, &["--budget", "9 tool-calls"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("the policy sets this limit, `limits.tool_calls` at policy.toml:3"), "{told}");
    assert!(told.contains("resume work-1") && !told.contains("--budget"), "{told}");
    place.write("policy.toml", policy(9));
    let done = place.convoke(&["resume", "work-1"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
}

#[test]
fn without_tool_calls_and_an_answer_a_run_has_used_up_its_budget_and_goes_on_with_more() {
    let read = |path: &str| call("read", json!({"path": path}));
    let place = calling(&[read("a.txt"), read("b.txt"), read("c.txt"), read("d.txt")]);
    for file in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        place.write(file, file);
    }
    let output = run(&place, &["--budget", "2 tool-calls"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("2 of 2 tool calls") && told.contains("resume work-1 --budget"), "{told}");
    assert_eq!(document(&place.convoke(&["show", "work-1", "--json"]))["run"]["status"], "budget_exhausted");
    let again = place.convoke(&["resume", "work-1"]);
    assert_eq!(again.status.code(), Some(7), "{}", stderr(&again));
    let done = place.convoke(&["resume", "work-1", "--budget", "5 tool-calls"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
}

#[test]
fn a_budget_of_the_file_is_raised_in_the_file() {
    let read = call("read", json!({"path": "a.txt"}));
    let place = calling(&[read.clone(), read.clone(), read]);
    place.write("a.txt", "a");
    let file =
        |most: u8| format!("NAME work\nGOAL work \"Work\" BUDGET {most} tool-calls\nRUN main USING work\n");
    place.write("Agentfile", file(1));
    let output = run(&place, &[]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("the file sets this limit") && !told.contains("--budget"), "{told}");
    place.write("Agentfile", file(9));
    let done = place.convoke(&["resume", "work-1", "--changed-file"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
}

#[test]
fn a_folder_cannot_turn_the_sandbox_off_for_somebody_else() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("out.txt");
    let place = calling(&[call("bash", json!({"command": format!("echo out > {}", target.display())}))]);
    place.write("policy.toml", "version = 1\nsandbox = \"off\"\n[commands]\ndefault = \"allow\"\n");
    let output = run(&place, &[]);
    let told = stderr(&output);
    assert!(told.contains("turns the sandbox off, which only you can"), "{told}");
    assert!(!target.exists(), "{told}");
    // Whoever names the file means it.
    let arguments = ["run", "-m", "scripted/script.toml", "--policy", "policy.toml"];
    let output = place.convoke_with(&arguments, &[("PATH", "/usr/bin:/bin")]);
    assert!(stderr(&output).contains("the sandbox is off"), "{}", stderr(&output));
    assert!(target.exists(), "{}", stderr(&output));
}

#[test]
fn a_tool_that_is_not_there_is_said_before_anything_is_done() {
    let place = calling(&[]);
    place.write("Agentfile", "NAME work\nGOAL work \"Work\" TOOLS reed\nRUN main USING work\n");
    let output = run(&place, &[]);
    let told = stderr(&output);
    assert!(told.contains("reed") && told.contains("read"), "{told}");
}

#[test]
fn a_call_that_there_was_no_budget_for_is_not_made_when_the_run_goes_on_with_more() {
    let place = Place::empty();
    place.write("Agentfile", "NAME acts\nGOAL act \"Act\" TOOLS bash\nRUN main USING act\n");
    place.write(
        "script.toml",
        r#"
[[rule]]
when = { tool_result_contains = "enough" }
reply = "Done."

[[rule]]
when = { offers_tools = true, has_tool_result = false }
tool_calls = [{ name = "bash", arguments = { command = "echo 1" } }, { name = "bash", arguments = { command = "echo 2" } }]

[[rule]]
tool_calls = [{ name = "bash", arguments = { command = "echo enough" } }]
"#,
    );
    let run = ["run", "-m", "scripted/script.toml", "--id", "acts-1", "--budget", "1 tool-calls"];
    let ended = place.convoke(&run);
    assert_eq!(ended.status.code(), Some(7), "{}", stderr(&ended));
    let done = place.convoke(&["resume", "acts-1", "--budget", "9 tool-calls"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
    let shown = stdout(&place.convoke(&["show", "acts-1"]));
    assert!(shown.contains("echo 1") && !shown.contains("echo 2\"}) → 2"), "{shown}");
}
