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
    place.write("bad.yaml", EXAMPLE.replace("entry: intake", "entry: intkae"));
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

/// Moves on when it reads what a state is about; else it says where it is.
const DESK: &str = r#"
[[rule]]
when = { last_contains = "twice" }
reply = { tool_calls = [{ name = "workflow__transition", arguments = { event = "Understood", context = "charged 2x" } }] }

[[rule]]
when = { last_contains = "money" }
reply = { tool_calls = [{ name = "workflow__transition", arguments = { event = "RefundNeeded", context = "9 euros" } }] }

[[rule]]
when = { system_contains = "Sum up" }
reply = "Goodbye."

[[rule]]
when = { system_contains = "complains about" }
reply = "It will be solved."

[[rule]]
reply = "Which order?"
"#;

#[test]
fn a_conversation_over_a_pack_goes_on_in_other_processes_and_waits_for_an_event() {
    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK);
    let begun = place.convoke(&[
        "run",
        "support.pack.yaml",
        "-i",
        "customer=ada",
        "-i",
        "message=hello",
        "-m",
        "scripted/desk.toml",
        "--id",
        "desk",
        "--no-input",
    ]);
    assert_eq!(begun.status.code(), Some(5), "{}", stderr(&begun));
    let asked = stdout(&place.convoke(&["questions"]));
    assert!(asked.contains("Which order?") && asked.contains("state: intake"), "{asked}");

    let say = |words: &str| place.convoke(&["answer", "desk", "--text", words, "--resume"]);
    assert_eq!(say("I was charged twice").status.code(), Some(5));
    let asked = stdout(&place.convoke(&["questions"]));
    assert!(asked.contains("It will be solved.") && asked.contains("state: solve"), "{asked}");

    assert_eq!(say("I want my money").status.code(), Some(5));
    let asked = stdout(&place.convoke(&["questions"]));
    assert!(asked.contains("state: refund"), "{asked}");
    // Where it waits is read off its journal: its context is nowhere on record yet.
    let shown = stdout(&place.convoke(&["show", "desk"]));
    let way = "states    │ intake: 1 visit\n          │ solve: 1 visit\n          │ refund: 1 visit, where it is\n\
               moves     │ intake → solve, on Understood\n          │ solve → refund, on RefundNeeded\n";
    assert!(shown.contains(way), "{shown}");
    let chart = stdout(&place.convoke(&["show", "desk", "--format", "mermaid"]));
    assert!(chart.contains("n3([\"refund<br/>external<br/>waits\"])"), "{chart}");
    assert!(chart.contains("class n3 waiting") && chart.contains("class n4 untouched"), "{chart}");
    let waiting: serde_json::Value =
        serde_json::from_slice(&place.convoke(&["show", "desk", "--json"]).stdout).unwrap();

    // A person elsewhere decides; the run goes on with it in a process of its own.
    assert!(place.convoke(&["send", "desk", "Approved", "\"by the till\""]).status.success());
    let ended = place.convoke(&["resume", "desk"]);
    assert_eq!((ended.status.code(), stdout(&ended).trim()), (Some(0), "Goodbye."), "{}", stderr(&ended));
    let shown = stdout(&place.convoke(&["show", "desk"]));
    assert!(shown.contains("customer: ada") && shown.contains("Goodbye."), "{shown}");
    assert!(shown.contains("goodbye: 1 visit, where it is"), "{shown}");
    // What its context says in the end agrees with what its journal said before.
    let ended: serde_json::Value =
        serde_json::from_slice(&place.convoke(&["show", "desk", "--json"]).stdout).unwrap();
    let moves = |shown: &serde_json::Value| shown["way"]["transitions"].as_array().unwrap().clone();
    assert_eq!(moves(&ended)[..2], moves(&waiting)[..]);
    assert_eq!(ended["way"]["current"], "goodbye");
    let written = place.convoke(&["show", "desk", "--format", "svg", "-o", "desk.svg"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let svg = std::fs::read_to_string(place.path().join("desk.svg")).unwrap();
    assert_eq!(svg.matches("dg-taken-end)").count(), 5, "{svg}");
    let page = stdout(&place.convoke(&["replay", "desk", "--html", "-"]));
    assert!(page.contains("<img src=\"data:image/svg+xml;base64,"), "{page}");
    let refused = place.convoke(&["show", "desk", "-o", "desk.txt"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("add `--format svg`"), "{}", stderr(&refused));
    let calls = place.convoke(&["runs", "--json"]);
    let calls: serde_json::Value = serde_json::from_slice(&calls.stdout).unwrap();
    let run = calls.as_array().map_or(&calls["runs"][0], |runs| &runs[0]);
    assert_eq!(run["status"], "completed", "{calls}");
}

const TRIAGE: &str = include_str!("../../../../examples/packs/triage.pack.yaml");
const SORTED_SCHEMA: &str = include_str!("../../../../examples/packs/sorted.schema.json");
const LETTER_SCHEMA: &str = include_str!("../../../../examples/packs/letter.schema.json");

/// Sorts letters by one word in them; the desk asks for the rules before it answers.
const SORTER: &str = r#"
[[rule]]
when = { last_contains = "Sum it up" }
reply = '{"summary": "A letter."}'

[[rule]]
when = { system_contains = "how urgent", last_contains = "broken" }
reply = '{"about": "complaint", "urgency": 5}'

[[rule]]
when = { system_contains = "how urgent" }
reply = '{"about": "question", "urgency": 1}'

[[rule]]
when = { system_contains = "in one word" }
reply = "Angry."

[[rule]]
when = { system_contains = "what happened" }
reply = "It broke."

[[rule]]
when = { system_contains = "may be promised. Broken" }
reply = "Replace it."

[[rule]]
when = { system_contains = "urgent complaint" }
reply = "We are sorry."

[[rule]]
when = { tool_result_contains = "Replace it." }
reply = "It will be replaced."

[[rule]]
reply = { tool_calls = [{ name = "a2a__rules", arguments = { query = "What may I promise?" } }] }
"#;

fn triage() -> Place {
    let place = Place::empty();
    place.write("triage.pack.yaml", TRIAGE);
    place.write("sorted.schema.json", SORTED_SCHEMA);
    place.write("letter.schema.json", LETTER_SCHEMA);
    place.write("sorter.toml", SORTER);
    place
}

#[test]
fn a_pack_with_a_composition_and_agents_is_valid_drawn_and_run() {
    let place = triage();
    assert_snapshot!("pack_composed_valid", place.seen(&["validate", "triage.pack.yaml"]));
    assert_snapshot!("pack_composed_inspect", place.seen(&["inspect", "triage.pack.yaml"]));
    let run = |id: &str, more: &[&str]| {
        let mut arguments =
            vec!["run", "triage.pack.yaml", "-m", "scripted/sorter.toml", "--no-input", "--id", id];
        arguments.extend(more);
        place.convoke(&arguments)
    };
    let urgent = run("urgent", &["-i", "message=It is broken!"]);
    assert_eq!(
        (urgent.status.code(), stdout(&urgent).trim()),
        (Some(0), "We are sorry."),
        "{}",
        stderr(&urgent)
    );
    let asks = run("asks", &["-i", "message=May I send it back?"]);
    assert_eq!(
        (asks.status.code(), stdout(&asks).trim()),
        (Some(0), "It will be replaced."),
        "{}",
        stderr(&asks)
    );
    let shown = stdout(&place.convoke(&["show", "urgent"]));
    assert!(shown.contains("both_sides") && shown.contains("mood"), "{shown}");
    assert!(shown.contains("moves     │ triage → manager, on Urgent"), "{shown}");
    // As a function it only sorts, and what there is none of is said before anything is paid for.
    let called = run("called", &["-i", "composition=look_at", "-i", "message=It is broken!"]);
    assert_eq!(stdout(&called).trim(), r#"{"summary":"A letter."}"#, "{}", stderr(&called));
    let unknown = run("unknown", &["-i", "composition=look", "-i", "message=x"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("there is no composition `look`; there are look_at"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn a_schema_that_a_composition_names_must_be_there_and_is_kept_with_the_run() {
    let place = triage();
    let run = ["run", "triage.pack.yaml", "-m", "scripted/sorter.toml", "--no-input", "--id", "kept"];
    let waits = place.convoke(&run);
    assert_eq!(waits.status.code(), Some(5), "nobody has said anything yet: {}", stderr(&waits));
    std::fs::remove_file(place.path().join("sorted.schema.json")).unwrap();
    let seen = stderr(&place.convoke(&["validate", "triage.pack.yaml"]));
    assert!(seen.contains("sorted.schema.json") && seen.contains("there is no such file"), "{seen}");
    // The run that began before goes on with what it kept.
    let ended = place.convoke(&["answer", "kept", "--text", "It is broken!", "--resume"]);
    assert_eq!(
        (ended.status.code(), stdout(&ended).trim()),
        (Some(0), "We are sorry."),
        "{}",
        stderr(&ended)
    );
}
