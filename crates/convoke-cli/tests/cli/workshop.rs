//! A folder with an Agentfile and a script for its model, and `convoke run` there, step by step if need be.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::place::{Place, stdout};

/// A chain of goals: agents side by side, a convergence, a person, and something after that.
pub(crate) const AGENTFILE: &str = r#"NAME letter
INPUT topic
INPUT words:int DEFAULT 10
AGENT poet "You are a poet."
AGENT clerk "You are a clerk."
GOAL collect "Collect facts about $topic in $words words" -> facts:[string] USING poet, clerk
CONVERGE draft "Write a letter from $facts" WITHIN 3
GOAL sign "Sign $draft" SUPERVISED HUMAN
GOAL send "Address $sign"
RUN main USING collect, draft, sign
RUN last USING send
"#;

/// The same without anybody watching.
pub(crate) fn unwatched() -> String {
    AGENTFILE.replace(" SUPERVISED HUMAN", "")
}

/// What the model says. Every rule depends on what is asked, so a process that goes on gets the same answers.
pub(crate) const SCRIPT: &str = r#"
name = "scripted"
price = { input = 3.0, output = 15.0 }

[[rule]]
when.output = "commitment"
json = { interpretation = "Sign the letter.", approach = "With a name.", confidence = "high" }

[[rule]]
when.output = "assessment"
json = { met_commitment = true }

[[rule]]
when = { user_contains = 'role="poet"' }
reply = "Looms sing."

[[rule]]
when = { user_contains = 'role="clerk"' }
reply = "Looms weave."

[[rule]]
when = { user_contains = '<current-goal id="collect">' }
json = { facts = ["looms sing", "looms weave"] }

[[rule]]
when = { user_contains = '<iteration n="1">' }
reply = "Dear Ann, looms sing and weave.\n\nCONVERGED"

[[rule]]
when = { user_contains = '<current-goal id="draft">' }
reply = "Looms."

[[rule]]
when = { user_contains = '<current-goal id="sign">' }
reply = "Dear Ann, looms sing and weave. Ben"

[[rule]]
when = { user_contains = '<current-goal id="send">' }
reply = "To Ann: Dear Ann, looms sing and weave. Ben"
"#;

/// The result of the whole.
pub(crate) const RESULT: &str = "To Ann: Dear Ann, looms sing and weave. Ben";

/// The words after `convoke` that run it.
pub(crate) const RUN: [&str; 8] =
    ["run", "letter.agent", "-i", "topic=looms", "-m", "scripted/script.toml", "--id", "letter-1"];

/// A folder with both files.
pub(crate) fn workshop(agentfile: &str) -> Place {
    slow_workshop(agentfile, 0)
}

/// The same with a model that takes so many milliseconds for every answer.
pub(crate) fn slow_workshop(agentfile: &str, millis: u64) -> Place {
    let place = Place::empty();
    place.write("letter.agent", agentfile);
    place.write("script.toml", SCRIPT.replace("[[rule]]\n", &format!("[[rule]]\ndelay = \"{millis}ms\"\n")));
    place
}

/// `convoke` at work.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts it, with every event on standard output.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::start_with(place, arguments, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_with(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        // Whoever runs the tests may have told them to outlive their terminal, which is not what is tested.
        let mut child = Command::new("/usr/bin/env")
            .arg("--default-signal=HUP")
            .arg(assert_cmd::cargo::cargo_bin!("convoke"))
            .current_dir(place.path())
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .env("USER", "ann")
            .envs(variables.iter().copied())
            .args(arguments)
            .args(["--output", "ndjson"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next event; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Events up to the first of which this is true.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().expect("the event comes before the end");
            if is_it(&event) {
                return event;
            }
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Reads nothing any more; gives the exit code and what was told.
    pub(crate) fn hang_up(self) -> (Option<i32>, String) {
        let Self { child, lines } = self;
        drop(lines);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Reads the rest; gives the exit code, if there is one, and what was told.
    pub(crate) fn finish(mut self) -> (Vec<Value>, Option<i32>, String) {
        let rest: Vec<Value> = std::iter::from_fn(|| self.next()).collect();
        let output = self.child.wait_with_output().unwrap();
        (rest, output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

/// Sends a signal to a process.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

/// A result that was asked for as JSON.
pub(crate) fn document(output: &std::process::Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

/// What differs from run to run, made the same: ids, times, what was used. Agents take turns as they like.
pub(crate) fn steady(seen: &str) -> String {
    let mut lines = Vec::new();
    for line in seen.lines() {
        // A line of progress begins with the time.
        let line = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((_, rest)) if rest.starts_with("agent ") => continue,
            Some((_, rest)) => match rest.split_once(": done, ") {
                Some((name, _)) => format!("[TIME] {name}: done, USED"),
                None => format!("[TIME] {rest}"),
            },
            None => line.to_owned(),
        };
        lines.push(without_question(&line));
    }
    lines.join("\n") + "\n"
}

/// `convoke answer RUN 0a1b2c3d --approve` without the question's digits.
fn without_question(line: &str) -> String {
    let is_id = |word: &&str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match line.split(' ').find(is_id) {
        Some(id) => line.replace(id, "QUESTION"),
        None => line.to_owned(),
    }
}
