//! What `convoke resume` is told holds from then on, also for whoever goes on with the run later.

use convoke_core::RunStatus;
use convoke_core::store::RunRecord;

use crate::place::{Place, stderr, stdout, wait};

const AGENTFILE: &str = r#"NAME told
GOAL one "Do the first" SUPERVISED HUMAN
GOAL two "Do the second"
GOAL three "Do the third" SUPERVISED HUMAN
GOAL four "Do the fourth"
RUN main USING one, two, three, four
"#;

/// A model that signs the last goal.
fn script(name: &str) -> String {
    format!(
        r#"
[[rule]]
when.output = "commitment"
json = {{ interpretation = "Do it.", approach = "At once.", confidence = "high" }}

[[rule]]
when.output = "assessment"
json = {{ met_commitment = true }}

[[rule]]
when = {{ user_contains = "Do the fourth loudly" }}
reply = "LOUD"

[[rule]]
when = {{ user_contains = '<current-goal id="four">' }}
reply = "from {name}"

[[rule]]
reply = "done"
"#
    )
}

fn place() -> Place {
    let place = Place::empty();
    place.write("told.agent", AGENTFILE);
    place.write("A.toml", script("A"));
    place.write("B.toml", script("B"));
    place
}

#[track_caller]
fn ends(place: &Place, arguments: &[&str], code: i32) {
    let output = place.convoke(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
}

/// Begins it with more arguments; it waits for a person then.
fn begin(place: &Place, more: &[&str], code: i32) {
    let words = ["run", "told.agent", "-m", "scripted/A.toml", "--id", "told-1", "-q", "--no-input"];
    ends(place, &[&words[..], more].concat(), code);
}

const APPROVE: [&str; 3] = ["answer", "told-1", "--approve"];
const ATTEND: [&str; 2] = ["attend", "--once"];

fn record(place: &Place) -> RunRecord {
    wait(place.store().run(&"told-1".parse().unwrap())).unwrap().unwrap()
}

/// What it came to.
fn result(place: &Place) -> String {
    stdout(&place.convoke(&["resume", "told-1"])).trim().to_owned()
}

#[test]
fn a_model_is_kept_for_whoever_goes_on_later() {
    let place = place();
    begin(&place, &[], 5);
    ends(&place, &APPROVE, 0);
    ends(&place, &["resume", "told-1", "-m", "scripted/B.toml", "-q"], 5);
    ends(&place, &APPROVE, 0);
    ends(&place, &ATTEND, 0);
    assert_eq!(record(&place).status, RunStatus::Completed);
    assert_eq!(result(&place), "from B");
}

#[test]
fn limits_are_kept_each_in_the_place_of_the_one_before() {
    let place = place();
    begin(&place, &["--budget", "1 calls, 100000 tokens", "--timeout", "1h"], 7);
    ends(&place, &["resume", "told-1", "--budget", "90 calls", "--timeout", "2h", "-q"], 5);
    ends(&place, &APPROVE, 0);
    ends(&place, &ATTEND, 0);
    let record = record(&place);
    assert_eq!(record.status, RunStatus::Suspended);
    let limits = record.launch.limits.unwrap();
    assert_eq!((limits.model_calls, limits.tokens), (Some(90), Some(100_000)));
    assert_eq!(record.launch.timeout.unwrap().as_secs(), 7200);
}

#[test]
fn limits_that_were_configured_when_it_began_are_kept() {
    let place = place();
    let variables = [("CONVOKE_BUDGETS_MODEL_CALLS", "4"), ("CONVOKE_BUDGETS_TURNS_PER_GOAL", "7")];
    let words = ["run", "told.agent", "-m", "scripted/A.toml", "--id", "told-1", "-q", "--no-input"];
    let begun = place.convoke_with(&words, &variables);
    assert_eq!(begun.status.code(), Some(5), "{}", stderr(&begun));
    ends(&place, &APPROVE, 0);
    ends(&place, &["resume", "told-1", "-q"], 7);
    let kept = convoke_host::Manifest::of(&record(&place)).unwrap();
    assert_eq!(kept.turns_per_goal, Some(7));
    ends(&place, &["resume", "told-1", "--budget", "90 calls", "-q"], 5);
}

#[test]
fn a_changed_file_is_kept_unless_it_does_not_fit() {
    let place = place();
    begin(&place, &[], 5);
    ends(&place, &APPROVE, 0);
    place.write("told.agent", AGENTFILE.replace("the first", "something else"));
    ends(&place, &["resume", "told-1", "--changed-file", "-q"], 1);
    place.write("told.agent", AGENTFILE.replace("the fourth", "the fourth loudly"));
    ends(&place, &["resume", "told-1", "--changed-file", "-q"], 5);
    // Whoever goes on needs it no more.
    std::fs::remove_file(place.path().join("told.agent")).unwrap();
    ends(&place, &APPROVE, 0);
    ends(&place, &ATTEND, 0);
    assert_eq!(record(&place).status, RunStatus::Completed);
    assert_eq!(result(&place), "LOUD");
}

#[test]
fn after_a_changed_file_that_does_not_fit_the_run_goes_on_with_the_one_before() {
    let place = place();
    begin(&place, &[], 5);
    ends(&place, &APPROVE, 0);
    place.write("told.agent", AGENTFILE.replace("the first", "something else"));
    ends(&place, &["resume", "told-1", "--changed-file", "-q"], 1);
    ends(&place, &["resume", "told-1", "-q"], 5);
}

#[test]
fn another_folder_is_kept() {
    let (place, other) = (place(), Place::empty());
    let store = place.data().to_owned() + "/shared.db";
    let at = |place: &Place, words: &[&str], code: i32| {
        ends(place, &[words, &["--store", &*store]].concat(), code);
    };
    begin(&place, &["--store", &store], 5);
    at(&place, &APPROVE, 0);
    at(&other, &["resume", "told-1", "-q"], 2);
    at(&other, &["resume", "told-1", "--here", "-q"], 5);
    at(&other, &APPROVE, 0);
    at(&place, &["resume", "told-1", "-q"], 2);
    at(&other, &ATTEND, 0);
    let shown = place.convoke(&["runs", "--status", "completed", "--store", &store]);
    assert!(stdout(&shown).contains("told-1"), "{}", stderr(&shown));
}
