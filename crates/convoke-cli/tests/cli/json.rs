//! What scripts see.

use insta::assert_snapshot;
use serde_json::Value;

use crate::examples::{crashed, failed, forked, letter, odd, refund, release};
use crate::place::{Place, stdout};

#[test]
fn runs_as_json_have_times_durations_and_costs_as_numbers() {
    assert_snapshot!(Place::with([letter(), forked(), crashed()]).seen(&["runs", "--json"]));
}

#[test]
fn a_run_as_json_has_everything_there_is_to_know() {
    let place = Place::with([letter(), failed(), refund(), odd()]);
    assert_snapshot!("json_show", place.seen(&["show", "letter-1", "--json"]));
    for run in ["letter-2", "refund-7", "odd-1"] {
        let shown: Value = serde_json::from_str(&stdout(&place.convoke(&["show", run, "--json"]))).unwrap();
        assert_eq!(shown["run"]["id"], run);
    }
}

#[test]
fn a_replay_as_json_is_one_document() {
    let place = Place::with([letter(), failed()]);
    assert_snapshot!("json_replay", place.seen(&["replay", "letter-1", "--json"]));
    assert_snapshot!("json_replay_failed", place.seen(&["replay", "letter-2", "--json", "--at", "2"]));
}

#[test]
fn what_is_wrong_with_a_file_is_in_the_document_with_its_places() {
    let place = Place::empty();
    place.write("x.agent", "NAME x\nGOAL g \"Say\" TOOLS raed\nRUN m USING g\n");
    place.write("s.yaml", "kind: Scenario\nspec: {bogus: 1}\n");
    place.write("y.agent", "NAME y\nGOAL g \"Say\"\nRUN m USING g\n");
    let problems = |arguments: &[&str]| {
        let document = stdout(&place.convoke(&[&["--json"], arguments].concat()));
        let document: Value = serde_json::from_str(&document).unwrap();
        document["error"]["problems"].clone()
    };
    for command in [&["run", "x.agent"][..], &["inspect", "x.agent"], &["eval", "x.agent", "s.yaml"]] {
        let found = problems(command);
        assert_eq!(found[0]["file"], "x.agent", "{command:?}");
        let diagnostic = &found[0]["diagnostics"][0];
        assert_eq!(
            (&diagnostic["code"], &diagnostic["span"]["start"]["line"]),
            (&"unknown-tool".into(), &2.into()),
            "{command:?}"
        );
    }
    assert_eq!(problems(&["eval", "y.agent", "s.yaml"])[0]["file"], "s.yaml");
    place.write("policy.toml", "[commands]\nalow = []\n");
    assert_eq!(problems(&["run", "y.agent", "-m", "scripted/rehearsal"])[0]["line"], 2);
    place.write("convoke.toml", "modle = 1\n");
    let configuration = problems(&["run", "y.agent"]);
    assert_eq!(
        (&configuration[0]["file"], &configuration[0]["line"]),
        (&"convoke.toml".into(), &1.into()),
        "{configuration}"
    );
}

#[test]
fn questions_as_json_say_whether_they_are_settled() {
    assert_snapshot!(Place::with([refund(), release()]).seen(&["questions", "--json"]));
}

#[test]
fn a_cost_that_is_not_known_is_null_and_never_zero() {
    let place = Place::with([refund()]);
    let shown: Value =
        serde_json::from_str(&stdout(&place.convoke(&["show", "refund-7", "--json"]))).unwrap();
    assert_eq!(shown["run"]["spent"]["cost_usd"], Value::Null);
    assert_eq!(shown["effects"][0]["reply"]["usage"]["cost_usd"], Value::Null);
    assert_eq!(shown["effects"][0]["duration_seconds"], Value::Null, "nobody wrote down when it began");
}
