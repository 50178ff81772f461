//! `convoke attach`

use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::examples::{crashed, failed, letter, refund};
use crate::place::{Place, stderr, stdout};
use crate::run_stop::{goal_started, hanging};
use crate::run_terminal::Terminal;
use crate::workshop::{RESULT, RUN, Running, SCRIPT, send, unwatched, workshop};

#[test]
fn a_run_that_is_over_gives_what_it_came_to_and_how_it_ended() {
    let place = Place::with([letter(), failed(), refund(), crashed()]);
    let done = place.convoke(&["attach", "letter-1"]);
    assert!(stdout(&done).contains("Dear Ann, looms are 6,000 years old."), "{}", stdout(&done));
    assert!(stderr(&done).contains("search("), "{}", stderr(&done));
    assert_eq!(done.status.code(), Some(0));
    let failed = place.convoke(&["attach", "letter-2"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("too many requests"), "{}", stderr(&failed));
    let waits = place.convoke(&["attach", "refund-7"]);
    assert_eq!(waits.status.code(), Some(5));
    assert!(stdout(&waits).contains("convoke answer refund-7"), "{}", stdout(&waits));
    let idle = place.convoke(&["attach", "payment-9"]);
    assert!(stderr(&idle).contains("nobody works on run `payment-9`"), "{}", stderr(&idle));
}

#[test]
fn a_run_of_an_agentfile_is_told_as_it_went_and_gives_the_same_result() {
    let place = workshop(&unwatched());
    assert!(place.convoke(&RUN).status.success());
    let seen = place.convoke(&["attach", "letter-1"]);
    assert_eq!(stdout(&seen), format!("{RESULT}\n"), "{}", stderr(&seen));
    let told = stderr(&seen);
    assert!(told.contains("goal collect: begins") && told.contains("convergence draft: done, "), "{told}");
}

#[test]
fn whoever_watches_leaves_the_run_alone() {
    let place = hanging();
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    let watching = Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .args(["attach", "letter-1"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut watching = watching;
    // What was done before it came is told first, so it listens by then.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stderr.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("goal collect: begins")));
    // Its first call is under way, and nothing in the journal is about it.
    assert!(lines.by_ref().any(|line| line.unwrap().contains("convergence draft: begins")));
    send(&watching, Signal::INT);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("goes on without being watched")), "{rest:?}");
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    running.signal(Signal::INT);
    assert_eq!(running.finish().1, Some(6));
    place.write("script.toml", SCRIPT);
    assert!(place.convoke(&["resume"]).status.success());
}

#[test]
fn what_a_model_says_is_no_command_to_the_terminal_and_goes_as_it_is_into_a_pipe() {
    let place = Place::empty();
    place.write("b.agent", "NAME b\nGOAL a \"Say it\"\nRUN main USING a\n");
    let said = r"evil \u001b]0;title\u0007 \u001b[2J\u202e\tend\nof it";
    place.write("c.toml", format!("[[rule]]\nreply = \"{said}\"\n"));
    let run = ["run", "b.agent", "-m", "scripted/c.toml", "-q", "--id", "b-1"];
    let (seen, _, code) = Terminal::with_results(&place, &run).finish();
    let visible = "evil \\u{1b}]0;title\\u{7} \\u{1b}[2J\\u{202e}\tend\r\nof it\r\n";
    assert!(code == Some(0) && seen.ends_with(visible), "{seen:?}");
    let (seen, _, _) = Terminal::with_results(&place, &["attach", "b-1"]).finish();
    assert!(seen.contains(visible) && !seen.contains("\u{1b}]0;"), "{seen:?}");
    let (seen, _, _) = Terminal::with_results(&place, &["attach", "b-1", "--json"]).finish();
    assert!(seen.contains("\\u202e") && !seen.contains('\u{202e}'), "{seen:?}");
    let piped = place.convoke(&["attach", "b-1"]);
    assert_eq!(stdout(&piped), "evil \u{1b}]0;title\u{7} \u{1b}[2J\u{202e}\tend\nof it\n");
}

#[test]
fn a_run_that_waits_at_another_terminal_is_watched_on_with_its_question() {
    let place = workshop(crate::workshop::AGENTFILE);
    let mut terminal = crate::run_terminal::Terminal::with_results(&place, &RUN);
    terminal.wait_for("[l]ater? ");
    let mut watching = Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .args(["attach", "letter-1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stderr.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("it waits for an answer")));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("convoke answer letter-1")));
    assert!(place.convoke(&["answer", "letter-1", "--approve"]).status.success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("answered: approved")), "{rest:?}");
    assert_eq!(stdout(&watching.wait_with_output().unwrap()), format!("{RESULT}\n"));
    assert_eq!(terminal.finish().2, Some(0));
}

#[test]
fn a_goal_begins_when_its_first_call_does() {
    let place = Place::empty();
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    place.write("slow.toml", "[[rule]]\nreply = \"Hello.\"\ndelay = \"1500ms\"\n");
    assert!(place.convoke(&["run", "b.agent", "-m", "scripted/slow.toml", "--id", "b-1"]).status.success());
    let told = stderr(&place.convoke(&["attach", "b-1"]));
    let since = |what: &str| {
        let line = told.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{told}"));
        line.split(']').next().unwrap_or_default().to_owned()
    };
    assert_ne!(since("goal g: begins"), since("goal g: done"), "the reply took more than a second: {told}");
}
