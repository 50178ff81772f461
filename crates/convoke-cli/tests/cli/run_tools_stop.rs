//! Runs with hands that are killed at any moment: nothing is done twice, and what is not known is asked.

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, stderr, stdout};
use crate::workshop::{Running, send};

const AGENTFILE: &str = r#"NAME mend
GOAL mend "Mend it"
GOAL note "Note it: $mend"
RUN main USING mend, note
"#;

/// Every rule depends on what was just given back, so a process that goes on gets the same answers.
const SCRIPT: &str = r#"
[[rule]]
when = { user_contains = '<current-goal id="note">', tool_result_of = "write" }
reply = "Noted."
delay = "3ms"

[[rule]]
when = { user_contains = '<current-goal id="note">' }
reply = { tool_calls = [{ name = "write", arguments = { path = "work/notes.txt", content = "mended\n" } }] }
delay = "3ms"

[[rule]]
when = { tool_result_of = "bash" }
reply = "Mended."
delay = "3ms"

[[rule]]
when = { tool_result_of = "edit" }
reply = { tool_calls = [{ name = "bash", arguments = { command = "echo tested >> log.txt", folder = "work" } }] }
delay = "3ms"

[[rule]]
when = { tool_result_of = "read" }
reply = { tool_calls = [{ name = "edit", arguments = { path = "work/code.txt", old = "sum=x", new = "sum=y" } }] }
delay = "3ms"

[[rule]]
reply = { tool_calls = [{ name = "read", arguments = { path = "work/code.txt" } }] }
delay = "3ms"
"#;

const RUN: [&str; 6] = ["run", "mend.agent", "-m", "scripted/script.toml", "--id", "mend-1"];

fn workshop() -> Place {
    let place = Place::empty();
    place.write("mend.agent", AGENTFILE);
    place.write("script.toml", SCRIPT);
    place.write("work/code.txt", "sum=0\nsum=x\n");
    place
}

fn times_tested(place: &Place) -> usize {
    std::fs::read_to_string(place.path().join("work/log.txt")).map_or(0, |log| log.lines().count())
}

/// Says truthfully what became of a command that was interrupted.
fn answer_doubt(place: &Place) {
    let (was_done, code) = (times_tested(place), place.read("work/code.txt"));
    let open = place.convoke(&["questions", "--json"]);
    let open: Value = serde_json::from_slice(&open.stdout).unwrap();
    let title = open.to_string();
    assert!(title.contains("was interrupted and may have acted already"), "{title}");
    let done = match title.contains("`bash`") {
        true => was_done > 0,
        false => code.contains("sum=y"),
    };
    let chosen = if done { "done" } else { "again" };
    let answered = place.convoke(&["answer", "mend-1", "--choose", chosen]);
    assert!(answered.status.success(), "{}", stderr(&answered));
}

/// Runs it, killed after so many events, to its end; gives how often somebody was asked.
fn survive(place: &Place, after: usize, what: &str) -> usize {
    let mut running = Running::start(place, &RUN);
    for _ in 0..after {
        if running.next().is_none() {
            break;
        }
    }
    // It may be over already.
    let _ = running.child.kill();
    let (_, mut code, mut told) = running.finish();
    let mut asked = 0;
    loop {
        match code {
            Some(0) => return asked,
            Some(5) => {
                answer_doubt(place);
                asked += 1;
                assert!(asked < 4, "{what}: {told}");
            }
            None => {}
            other => panic!("{what}: exit {other:?}: {told}"),
        }
        let is_there = place.convoke(&["show", "mend-1"]).status.code() == Some(0);
        let arguments = if is_there { &["resume", "mend-1"][..] } else { &RUN };
        (_, code, told) = Running::start(place, arguments).finish();
    }
}

#[test]
fn files_and_commands_survive_a_kill_after_any_event() {
    let events = {
        let place = workshop();
        let (events, code, told) = Running::start(&place, &RUN).finish();
        assert_eq!(code, Some(0), "{told}");
        events.len()
    };
    assert!(events > 30, "{events}");
    for after in 0..events {
        let place = workshop();
        let what = format!("killed after {after} of {events} events");
        survive(&place, after, &what);
        assert_eq!(place.read("work/code.txt"), "sum=0\nsum=y\n", "{what}");
        assert_eq!(times_tested(&place), 1, "{what}: the command was run twice, or not at all");
        assert_eq!(place.read("work/notes.txt"), "mended\n", "{what}");
        let left: Vec<_> = std::fs::read_dir(place.path().join("work"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 3, "{what}: something was left behind: {left:?}");
    }
}

/// Edits that leave the text they replace in the file, so that the file alone does not say whether they were made.
#[test]
fn an_edit_that_leaves_its_old_text_is_made_once_whenever_the_run_is_killed() {
    let old = "old = \"sum=x\", new = \"sum=y\"";
    for (edit, before, after) in [
        ("old = \"\\n\\n\\n\", new = \"\\n\\n\"", "a\n\n\n\nb\n", "a\n\n\nb\n"),
        ("old = \"  \", new = \" \", all = true", "a    b\n", "a  b\n"),
        ("old = \"ab\", new = \"\"", "aabb\n", "ab\n"),
    ] {
        for kill_after in 0..4 {
            let place = workshop();
            place.write("script.toml", SCRIPT.replace(old, edit));
            place.write("work/code.txt", before);
            let mut running = Running::start(&place, &RUN);
            running.until(|event| event["type"] == "tool_call_started" && event["tool"] == "edit");
            for _ in 0..kill_after {
                running.next();
            }
            while kill_after == 3 && place.read("work/code.txt") == before {
                std::thread::yield_now();
            }
            let _ = running.child.kill();
            let (_, mut code, mut told) = running.finish();
            for _ in 0..4 {
                if code == Some(0) {
                    break;
                }
                if code == Some(5) {
                    let open = stdout(&place.convoke(&["questions", "--json"]));
                    assert!(open.contains("`bash`"), "{edit}: an edit is not asked about: {open}");
                    answer_doubt(&place);
                }
                (_, code, told) = Running::start(&place, &["resume", "mend-1"]).finish();
            }
            assert_eq!(code, Some(0), "{edit}: {told}");
            assert_eq!(place.read("work/code.txt"), after, "{edit}, killed {kill_after} events later");
        }
    }
}

/// A place where the command has acted, and does not end by itself the first time: it sleeps for so long.
fn endless(seconds: &str) -> Place {
    let place = workshop();
    let waits = format!("echo tested >> log.txt; test -e again || sleep {seconds}");
    place.write("script.toml", SCRIPT.replace("echo tested >> log.txt", &waits));
    place
}

fn sleeps(seconds: &str) -> bool {
    let words = format!("sleep\0{seconds}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        std::fs::read(process.path().join("cmdline")).is_ok_and(|found| found == words.as_bytes())
    })
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// What it had done was in its view, and went with it: nobody has to be asked, however it was ended.
#[test]
fn a_command_that_was_under_way_has_done_nothing_and_is_run_again() {
    let ends = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    for (end, seconds) in ends.into_iter().zip(["600.17", "600.18", "600.19", "600.21"]) {
        let place = endless(seconds);
        for arguments in [&RUN[..], &["resume", "mend-1"]] {
            let running = Running::start(&place, arguments);
            wait_until(|| sleeps(seconds));
            running.signal(end);
            let (_, code, told) = running.finish();
            assert!(code.is_none_or(|code| code == 6), "{end:?}: {told}");
            assert_eq!(times_tested(&place), 0);
            wait_until(|| !sleeps(seconds));
        }
        place.write("work/again", "");
        let (_, code, told) = Running::start(&place, &["resume", "mend-1"]).finish();
        assert_eq!((code, times_tested(&place)), (Some(0), 1), "{end:?}: {told}");
    }
}

#[test]
fn a_command_that_an_attendant_had_under_way_is_run_again() {
    let place = endless("600.22");
    let running = Running::start(&place, &RUN);
    wait_until(|| sleeps("600.22"));
    running.signal(Signal::KILL);
    running.finish();
    wait_until(|| !sleeps("600.22"));
    let mut attending = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .current_dir(place.path())
        .env_clear()
        .envs([("XDG_DATA_HOME", place.data()), ("USER", "ann")])
        .args(["attend", "--once"])
        .spawn()
        .unwrap();
    wait_until(|| sleeps("600.22"));
    send(&attending, Signal::TERM);
    attending.wait().unwrap();
    wait_until(|| !sleeps("600.22"));
    place.write("work/again", "");
    let attended = place.convoke(&["attend", "--once"]);
    assert!(stdout(&attended).contains("mend-1  completed"), "{}", stdout(&attended));
    assert_eq!(times_tested(&place), 1);
}

/// What the model says to whoever writes a file and then changes it: once that is done it is overloaded, once.
fn overloaded_after(tool: &str, arguments: &str) -> String {
    format!(
        r#"
[[rule]]
when = {{ tool_result_of = "{tool}" }}
reply = [{{ error = {{ status = 503, message = "overloaded" }} }}, {{ text = "done" }}]

[[rule]]
when = {{ tool_result_of = "write" }}
reply = {{ tool_calls = [{{ name = "{tool}", arguments = {arguments} }}] }}

[[rule]]
reply = {{ tool_calls = [{{ name = "write", arguments = {{ path = "f.txt", content = "draft\n" }} }}] }}
"#
    )
}

#[test]
fn what_one_attempt_made_of_a_file_the_next_one_takes_over_as_a_whole() {
    for (tool, arguments, content) in [
        ("edit", r#"{ path = "f.txt", old = "draft", new = "FINAL" }"#, "FINAL\n"),
        ("bash", r#"{ command = "echo more >> f.txt" }"#, "draft\nmore\n"),
    ] {
        let place = Place::empty();
        place.write("again.agent", "NAME again\nGOAL g \"Write it\" RETRY 2 AFTER 10ms\nRUN main USING g\n");
        place.write("script.toml", overloaded_after(tool, arguments));
        let run = place.convoke(&["run", "again.agent", "-m", "scripted/script.toml", "--no-input"]);
        assert_eq!(
            (stdout(&run), place.read("f.txt")),
            ("done\n".into(), content.into()),
            "{}",
            stderr(&run)
        );
    }
}
