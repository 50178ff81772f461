//! Commands that nodes of graphs run, in the sandbox: what they give, and what becomes of a node whose command fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::place::{Place, stderr, stdout};
use crate::workshop::Running;

/// A place where everything may be called, with a graph of these nodes and edges.
fn place(nodes: &str, edges: &str) -> Place {
    let place = Place::empty();
    place.write(
        "policy.toml",
        "version = 1\n[tools.bash]\ndecision = \"allow\"\n[tools.write]\ndecision = \"allow\"\n",
    );
    place.write("flow.graph.yaml", format!("name: flow\nentry: first\nnodes:\n{nodes}edges:\n{edges}"));
    place
}

const RUN: [&str; 6] = ["run", "flow.graph.yaml", "--id", "flow", "--policy", "policy.toml"];

#[test]
fn a_gate_fails_at_the_first_command_that_does_and_says_which() {
    for command in ["false", "exit 7", "nosuchcmd", "kill -9 $$", "cd /nope"] {
        let place = place(
            &format!(
                "  - {{id: first, type: gate, config: {{commands: ['echo well', '{command}', 'touch second-ran']}}}}\n  - {{id: out, type: answer, \
                 config: {{template: '{{{{.gate_result}}}}|{{{{.gate_result_failed_command}}}}|{{{{.gate_result_output}}}}'}}}}\n"
            ),
            "  - {from: first, to: out}\n",
        );
        let done = place.convoke(&RUN);
        let said = stdout(&done);
        assert!(said.starts_with(&format!("fail|{command}|well\n")), "{said}{}", stderr(&done));
        assert!(!place.path().join("second-ran").exists(), "{command}");
    }
}

#[test]
fn what_a_command_writes_can_be_compared_and_read_as_json() {
    let place = place(
        "  - {id: first, type: tool, config: {tool: bash, json: true, output_key: a, arguments: {command: \"echo '{\\\"a\\\": 1}'\"}}}\n  - {id: \
         version, type: context, config: {commands: [{command: 'echo v1; echo well >&2', state_key: version}]}}\n  - {id: yes, type: answer, \
         config: {template: 'a is {{.a.a}}, and it is v1'}}\n",
        "  - {from: first, to: version}\n  - {from: version, to: yes, condition: 'version == \"v1\"'}\n",
    );
    let done = place.convoke(&RUN);
    assert_eq!(stdout(&done), "a is 1, and it is v1\n", "{}", stderr(&done));
}

#[test]
fn of_two_commands_that_change_one_file_at_once_none_is_lost_silently() {
    let appends = |id: &str, retries: u8| {
        format!(
            "  - {{id: {id}, type: tool, retries: {retries}, config: {{tool: bash, output_key: {id}, arguments: {{command: 'sleep 1; echo from-{id} \
             >> log.txt'}}}}}}\n"
        )
    };
    let graph = |retries| {
        let nodes = format!(
            "  - {{id: first, type: passthrough}}\n{}{}",
            appends("a", retries),
            appends("b", retries)
        );
        place(&nodes, "  - {from: first, to: a}\n  - {from: first, to: b}\n")
    };
    let place = graph(0);
    place.write("log.txt", "");
    let done = place.convoke(&RUN);
    let lines = place.read("log.txt").lines().count();
    // On a busy machine one may have been done before the other began.
    if lines != 2 {
        assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
        let told = stderr(&done);
        assert!(told.contains("`log.txt` was not taken over: somebody else changed it"), "{told}");
        let resumed = place.convoke(&["resume", "flow", "--policy", "policy.toml"]);
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        assert_eq!(place.read("log.txt").lines().count(), 2, "what was lost is done when the run goes on");
    }
    let place = graph(3);
    place.write("log.txt", "");
    let done = place.convoke(&RUN);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(place.read("log.txt").lines().count(), 2);
}

#[test]
fn after_an_overtaken_change_the_hint_says_that_the_whole_command_is_run_again() {
    let place = place(
        "  - {id: first, type: tool, config: {tool: bash, arguments: {command: 'echo once >> other.txt; echo mine >> log.txt; sleep 1'}}}\n",
        "  - {from: first, to: __end__}\n",
    );
    place.write("log.txt", "");
    let is_over = AtomicBool::new(false);
    let failed = std::thread::scope(|threads| {
        // Whenever the command begins, somebody else writes after that.
        threads.spawn(|| {
            for number in 0.. {
                place.write("log.txt", format!("{number}\n"));
                std::thread::sleep(Duration::from_millis(50));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let failed = place.convoke(&RUN);
        is_over.store(true, Ordering::Relaxed);
        failed
    });
    let told = stderr(&failed);
    assert_eq!(failed.status.code(), Some(1), "{told}");
    assert!(told.contains("`log.txt` was not taken over"), "{told}");
    assert!(told.contains("it runs the whole command again, also what it did to other files"), "{told}");
    assert!(!told.contains("nothing that was done is done again"), "{told}");
    let resumed = place.convoke(&["resume", "flow", "--policy", "policy.toml"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(place.read("other.txt"), "once\nonce\n");
}

#[test]
fn the_whole_output_of_a_command_comes_into_a_variable_or_the_node_fails() {
    let counting = |last: u32| {
        place(
            &format!(
                "  - {{id: first, type: tool, config: {{tool: bash, output_key: a, arguments: {{command: 'seq 1 {last}'}}}}}}\n  - {{id: out, type: \
                 answer, config: {{template: '{{{{.a}}}}'}}}}\n"
            ),
            "  - {from: first, to: out}\n",
        )
    };
    let whole: String = (1..=20_000).map(|number: u32| format!("{number}\n")).collect();
    let done = counting(20_000).convoke(&RUN);
    assert!(stdout(&done) == whole, "{}", stderr(&done));
    let failed = counting(200_000).convoke(&RUN);
    let told = stderr(&failed);
    assert_eq!(failed.status.code(), Some(1), "{told}");
    assert!(told.contains("wrote 1288895 bytes") && told.contains("have it write to a file"), "{told}");
}

#[test]
fn a_limit_of_the_policy_on_one_tool_is_named_with_its_line() {
    let place = place(
        "  - {id: first, type: tool, config: {tool: write, arguments: {path: a.txt, content: a}}}\n  - {id: second, type: tool, config: {tool: \
         write, arguments: {path: b.txt, content: b}}}\n",
        "  - {from: first, to: second}\n",
    );
    place.write("policy.toml", "version = 1\n[tools.write]\ndecision = \"allow\"\ncalls = 1\n");
    let ended = place.convoke(&RUN);
    let told = stderr(&ended);
    assert_eq!(ended.status.code(), Some(7), "{told}");
    assert!(told.contains("the policy sets this limit, `tools.write.calls` at policy.toml:4"), "{told}");
    assert!(!told.contains("--budget"), "{told}");
    place.write("policy.toml", "version = 1\n[tools.write]\ndecision = \"allow\"\ncalls = 2\n");
    let done = place.convoke(&["resume", "flow", "--policy", "policy.toml"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(place.read("b.txt"), "b");
}

#[test]
fn after_an_error_of_the_file_the_hint_says_to_change_the_file() {
    for (node, mended) in [
        ("type: script, config: {source: 'null.x'}", "type: script, config: {source: '1'}"),
        ("type: template, config: {template: '${board.none}'}", "type: template, config: {template: 'x'}"),
        ("type: ifelse, config: {conditions: [{expression: 'none > 1'}]}", "type: passthrough"),
        ("type: loopguard, config: {counter_key: text}", "type: loopguard"),
    ] {
        let file = |node: &str| {
            format!(
                "name: flow\nentry: start\nnodes:\n  - {{id: start, type: assigner, config: {{assignments: [{{target: text, value: x}}]}}}}\n  - {{id: \
                 first, {node}}}\n  - {{id: out, type: answer, config: {{template: done}}}}\nedges:\n  - {{from: start, to: first}}\n  - {{from: \
                 first, to: out}}\n"
            )
        };
        let place = Place::empty();
        place.write("flow.graph.yaml", file(node));
        let failed = place.convoke(&["run", "flow.graph.yaml", "--id", "flow"]);
        let told = stderr(&failed);
        assert_eq!(failed.status.code(), Some(1), "{node}: {told}");
        assert!(
            told.contains("change the file, and go on with `convoke resume flow --changed-file`"),
            "{told}"
        );
        place.write("flow.graph.yaml", file(mended));
        let done = place.convoke(&["resume", "flow", "--changed-file"]);
        assert_eq!(stdout(&done), "done\n", "{node}: {}", stderr(&done));
    }
    let forks = "  - {id: first, type: passthrough}\n  - {id: a, type: passthrough}\n  - {id: b, type: passthrough}\nmax_branches: 1\n";
    let place = place(forks, "  - {from: first, to: a}\n  - {from: first, to: b}\n");
    let told = stderr(&place.convoke(&RUN));
    assert!(told.contains("max_branches") && told.contains("--changed-file"), "{told}");
}

#[test]
fn a_command_whose_result_was_lost_decides_nothing_until_somebody_says_what_it_gave() {
    let place = place(
        "  - {id: first, type: gate, config: {commands: ['sleep 60; exit 1']}}\n  - {id: out, type: answer, config: {template: \
         '{{.gate_result}}: {{.gate_result_output}}'}}\n",
        "  - {from: first, to: out}\n",
    );
    // What a command may have done elsewhere nobody can look up.
    place.write(
        "policy.toml",
        "version = 1\n[commands]\nnetwork = true\n[tools.bash]\ndecision = \"allow\"\n",
    );
    let mut running = Running::start(&place, &RUN);
    running.until(|event| event["type"] == "tool_call_executing");
    // It is told first, and then written down as begun.
    while !stdout(&place.convoke(&["show", "flow"])).contains("tool bash") {
        std::thread::sleep(Duration::from_millis(50));
    }
    running.child.kill().unwrap();
    running.finish();
    let policy = ["--policy", "policy.toml"];
    assert_eq!(
        place.convoke(&[&["resume", "flow", "--no-input"], &policy[..]].concat()).status.code(),
        Some(5)
    );
    let answered =
        place.convoke(&[&["answer", "flow", "--choose", "done", "--resume"], &policy[..]].concat());
    let told = stderr(&answered);
    assert!(told.contains("what it gave back was lost"), "{told}");
    let at = told.split_once("convoke fork flow --at ").unwrap().1.split_once(' ').unwrap().0;
    for (id, instead, result) in [
        ("well", ["--reply", "well"], "pass: well\n"),
        ("badly", ["--outcome", r#"{"content": "badly", "is_error": true}"#], "fail: badly\n"),
    ] {
        let forked = place.convoke(&[&["fork", "flow", "--at", at, "--id", id], &instead[..]].concat());
        assert!(forked.status.success(), "{}", stderr(&forked));
        let done = place.convoke(&[&["resume", id], &policy[..]].concat());
        assert_eq!(stdout(&done), result, "{}", stderr(&done));
    }
}

#[test]
fn a_node_that_was_ended_before_it_called_anything_is_shown_with_what_ended_it() {
    let place = place(
        "  - {id: first, type: passthrough}\n  - {id: slow, type: llm, config: {prompt: q, output_key: slow}}\n  - {id: fast, type: \
         passthrough, cancels: [slow]}\n  - {id: out, type: answer, config: {template: done}}\n",
        "  - {from: first, to: slow}\n  - {from: first, to: fast}\n  - {from: slow, to: out}\n  - {from: fast, to: out}\n",
    );
    place.write("slow.toml", "[[rule]]\nreply = \"x\"\ndelay = \"5s\"\n");
    let done = place.convoke(&[&RUN[..], &["-m", "scripted/slow.toml"]].concat());
    assert_eq!(stdout(&done), "done\n", "{}", stderr(&done));
    let shown = stdout(&place.convoke(&["show", "flow"]));
    // On a busy machine it may have asked already.
    let slow = shown.lines().find(|line| line.contains("ended: `fast` was done first"));
    assert!(slow.is_some_and(|line| line.contains("slow")), "{shown}");
}
