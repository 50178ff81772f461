//! Runs that are stopped, killed and resumed: nothing is lost, and nothing is done twice.

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, stderr, stdout};
use crate::workshop::{
    AGENTFILE, RESULT, RUN, Running, SCRIPT, document, slow_workshop, unwatched, workshop,
};

/// Agents that are at work at the same time: so many calls may be under way when the process dies.
const AT_ONCE: usize = 2;

pub(crate) fn goal_started(event: &Value) -> bool {
    event["name"] == "goal_started" && event["value"]["goal"] == "draft"
}

/// What the model says to the goal at which runs are stopped here.
const DRAFT: &str = "when = { user_contains = '<current-goal id=\"draft\">' }\nreply = \"Looms.\"\n";

/// A model that does not answer there, so that the run is not over before a signal comes, however late that is.
pub(crate) fn hanging() -> Place {
    let place = workshop(&unwatched());
    place.write("script.toml", SCRIPT.replace(DRAFT, &format!("{DRAFT}delay = \"600s\"\n")));
    place
}

/// A model that says more there than a pipe holds, so that the run is not over before somebody reads it all.
fn talkative() -> Place {
    let place = workshop(&unwatched());
    let long = DRAFT.replace("Looms.", &"Looms. ".repeat(30_000));
    place.write("script.toml", SCRIPT.replace(DRAFT, &long));
    place
}

#[test]
fn ctrl_c_stops_cleanly_and_says_how_to_go_on() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = hanging();
        let mut running = Running::start(&place, &RUN);
        running.until(goal_started);
        running.signal(signal);
        let (events, code, told) = running.finish();
        assert_eq!(code, Some(6), "{told}");
        let last = events.last().unwrap();
        assert_eq!((&last["type"], &last["status"]), (&json!("result"), &json!("cancelled")));
        assert_eq!(last["outputs"]["facts"], json!(["looms sing", "looms weave"]), "what was done is given");
        assert!(told.contains("go on with `convoke resume letter-1`"), "{told}");
        let shown = stdout(&place.convoke(&["show", "letter-1"]));
        assert!(shown.contains("status    stopped"), "it can go on: {shown}");
        let told = stdout(&place.convoke(&["replay", "letter-1"]));
        assert!(told.lines().any(|line| line.starts_with("stopped · ")), "it can go on: {told}");
        place.write("script.toml", SCRIPT);
        let resumed = place.convoke(&["resume", "letter-1"]);
        assert_eq!(stdout(&resumed), format!("{RESULT}\n"), "{}", stderr(&resumed));
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_anything() {
    let place = hanging();
    // A run that waits for its reader cannot end cleanly: nobody reads.
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let (_, code, _) = running.finish();
    assert!(matches!(code, Some(6 | 130)), "{code:?}");
    place.write("script.toml", SCRIPT);
    assert_eq!(stdout(&place.convoke(&["resume"])), format!("{RESULT}\n"));
}

/// What processes did until a run was done.
#[derive(Default)]
struct Observed {
    /// How often each reply was heard as it came, rather than from the journal.
    replies: BTreeMap<String, usize>,
    kills: usize,
    result: Value,
}

impl Observed {
    fn note(&mut self, event: &Value) {
        if event["type"] == "message_ended" {
            let times = self.replies.entry(event["id"].as_str().unwrap().to_owned()).or_default();
            *times += usize::from(event["replayed"] != true);
        }
        if event["type"] == "result" {
            self.result = event.clone();
        }
    }
}

/// Runs it; each process is killed after so many events, but for the last. Whoever is asked approves.
fn survive(place: &Place, kills: &[usize]) -> Observed {
    let mut observed = Observed::default();
    let mut kills = kills.iter();
    let mut arguments = RUN.to_vec();
    loop {
        let mut running = Running::start(place, &arguments);
        let limit = kills.next().copied();
        let mut seen = 0;
        let mut is_over = false;
        while limit.is_none_or(|limit| seen < limit) {
            let Some(event) = running.next() else {
                is_over = true;
                break;
            };
            observed.note(&event);
            seen += 1;
        }
        if !is_over {
            running.child.kill().unwrap();
            observed.kills += 1;
        }
        let (rest, code, told) = running.finish();
        // What it wrote until the signal came.
        rest.iter().for_each(|event| observed.note(event));
        arguments = vec!["resume", "letter-1"];
        match code {
            Some(0) => return observed,
            Some(5) => {
                let answered = place.convoke(&["answer", "letter-1", "--approve"]);
                assert!(answered.status.success(), "{}", stderr(&answered));
            }
            None => {
                // Killed before it was made, it is run anew.
                if place.convoke(&["show", "letter-1"]).status.code() != Some(0) {
                    arguments = RUN.to_vec();
                }
            }
            other => panic!("exit {other:?}: {told}"),
        }
    }
}

fn must_agree(observed: &Observed, undisturbed: &Observed, what: &str) {
    assert_eq!(observed.result["outputs"], undisturbed.result["outputs"], "{what}: the results differ");
    assert_eq!(
        observed.result["spent"]["model_calls"], undisturbed.result["spent"]["model_calls"],
        "{what}: calls were lost, or made for something else"
    );
    let is_known = |reply: &String| undisturbed.replies.contains_key(reply);
    assert!(observed.replies.keys().all(is_known), "{what}: something else was asked");
    // A reply that had come and was not yet written down when the process died is asked for again.
    let repeated: usize = observed.replies.values().map(|times| times.saturating_sub(1)).sum();
    assert!(repeated <= observed.kills * AT_ONCE, "{what}: {repeated} calls were made twice");
}

fn matrix(agentfile: &str, step: usize) {
    let undisturbed = survive(&slow_workshop(agentfile, 4), &[]);
    assert_eq!(undisturbed.result["outputs"]["send"], RESULT);
    let events = {
        let place = slow_workshop(agentfile, 4);
        Running::start(&place, &RUN).finish().0.len()
    };
    assert!(events > 40, "{events}");
    for after in (0..events).step_by(step) {
        let observed = survive(&slow_workshop(agentfile, 4), &[after]);
        must_agree(&observed, &undisturbed, &format!("killed after {after} events"));
    }
    for after in [3, 9, 17] {
        let observed = survive(&slow_workshop(agentfile, 4), &[after, after + 7, after + 20, after + 31]);
        must_agree(&observed, &undisturbed, &format!("killed again and again after {after} events"));
    }
}

#[test]
fn a_run_killed_after_any_event_ends_as_if_it_had_not_been() {
    matrix(&unwatched(), 3);
}

#[test]
fn a_supervised_run_killed_after_any_event_ends_as_if_it_had_not_been() {
    matrix(AGENTFILE, 3);
}

/// Steps of supervision, in which models are asked without anybody being told.
fn is_secret(event: &Value) -> bool {
    event["type"] == "step_started"
        && ["commit", "post", "supervise"].iter().any(|kind| event["kind"] == *kind)
}

/// Kills the run in the middle of each step of supervision. Whoever is asked approves.
fn secret_matrix(agentfile: &str, script: &str, steps: usize) {
    let place = slow_workshop(agentfile, 0);
    place.write("script.toml", script);
    let undisturbed = survive(&place, &[]);
    assert_eq!(undisturbed.result["outputs"]["send"], RESULT);
    let slow = script.replace("json = {", "delay = \"200ms\"\njson = {");
    for nth in 1.. {
        let place = slow_workshop(agentfile, 0);
        place.write("script.toml", &slow);
        let mut running = Running::start(&place, &RUN);
        let mut secrets = 0;
        while secrets < nth {
            let Some(event) = running.next() else { break };
            secrets += usize::from(is_secret(&event));
        }
        if secrets < nth {
            running.finish();
            assert_eq!(secrets, steps, "steps of supervision");
            return;
        }
        running.child.kill().unwrap();
        running.finish();
        place.write("script.toml", script);
        let mut done = place.convoke(&["resume", "letter-1", "-q"]);
        while done.status.code() == Some(5) {
            done = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
        }
        assert_eq!(stdout(&done), format!("{RESULT}\n"), "killed in {nth}: {}", stderr(&done));
        let whole = document(&place.convoke(&["resume", "letter-1", "--output", "json", "-q"]));
        assert_eq!(
            whole["spent"]["model_calls"], undisturbed.result["spent"]["model_calls"],
            "killed in {nth}: calls lost or made twice"
        );
    }
}

#[test]
fn a_run_killed_while_a_person_is_to_watch_ends_as_if_it_had_not_been() {
    secret_matrix(AGENTFILE, SCRIPT, 2);
}

#[test]
fn a_run_killed_while_a_model_watches_ends_as_if_it_had_not_been() {
    // It is not sure of itself, is sent back once, and then let go on.
    let judged = r#"
[[rule]]
when = { output = "judgement", any_contains = "in ink" }
json = { verdict = "continue", reason = "In ink." }

[[rule]]
when.output = "judgement"
json = { verdict = "reorient", correction = "Sign in ink.", reason = "Pencil." }

[[rule]]
when.output = "commitment""#;
    let script = SCRIPT.replace("confidence = \"high\"", "confidence = \"low\"").replacen(
        "\n[[rule]]\nwhen.output = \"commitment\"",
        judged,
        1,
    );
    secret_matrix(&AGENTFILE.replace("SUPERVISED HUMAN", "SUPERVISED"), &script, 5);
}

#[test]
fn a_run_whose_events_nobody_reads_stops_and_can_go_on() {
    let place = talkative();
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    let (code, told) = running.hang_up();
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("convoke resume letter-1"), "{told}");
    assert_eq!(stdout(&place.convoke(&["resume"])), format!("{RESULT}\n"));
}

#[test]
fn a_run_that_somebody_works_on_is_left_alone() {
    let place = talkative();
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    let refused = place.convoke(&["resume", "letter-1"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--take-over"), "{}", stderr(&refused));
    let (events, code, told) = running.finish();
    assert_eq!((code, &events.last().unwrap()["status"]), (Some(0), &json!("completed")), "{told}");
}

#[test]
fn a_run_whose_store_breaks_while_it_is_at_work_ends_as_one_of_the_store() {
    let gone = |place: &Place| std::fs::remove_file(place.file()).unwrap();
    let replaced = |place: &Place| {
        gone(place);
        std::fs::write(place.file(), "not a store").unwrap();
    };
    // Another store, which must not even be opened: what the run keeps in mind of its own would be mixed with it.
    let another = |place: &Place| {
        let copy = place.file().with_extension("copy");
        std::fs::copy(place.file(), &copy).unwrap();
        std::fs::rename(copy, place.file()).unwrap();
    };
    for (harm, is_there) in [(&gone as &dyn Fn(&Place), false), (&replaced, false), (&another, true)] {
        let place = talkative();
        let mut running = Running::start(&place, &RUN);
        running.until(goal_started);
        harm(&place);
        let (events, code, told) = running.finish();
        assert_eq!(code, Some(4), "{told}");
        let last = events.last().unwrap();
        assert_eq!((&last["status"], &last["error"]["exit_code"]), (&json!("failed"), &json!(4)), "{last}");
        assert!(!told.contains("convoke show") && !told.contains("convoke resume"), "{told}");
        assert!(told.contains("If run letter-1 is in what is there now"), "{told}");
        assert!(told.contains("begin anew with `convoke run`"), "{told}");
        let resumed = place.convoke(&["resume", "letter-1"]);
        assert_eq!(resumed.status.success(), is_there, "{}", stderr(&resumed));
    }
}

#[test]
fn a_run_that_is_stopped_and_has_no_store_any_more_is_not_said_to_go_on() {
    let place = hanging();
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    std::fs::remove_file(place.file()).unwrap();
    running.signal(Signal::INT);
    let (_, code, told) = running.finish();
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("is gone") && !told.contains("convoke resume"), "{told}");
}

#[test]
fn a_service_that_wants_to_be_left_alone_for_a_day_is_not_waited_for_in_silence() {
    let place = Place::empty();
    place.write("Agentfile", "NAME x\nGOAL ask \"Ask\" RETRY 2\nRUN main USING ask\n");
    let busy = |wait: &str| {
        format!("[[rule]]\nerror = {{ status = 429, message = \"slow down\", retry_after = \"{wait}\" }}\n")
    };
    place.write("script.toml", busy("1d"));
    let ran = place.convoke(&["run", "--quiet", "-m", "scripted/script.toml", "--id", "x-1"]);
    let told = stderr(&ran);
    assert_eq!(ran.status.code(), Some(5), "{told}");
    assert_eq!(
        told.matches("`ask` is tried again in 1 d 00 h: model call failed: slow down").count(),
        1,
        "{told}"
    );
    assert!(told.contains("run x-1 waits until ") && told.contains("`convoke resume x-1`"), "{told}");
}
