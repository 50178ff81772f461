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
fn everything_that_is_wrong_with_a_pack_and_what_is_beside_it_is_said_in_one_call() {
    let place = Place::empty();
    let broken = EXAMPLE
        .replace("type: banned_words", "type: baned_words")
        .replace("version: 1.0.0\ndescription", "version: 1.0.0\nversion: 1.0.1\ndescription");
    assert_ne!(broken, EXAMPLE);
    let beside = "metadata: {convoke: {workflows: {nosuch: x.agent}}}\nskills: [5, ./nowhere]\n";
    place.write("support.pack.yaml", format!("{broken}{beside}---\nid: other\n"));
    let report = place.convoke(&["--json", "validate", "support.pack.yaml"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let found = report[0]["diagnostics"].as_array().unwrap();
    for (code, path) in [
        ("duplicate-name", "/version"),
        ("several-documents", ""),
        ("wrong-type", "/skills/0"),
        ("unknown-tool", "/metadata/convoke/workflows/nosuch"),
    ] {
        let is_it = |one: &serde_json::Value| one["code"] == code && one["path"] == path;
        assert!(found.iter().any(is_it), "{code} {path}: {found:#?}");
    }
    for part in ["unknown-validator", "/skills/1"] {
        assert!(found.iter().any(|one| one.to_string().contains(part)), "{part}: {found:#?}");
    }
    let seen = stderr(&place.convoke(&["validate", "support.pack.yaml"]));
    assert!(seen.contains("`version` is here twice") && seen.contains("remove one of them"), "{seen}");
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
    for made_of in ["support.pack.yaml", "./support.pack.yaml"] {
        let refused = place.convoke(&["compile", "support.pack.yaml", "-o", made_of]);
        let why = "is what the pack is made of: it would be written over";
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains(why), "{}", stderr(&refused));
    }
    assert_eq!(std::fs::read_to_string(place.path().join("support.pack.yaml")).unwrap(), EXAMPLE);
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

    let early = stderr(&place.convoke(&["send", "desk", "Approved"]));
    let why = "it waits for no event now; states of it wait for Approved or Rejected: nothing was sent";
    assert!(early.contains(why), "{early}");
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
    for printed in ["-", "/dev/stdout"] {
        let printed = place.convoke(&["show", "desk", "--format", "svg", "-o", printed]);
        assert_eq!(stdout(&printed), svg, "{}", stderr(&printed));
    }
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
const SORTER: &str = include_str!("../../../../examples/packs/triage.replies.toml");

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
    assert_snapshot!(
        "pack_composed_mermaid",
        place.seen(&["inspect", "--format", "mermaid", "triage.pack.yaml"])
    );
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
    let drawn = stdout(&place.convoke(&["show", "called", "--format", "mermaid"]));
    assert!(drawn.contains("[\"mood<br/>prompt mood<br/>✓"), "{drawn}");
    assert!(drawn.contains("class n1,n2,n3 untouched"), "no state was entered: {drawn}");
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

#[cfg(target_os = "linux")]
#[test]
fn what_a_state_says_is_shown_before_it_has_said_all_of_it() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", "[[rule]]\nreply = \"Which order do you mean?\"\nhangs_after = 2\n");
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml"];
    let mut terminal = Terminal::with_results(&place, &[&talk[..], &["-i", "message=hello"]].concat());
    terminal.wait_for("Which order ");
    terminal.interrupt();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(6), "{seen}");
    assert!(seen.contains("Which order \r\n"), "what is said next begins a line of its own: {seen}");
}

/// In a terminal a state speaks as `convoke chat` does, and the person types below it. What somebody else sends moves
/// it on while the person is being asked.
#[cfg(target_os = "linux")]
#[test]
fn a_conversation_in_a_terminal_is_streamed_and_moved_on_by_events() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK);
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml", "--id", "desk"];
    let mut terminal = Terminal::with_results(&place, &[&talk[..], &["-i", "message=hello"]].concat());
    terminal.wait_for("Which order?");
    terminal.wait_for("> ");
    terminal.types("I was charged twice");
    terminal.wait_for("→ solve (Understood)");
    // A validator looks at what this state says: it is shown once it is known to stay.
    terminal.wait_for("It will be solved.");
    terminal.wait_for("> ");
    terminal.types("I want my money");
    terminal.wait_for("→ refund (RefundNeeded)");
    terminal.wait_for("waits for Approved or Rejected");
    terminal.wait_for("> ");
    let sent = place.convoke(&["send", "desk", "Approved", "\"by the till\""]);
    assert!(sent.status.success(), "{}", stderr(&sent));
    terminal.wait_for("→ goodbye (Approved)");
    terminal.wait_for("Goodbye.");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen.matches("Goodbye.").count(), 1, "nobody has to read it twice: {seen}");
}

#[cfg(target_os = "linux")]
#[test]
fn keys_that_edit_nothing_are_not_said_to_a_model_and_answers_may_be_quiet() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK);
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml", "--id", "desk"];
    let mut terminal = Terminal::with_results(&place, &[&talk[..], &["-i", "message=hello"]].concat());
    terminal.wait_for("Which order?");
    terminal.wait_for("> ");
    terminal.types("I was charged\u{1b}[D twice");
    terminal.wait_for("type it again: ");
    // A line of a keyboard that is set to Latin-1 ends nothing.
    terminal.types_bytes(b"I was charged twice \xfcber\n");
    terminal.wait_for("is no text in UTF-8");
    terminal.types("I was charged twice");
    terminal.wait_for("It will be solved.");
    terminal.wait_for("> ");
    terminal.types_no_more();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(5), "{seen}");
    let told = stdout(&place.convoke(&["replay", "desk", "--json"]));
    assert!(told.contains("I was charged twice") && !told.contains("u001b"), "{told}");
    let answered = place.convoke(&["answer", "desk", "--text", "I want my money", "--resume", "--quiet"]);
    assert_eq!(answered.status.code(), Some(5), "{}", stderr(&answered));
    assert!(!stderr(&answered).contains("agent "), "{}", stderr(&answered));
}

#[cfg(target_os = "linux")]
#[test]
fn what_must_not_be_said_is_not_shown_while_it_comes() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK.replace("It will be solved.", "I guarantee it, on my word."));
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml"];
    let mut terminal =
        Terminal::with_results(&place, &[&talk[..], &["-i", "message=I was charged twice"]].concat());
    terminal.wait_for("Let me check that and come back to you.");
    terminal.wait_for("> ");
    terminal.types_no_more();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(5), "it waits: {seen}");
    assert!(!seen.contains("guarantee"), "{seen}");
}

/// A copy of the newsletter: a pack with a workflow for a tool, a skill, and an Agentfile that has the pack as a goal.
fn newsletter() -> Place {
    let place = Place::empty();
    let example =
        std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/packs/newsletter"));
    for file in [
        "newsletter.pack.yaml",
        "look-up.agent",
        "issue.agent",
        "replies.toml",
        "skills/house-style/SKILL.md",
    ] {
        let to = place.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(example.join(file), to).unwrap();
    }
    place
}

#[test]
fn a_pack_is_a_goal_that_is_checked_formatted_inspected_and_packed() {
    let place = newsletter();
    assert_snapshot!("pack_goal_valid", place.seen(&["validate", "issue.agent", "newsletter.pack.yaml"]));
    assert_snapshot!("pack_goal_inspect", place.seen(&["inspect", "issue.agent"]));
    assert_snapshot!("pack_nested_inspect", place.seen(&["inspect", "newsletter.pack.yaml"]));
    let json = place.convoke(&["--json", "inspect", "issue.agent"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["goals"][0]["text"]["kind"], "embedded");
    assert_eq!(json["goals"][0]["uses"], serde_json::json!(["topic", "message"]));
    let text = std::fs::read_to_string(place.path().join("issue.agent")).unwrap();
    place.write("issue.agent", text.replace("GOAL newsletter FROM", "GOAL newsletter   FROM"));
    assert!(place.convoke(&["fmt", "issue.agent"]).status.success());
    assert_eq!(std::fs::read_to_string(place.path().join("issue.agent")).unwrap(), text);
    place.write("issue.agent", text.replace("-> text", "-> txet").replace("$text", "$txet"));
    assert_snapshot!("pack_goal_broken", place.seen(&["validate", "issue.agent"]));

    std::fs::rename(place.path().join("issue.agent"), place.path().join("broken.txt")).unwrap();
    place.write("Agentfile", &text);
    let packed = place.convoke(&["pack", ".", "-o", "issue.agent"]);
    assert!(packed.status.success(), "{}", stderr(&packed));
    std::fs::remove_file(place.path().join("newsletter.pack.yaml")).unwrap();
    let checked = place.convoke(&["validate", "issue.agent"]);
    assert!(stdout(&checked).contains("Valid"), "the package has all of it: {}", stderr(&checked));
    let broken = place.convoke(&["pack", ".", "-o", "without.agent"]);
    assert!(stderr(&broken).contains("newsletter.pack.yaml"), "{}", stderr(&broken));
}

/// Somebody writes an issue in a goal of an Agentfile, in several processes, and an editor accepts it.
#[test]
fn a_pack_that_is_a_goal_waits_for_an_event_and_its_artifact_is_used_further_on() {
    let place = newsletter();
    let waits = place.convoke(&[
        "run",
        "issue.agent",
        "-i",
        "topic=tides",
        "-i",
        "message=It is for sailors.",
        "-m",
        "scripted/replies.toml",
        "--id",
        "issue",
        "--no-input",
    ]);
    assert_eq!(waits.status.code(), Some(5), "{}", stderr(&waits));
    assert!(stderr(&waits).contains("convoke send issue Accepted"), "{}", stderr(&waits));
    assert!(stdout(&place.convoke(&["questions"])).contains("state: editor"));
    let misspelt = place.convoke(&["send", "issue", "Acepted"]);
    assert!(
        stderr(&misspelt).contains("not for `Acepted` (did you mean `Accepted`?): nothing was sent"),
        "{}",
        stderr(&misspelt)
    );
    for event in ["Accepted", "SentBack", "Accepted"] {
        assert!(place.convoke(&["send", "issue", event]).status.success());
    }
    let ended = place.convoke(&["resume", "issue"]);
    assert_eq!(stdout(&ended).trim(), "The sea keeps its appointments", "{}", stderr(&ended));
    let told = "`SentBack` is passed over: it was sent before `send` was entered";
    assert!(stderr(&ended).contains(told), "{}", stderr(&ended));
    let shown = stdout(&place.convoke(&["show", "issue"]));
    assert!(
        shown.contains("newsletter") && shown.contains("look_up") && shown.contains("use_skill"),
        "{shown}"
    );
}

#[test]
fn every_example_is_run_with_its_replies() {
    let place = newsletter();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("support.toml", include_str!("../../../../examples/packs/support.replies.toml"));
    let run = |arguments: &[&str]| place.convoke(&[arguments, &["--no-input"]].concat()).status.code();
    let letter =
        ["run", "newsletter.pack.yaml", "-i", "topic=tides", "-i", "message=hello", "--id", "letter"];
    assert_eq!(run(&[&letter[..], &["-m", "scripted/replies.toml"]].concat()), Some(5));
    let say =
        |run: &str, words: &str| place.convoke(&["answer", run, "--text", words, "--resume"]).status.code();
    assert_eq!(say("letter", "It is for sailors."), Some(5));
    assert!(place.convoke(&["send", "letter", "Accepted"]).status.success());
    let ended = place.convoke(&["resume", "letter"]);
    assert_eq!(stdout(&ended).trim(), "A note on tides goes out to all sailors.", "{}", stderr(&ended));

    let desk =
        ["run", "support.pack.yaml", "-i", "customer=ada", "--id", "desk", "-m", "scripted/support.toml"];
    assert_eq!(run(&[&desk[..], &["-i", "message=hello"]].concat()), Some(5));
    assert_eq!(say("desk", "I was charged twice"), Some(5));
    assert_eq!(say("desk", "I want my money back"), Some(5));
    assert!(place.convoke(&["send", "desk", "Approved"]).status.success());
    let ended = place.convoke(&["resume", "desk"]);
    assert!(stdout(&ended).contains("Your 9 euros are on their way."), "{}", stderr(&ended));
}

/// What was said before the process was killed is read again once, not with every question.
#[cfg(target_os = "linux")]
#[test]
fn a_conversation_that_was_killed_goes_on_in_a_terminal_with_what_was_said_last() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK);
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml", "--id", "desk"];
    let mut terminal =
        Terminal::with_results(&place, &[&talk[..], &["-i", "message=I was charged twice"]].concat());
    terminal.wait_for("It will be solved.");
    terminal.wait_for("> ");
    terminal.kill();
    let mut terminal = Terminal::with_results(&place, &["resume", "desk"]);
    terminal.wait_for("It will be solved.");
    terminal.wait_for("> ");
    terminal.types("I want my money");
    terminal.wait_for("waits for Approved or Rejected");
    terminal.wait_for("> ");
    assert!(place.convoke(&["send", "desk", "Rejected"]).status.success());
    let (seen, _, code) = terminal.finish();
    assert_eq!((code, seen.matches("It will be solved.").count()), (Some(0), 1), "{seen}");
    let end = seen.rfind("order-support").map(|place| &seen[place..]).unwrap_or_default();
    assert!(!end.contains("What next?"), "nobody is asked any more: {end}");
}

/// Nobody is kept at the terminal by a state that others move on from.
#[cfg(target_os = "linux")]
#[test]
fn a_conversation_that_waits_for_an_event_is_left_for_later() {
    use crate::run_terminal::Terminal;

    let place = Place::empty();
    place.write("support.pack.yaml", EXAMPLE);
    place.write("desk.toml", DESK);
    let talk = ["run", "support.pack.yaml", "-i", "customer=ada", "-m", "scripted/desk.toml", "--id", "desk"];
    let begun = ["-i", "state=refund", "-i", "message=Where is it?"];
    let mut terminal = Terminal::with_results(&place, &[&talk[..], &begun[..]].concat());
    terminal.wait_for("waits for Approved or Rejected");
    terminal.wait_for("> ");
    terminal.types_no_more();
    terminal.wait_for("convoke answer desk");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(5), "it waits: {seen}");
    let shown = stdout(&place.convoke(&["show", "desk"]));
    assert!(shown.contains("states    │ refund: 1 visit, where it is"), "it began there: {shown}");
    assert!(place.convoke(&["send", "desk", "Rejected"]).status.success());
    assert_eq!(place.convoke(&["resume", "desk"]).status.code(), Some(0));
}

/// A pack that is a goal is talked with like one that is run by itself.
#[cfg(target_os = "linux")]
#[test]
fn a_pack_that_is_a_goal_is_talked_with_in_a_terminal() {
    use crate::run_terminal::Terminal;

    let place = newsletter();
    let run = ["run", "issue.agent", "-i", "topic=tides", "-m", "scripted/replies.toml", "--id", "issue"];
    let mut terminal = Terminal::with_results(&place, &[&run[..], &["-i", "message=hello"]].concat());
    terminal.wait_for("Who is this issue for?");
    terminal.wait_for("> ");
    terminal.types("It is for sailors.");
    terminal.wait_for("waits for Accepted or SentBack: `convoke send issue Accepted`");
    terminal.wait_for("> ");
    assert!(place.convoke(&["send", "issue", "Accepted"]).status.success());
    terminal.wait_for("The sea keeps its appointments");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
}

const TINY: &str = r#"
id: tiny
name: Tiny
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts:
  p:
    {id: p, name: P, version: 1.0.0, system_template: "{{s}} {{n}}", variables: [
      {name: s, type: string, required: true},
      {name: n, type: number, required: true, validation: {minimum: 0.5}}]}
workflow: {version: 1, entry: a, states: {a: {prompt_task: p, terminal: true}}}
"#;

#[test]
fn what_compile_leaves_out_is_named_and_so_is_a_folder_that_is_not_there() {
    let place = Place::empty();
    let prompt = "apiVersion: promptkit/v1\nkind: PromptConfig\nmetadata: {name: P}\nspec:\n  task_type: p\n  \
        version: v1.0.0\n  system_template: Talk.\n  validatrs: []\n";
    place.write("p.yaml", prompt);
    let done = place.convoke(&["compile", "p.yaml"]);
    let told = stderr(&done);
    assert!(done.status.success(), "{told}");
    let wanted = "`spec.validatrs` of a PromptConfig has no place in a pack and is left out; did you mean `validators`?";
    assert!(told.contains(wanted), "{told}");
    let checked = place.convoke(&["validate", "p.yaml"]);
    assert!(stderr(&checked).contains("`convoke compile` makes a pack of"), "{}", stderr(&checked));
    let refused = place.convoke(&["compile", "p.yaml", "-o", "no/such/x.json"]);
    let told = stderr(&refused);
    assert!(!refused.status.success() && told.contains("there is no folder no/such"), "{told}");
    assert!(!told.contains("permissions"), "{told}");
}

#[test]
fn a_required_input_that_is_empty_is_named_with_whatever_else_is_wrong() {
    let place = Place::empty();
    place.write("tiny.pack.yaml", TINY);
    let refused = place.convoke(&["run", "tiny.pack.yaml", "--no-input", "-i", "s=", "-i", "n=0.1"]);
    let told = stderr(&refused);
    assert!(told.contains("`s` must be given") && told.contains("`n` is 0.1"), "{told}");
}

#[test]
fn every_skill_that_is_none_is_named_and_so_is_a_state_whose_skills_fit_nothing() {
    let place = Place::empty();
    let pack = TINY.replace("terminal: true", "terminal: true, skills: zz/*") + "skills: [./sk]\n";
    let warned = pack.replace("./sk]", "./good]");
    place.write("tiny.pack.yaml", &pack);
    place.write("good.pack.yaml", &warned);
    place.write("good/SKILL.md", "---\nname: good\ndescription: d\n---\nDo it.\n");
    for name in ["one", "two"] {
        place.write(&format!("sk/{name}/SKILL.md"), "no front matter");
    }
    let told = stderr(&place.convoke(&["validate", "tiny.pack.yaml"]));
    assert!(told.contains("sk/one/SKILL.md") && told.contains("sk/two/SKILL.md"), "{told}");
    let told = stderr(&place.convoke(&["validate", "good.pack.yaml"]));
    assert!(told.contains("no skill of the pack is `zz/*` or in it"), "{told}");
    place.write("good.pack.yaml", warned.replace("zz/*", "go*"));
    let told = stderr(&place.convoke(&["validate", "good.pack.yaml"]));
    assert!(!told.contains("no skill"), "{told}");
}

#[test]
fn a_misspelt_setting_of_an_eval_is_warned_about() {
    let place = Place::empty();
    let eval = |params: &str| {
        format!("{TINY}evals: [{{id: e, type: contains, trigger: every_turn, params: {{{params}}}}}]\n")
    };
    let told = |params: &str| {
        place.write("tiny.pack.yaml", eval(params));
        stderr(&place.convoke(&["validate", "tiny.pack.yaml"]))
    };
    assert!(told("patterns: [x], patern: [y]").contains("patern"), "{}", told("patterns: [x], patern: [y]"));
    assert!(!told("patterns: [x]").contains("eval"), "{}", told("patterns: [x]"));
}

#[test]
fn a_pack_is_not_compiled_over_what_it_names() {
    let place = Place::empty();
    let pack = "id: c\nname: C\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: \"{{variable}}\"}\n\
        prompts: {p: {id: p, name: P, version: 1.0.0, system_template: S}}\nskills: [./sk]\n\
        tools: {t: {name: t, description: d}}\nmetadata: {convoke: {workflows: {t: t.agent}}}\n\
        compositions: {c: {version: 1, input_schema: in.json, steps: [{id: s, kind: prompt, prompt_task: p}]}}\n";
    place.write("c.pack.yaml", pack);
    place.write("in.json", "{\"type\": \"object\"}");
    place.write("t.agent", "NAME t\nGOAL x \"look\"\nRUN m USING x\n");
    place.write("sk/one/SKILL.md", "---\nname: one\ndescription: d\n---\nT\n");
    for named in ["c.pack.yaml", "in.json", "t.agent", "sk/one/SKILL.md"] {
        let refused = place.convoke(&["compile", "c.pack.yaml", "-o", named]);
        assert!(stderr(&refused).contains("is what the pack is made of"), "{named}: {}", stderr(&refused));
    }
    assert!(place.convoke(&["compile", "c.pack.yaml", "-o", "c.pack.json"]).status.success());
}

#[test]
fn an_event_that_begins_like_an_option_is_sent_with_the_command_that_is_shown() {
    let place = Place::empty();
    let pack = "id: f\nname: F\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: \"{{variable}}\"}\n\
        prompts: {p: {id: p, name: P, version: 1.0.0, system_template: S}}\n\
        workflow: {version: 2, entry: a, states: {a: {prompt_task: p, orchestration: external, on_event: {-ok: b}}, \
        b: {prompt_task: p, terminal: true}}}\n";
    place.write("f.pack.yaml", pack);
    place.write("s.toml", "[[rule]]\nreply = \"x\"\n");
    let run = ["run", "f.pack.yaml", "-m", "scripted/s.toml", "--no-input", "-i", "message=x", "--id", "r"];
    let told = stderr(&place.convoke(&run));
    assert!(told.contains("convoke send r -- -ok"), "{told}");
    assert!(place.convoke(&["send", "r", "--", "-ok"]).status.success());
}

#[test]
fn files_that_are_too_many_in_each_other_are_told_in_one_line() {
    let place = Place::empty();
    for number in 1..=9 {
        let inner = format!(
            "tools: {{t: {{name: t, description: d}}}}\nmetadata: {{convoke: {{workflows: {{t: d{}.pack.yaml}}}}}}\n",
            number + 1
        );
        let pack = "name: D\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: \"{{variable}}\"}\n\
            prompts: {p: {id: p, name: P, version: 1.0.0, system_template: S}}\n";
        let inner = if number < 9 { inner } else { String::new() };
        place.write(&format!("d{number}.pack.yaml"), format!("id: d{number}\n{pack}{inner}"));
    }
    let told = stderr(&place.convoke(&["validate", "d1.pack.yaml"]));
    assert!(told.contains("error[too-deep]: `d9.pack.yaml` is one file too many in others"), "{told}");
    assert!(place.convoke(&["validate", "d2.pack.yaml"]).status.success());
}
