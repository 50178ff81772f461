//! Packs: what is wrong with them, what they say, and how they are made.

use insta::assert_snapshot;

use crate::place::{Place, stderr, stdout};

const EXAMPLE: &str = include_str!("../../../../examples/packs/support.pack.yaml");

#[test]
fn the_example_is_valid_and_drawn() {
    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    assert_snapshot!("pack_valid", place.seen(&["validate", "support.pack.yaml"]));
    assert_snapshot!("pack_inspect", place.seen(&["inspect", "support.pack.yaml"]));
    assert_snapshot!("pack_mermaid", place.seen(&["inspect", "--format", "mermaid", "support.pack.yaml"]));
    let json: serde_json::Value =
        serde_json::from_slice(&place.convoke(&["--json", "inspect", "support.pack.yaml"]).stdout).unwrap();
    assert_eq!(json["inputs"][1]["name"], "customer");
    assert_eq!(json["dialects"]["1.5.0"]["accepted"], true);
}

#[test]
fn everything_that_is_wrong_with_a_pack_is_said_in_its_place() {
    let place = Place::empty();
    let broken = EXAMPLE
        .replace("version: 1.0.0\ndescription", "version: 1.0\ndescription")
        .replace("on_max_visits: refund", "on_max_visits: refnud")
        .replace("type: banned_words", "type: baned_words")
        .replace("temperature: 0.2", "temprature: 0.2");
    place.write("support.pack.yaml", &broken);
    assert_snapshot!("pack_broken", place.seen(&["validate", "support.pack.yaml"]));
    let report = place.convoke(&["--json", "validate", "support.pack.yaml"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report[0]["valid"], false);
    assert_eq!(report[0]["diagnostics"][0]["code"], "wrong-type");
    assert_eq!(report[0]["diagnostics"][0]["path"], "/version");
}

#[test]
fn a_pack_is_recognised_by_what_is_in_it() {
    let place = Place::empty();
    place.write("support.txt", EXAMPLE);
    assert!(stdout(&place.convoke(&["validate", "support.txt"])).contains("Valid"));
    place.write("half.json", "{\"prompts\": {}, \"template_engine\": {}");
    let seen = stderr(&place.convoke(&["validate", "half.json"]));
    assert!(seen.contains("expected `,` or `}`") && seen.contains("the pack is not valid"), "{seen}");
}

#[test]
fn a_pack_in_yaml_is_compiled_to_json() {
    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    let done = place.convoke(&["compile", "support.pack.yaml", "-o", "support.pack.json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stdout(&place.convoke(&["validate", "support.pack.json"])).contains("Valid"));
    let (from_yaml, from_json) = (
        place.convoke(&["--json", "inspect", "support.pack.yaml"]),
        place.convoke(&["--json", "inspect", "support.pack.json"]),
    );
    assert_eq!(stdout(&from_yaml), stdout(&from_json));
    place.write("bad.yaml", &EXAMPLE.replace("entry: intake", "entry: intkae"));
    let refused = place.convoke(&["compile", "bad.yaml", "-o", "bad.json"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("no pack was written"), "{}", stderr(&refused));
    assert!(!place.path().join("bad.json").exists());
}

#[test]
fn a_pack_is_run_with_its_inputs_checked() {
    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "support.pack.yaml", "--model", "scripted/rehearsal", "--no-input"];
        arguments.extend(more);
        place.convoke(&arguments)
    };
    let refused = run(&["-i", "customer=a"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("at least 2 are needed"), "{}", stderr(&refused));
    let asked = run(&["-i", "customer=ada", "-i", "message=Where is my order?"]);
    // Somebody has to say how it goes on.
    assert_eq!(asked.status.code(), Some(5), "{}", stderr(&asked));
}
