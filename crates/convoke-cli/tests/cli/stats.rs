//! `convoke runs --stats`

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::examples::{crashed, failed, forked, letter, odd, refund, release, supervised};
use crate::place::{Place, stdout};

fn all() -> Place {
    Place::with([letter(), failed(), refund(), release(), crashed(), forked(), odd(), supervised()])
}

fn stats(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&place.convoke(&[&["runs", "--stats", "--json"], arguments].concat())))
        .unwrap()
}

#[test]
fn runs_are_summed_up_by_status_workflow_and_model() {
    let place = all();
    assert_snapshot!("stats", place.seen(&["runs", "--stats"]));
    assert_snapshot!("stats_json", place.seen(&["runs", "--stats", "--json", "--workflow", "letters"]));
    assert_snapshot!("stats_none", place.seen(&["runs", "--stats", "--workflow", "poems"]));
    assert_snapshot!("stats_suspended", place.seen(&["runs", "--stats", "--status", "suspended"]));
}

#[test]
fn what_a_fork_has_from_another_run_is_paid_once() {
    let place = Place::with([letter(), forked()]);
    let both = stats(&place, &[]);
    assert_eq!((&both["spent"]["model_calls"], &both["spent"]["cost_usd"]), (&json!(4), &json!(0.01273)));
    assert_eq!(both["models"]["scripted"]["model_calls"], 4);
}

#[test]
fn calls_without_a_price_are_said_and_never_free() {
    let one = stats(&Place::with([refund()]), &[]);
    assert_eq!((&one["spent"]["cost_usd"], &one["spent"]["unpriced_calls"]), (&Value::Null, &json!(1)));
    let shown = stdout(&Place::with([refund(), letter()]).convoke(&["runs", "--stats"]));
    assert!(shown.contains("≥$0.0123; 1 call without a known price"), "{shown}");
}

#[test]
fn runs_can_be_narrowed_to_a_time() {
    let place = all();
    assert_eq!(stats(&place, &[])["runs"], 8);
    assert_eq!(stats(&place, &["--since", "2026-01-06"])["runs"], 1);
    assert_eq!(stats(&place, &["--until", "2026-01-06"])["runs"], 7);
    assert_eq!(stats(&place, &["--since", "2026-01-05T09:00", "--until", "2026-01-05T09:00:01"])["runs"], 7);
    assert_eq!(stats(&place, &["--since", "1s"])["runs"], 0, "all of them are older");
    assert_eq!(stats(&place, &["--until", "1s"])["runs"], 8);
    assert_eq!(stats(&place, &["--limit", "3"])["runs"], 3);
    let listed =
        |arguments: &[&str]| stdout(&place.convoke(&[&["runs"], arguments].concat())).lines().count() - 1;
    assert_eq!(listed(&["--since", "2026-01-06"]), 1);
    assert_eq!(listed(&["--until", "2026-01-06", "--limit", "2"]), 2);
    assert_snapshot!("runs_since_nonsense", place.seen(&["runs", "--since", "yesterday"]));
}

#[test]
fn a_call_that_was_refused_cost_nothing_and_is_one_of_the_calls() {
    let place = Place::empty();
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    place.write("bad.toml", "[[rule]]\nerror = { status = 401, message = \"no such key\" }\n");
    place.write("good.toml", "price = { input = 3.0, output = 15.0 }\n[[rule]]\nreply = \"Hello.\"\n");
    let run = |model: &str, more: &[&str]| {
        let words = [&["run", "b.agent", "-m", model, "--output", "json", "-q"], more].concat();
        serde_json::from_str::<Value>(&stdout(&place.convoke(&words))).unwrap()
    };
    let refused = run("scripted/bad.toml", &[]);
    assert_eq!(
        (&refused["spent"]["model_calls"], &refused["spent"]["cost_usd"]),
        (&json!(1), &json!(0.0)),
        "{refused:#}"
    );
    assert_eq!(refused["error"]["exit_code"], 1, "{refused:#}");
    assert!(refused["error"]["hints"][0].as_str().unwrap().contains("convoke resume"), "{refused:#}");
    run("scripted/good.toml", &["--budget", "0.000001 usd"]);
    let sums = stats(&place, &[]);
    assert_eq!((&sums["spent"]["model_calls"], &sums["failures"]), (&json!(1), &json!(1)), "{sums:#}");
    assert_eq!((&sums["spent"]["cost_usd"], &sums["spent"]["known_cost_usd"]), (&json!(0.0), &json!(0.0)));
}

#[test]
fn a_list_and_its_sum_know_the_same_of_a_cost() {
    for run in [letter(), failed(), refund(), release(), crashed(), odd()] {
        let name = run.id.clone();
        let place = Place::with([run]);
        let listed: Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
        let sums = stats(&place, &[]);
        for key in ["cost_usd", "known_cost_usd", "unpriced_calls"] {
            assert_eq!(listed[0]["spent"][key], sums["spent"][key], "{name}: {key}");
        }
    }
}
