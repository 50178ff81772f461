//! `convoke chat` on a terminal: lines are edited, answers stopped, and the end is the end.

use crate::place::{Place, stderr, stdout};
use crate::run_terminal::Terminal;

const SCRIPT: &str = r#"
[[rule]]
when = { last_contains = "slow" }
reply = "one two three four five six seven eight nine ten"
delay_per_chunk = "20s"

[[rule]]
when = { last_contains = "never" }
delay = "60m"
reply = "At last."

[[rule]]
when = { last_contains = "breaks" }
reply = "one two three four"
cut_after = 2

[[rule]]
when = { last_contains = "loom" }
reply = "Looms weave."

[[rule]]
reply = "I do not know."
"#;

const CHAT: [&str; 3] = ["chat", "-m", "scripted/script.toml"];
const LEFT: &str = "\u{1b}[D";
const UP: &str = "\u{1b}[A";

fn place() -> Place {
    let place = Place::empty();
    place.write("script.toml", SCRIPT);
    place
}

/// A conversation whose person is asked for the first line.
fn begun(place: &Place) -> Terminal {
    let mut terminal = Terminal::with_results(place, &CHAT);
    terminal.wait_for("scripted/script.toml · /help");
    terminal.wait_for("> ");
    terminal
}

#[test]
fn a_line_is_edited_and_earlier_ones_come_back() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses(&format!("tell me of oms{LEFT}{LEFT}{LEFT}lo\r"));
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.presses(&format!("{UP} again\r"));
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.types_no_more();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    let shown = stdout(&place.convoke(&["show", "last"]));
    assert!(shown.contains("tell me of looms") && shown.contains("tell me of looms again"), "{shown}");
    assert!(!shown.contains("u{1b}"), "{shown}");
}

#[test]
fn why_an_answer_broke_off_stands_in_a_line_of_its_own() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("it breaks\r");
    terminal.wait_for("before the reply did");
    terminal.wait_for("> ");
    terminal.types_no_more();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("two model call failed") && !seen.contains("twomodel call failed"), "{seen}");
}

#[test]
fn what_begins_with_a_slash_is_for_the_program() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("/help\r");
    terminal.wait_for("leave; so do Ctrl-D");
    terminal.wait_for("> ");
    terminal.presses("/bye\r");
    terminal.wait_for("there is no command /bye");
    terminal.wait_for("> ");
    terminal.presses("/quit\r");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    let shown = stdout(&place.convoke(&["show", "last"]));
    assert!(shown.contains("What next?") && !shown.contains("model →"), "no model was asked: {shown}");
}

#[test]
fn a_conversation_that_was_left_is_completed_and_can_be_gone_on_with() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("of looms\r");
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.types_no_more();
    terminal.wait_for("go on with `convoke chat --continue");
    assert_eq!(terminal.finish().2, Some(0));
    let runs: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    assert_eq!(runs[0]["status"], "completed", "{runs}");
    assert_eq!(stdout(&place.convoke(&["questions", "--json"])).trim(), "[]");
    // A question with its answer is no conversation that could go on.
    assert!(place.convoke(&["chat", "-m", "scripted/script.toml", "of looms"]).status.success());
    let more = place.convoke(&["chat", "-m", "scripted/script.toml", "--continue", "last", "and what else?"]);
    assert_eq!(stdout(&more), "I do not know.\n", "{more:?}");
    let shown = stdout(&place.convoke(&["show", "last"]));
    assert!(shown.contains("Looms weave.") && shown.contains("and what else?"), "{shown}");
}

#[test]
fn ctrl_c_stops_the_answer_and_not_the_conversation() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("slow\r");
    terminal.wait_for("one");
    terminal.interrupt();
    terminal.wait_for("stopped");
    terminal.wait_for("> ");
    terminal.presses("never\r");
    terminal.wait_for("never");
    terminal.wait_for("scripted/script.toml");
    terminal.interrupt();
    terminal.wait_for("stopped before it said anything");
    terminal.wait_for("> ");
    terminal.presses("of looms\r");
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.presses("draft\u{3}");
    terminal.wait_for("> ");
    terminal.presses("\u{3}");
    terminal.wait_for("Ctrl-C again");
    terminal.wait_for("> ");
    terminal.presses("\u{3}");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("three"), "{seen}");
    let runs: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    assert_eq!(runs[0]["status"], "completed", "{runs}");
}

#[test]
fn ctrl_c_in_the_only_answer_stops_the_run() {
    let place = place();
    let mut terminal = Terminal::with_results(&place, &[&CHAT[..], &["slow"]].concat());
    terminal.wait_for("one");
    terminal.interrupt();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(6), "half an answer is no answer: {seen}");
    assert!(seen.contains("stopped; go on with"), "{seen}");
}

#[test]
fn a_terminal_that_is_closed_says_nothing_for_its_person() {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("of looms\r");
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.close();
    let open: serde_json::Value =
        serde_json::from_str(&stdout(&place.convoke(&["questions", "--json"]))).unwrap();
    assert_eq!(
        (&open[0]["answers"], &open[0]["is_settled"]),
        (&serde_json::json!([]), &false.into()),
        "{open}"
    );
    let more = place.convoke(&["chat", "--continue", "last", "and what else?"]);
    assert_eq!(stdout(&more), "I do not know.\n", "{}", stderr(&more));
}

/// A conversation that was killed before its first answer, which would be given now.
fn killed() -> Place {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("never\r");
    terminal.wait_for("never");
    terminal.wait_for("scripted/script.toml");
    terminal.kill();
    place.write("script.toml", SCRIPT.replace("60m", "1ms"));
    place
}

#[test]
fn a_conversation_killed_in_the_middle_of_an_answer_goes_on_without_a_terminal() {
    let place = killed();
    let attended = place.convoke(&["attend", "--once"]);
    assert!(stdout(&attended).contains("is a conversation"), "{}", stdout(&attended));
    let said = place.convoke(&["chat", "--continue", "last", "of looms"]);
    assert_eq!(stdout(&said), "At last.\nLooms weave.\n", "{}", stderr(&said));
    let place = killed();
    let silent = ["chat", "--continue", "last"];
    let first = place.convoke(&silent);
    assert_eq!(stdout(&first), "At last.\n", "{}", stderr(&first));
    let nothing = place.convoke(&silent);
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
    assert!(stderr(&nothing).contains("there is nothing to say"), "{}", stderr(&nothing));
}

#[test]
fn what_is_answered_for_the_person_is_said_before_anything_else() {
    let place = place();
    begun(&place).close();
    let answered = place.convoke(&["answer", "last", "--text", "of looms"]);
    assert!(answered.status.success(), "{}", stderr(&answered));
    let more = place.convoke(&["chat", "--continue", "last", "and what else?"]);
    assert_eq!(stdout(&more), "Looms weave.\nI do not know.\n", "{}", stderr(&more));
}

/// A conversation that its person has left, with a configuration that names another model now.
fn left_and_other_model() -> Place {
    let place = place();
    let mut terminal = begun(&place);
    terminal.presses("tell me of looms\r");
    terminal.wait_for("Looms weave.");
    terminal.wait_for("> ");
    terminal.types_no_more();
    assert_eq!(terminal.finish().2, Some(0));
    place.write("other.toml", "[[rule]]\nreply = \"Said to another.\"\n");
    place.write("convoke.toml", "model = \"scripted/other.toml\"\n");
    place
}

#[test]
fn a_conversation_goes_on_with_its_own_model_unless_another_is_named() {
    let place = left_and_other_model();
    assert_eq!(stdout(&place.convoke(&["chat", "hello"])), "Said to another.\n");
    let runs: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    let conversation = runs[1]["id"].as_str().unwrap();
    let same = place.convoke(&["chat", "--continue", conversation, "and looms?"]);
    assert_eq!(stdout(&same), "Looms weave.\n", "{}", stderr(&same));
    let named = place.convoke(&["chat", "--continue", "last", "-m", "scripted/other.toml", "and looms?"]);
    assert_eq!(stdout(&named), "Said to another.\n", "{}", stderr(&named));
}

#[test]
fn a_conversation_that_does_not_say_its_model_is_said_to_go_on_with_which_one() {
    let place = left_and_other_model();
    let store = rusqlite::Connection::open(place.file()).unwrap();
    let input = r#"{"goes_on": true}"#;
    store.execute("UPDATE inputs SET content = ?1", [input.as_bytes()]).unwrap();
    let output = place.convoke(&["chat", "--continue", "last", "and looms?"]);
    assert_eq!(stdout(&output), "Said to another.\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("it goes on with scripted/other.toml"), "{}", stderr(&output));
}

#[test]
fn the_last_conversation_is_meant_whatever_was_run_since() {
    let place = left_and_other_model();
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    assert!(place.convoke(&["run", "b.agent", "-m", "scripted/other.toml"]).status.success());
    let output = place.convoke(&["chat", "--continue", "last", "and looms?"]);
    assert_eq!(stdout(&output), "Looms weave.\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("was over; it goes on in run"), "{}", stderr(&output));
    let none = Place::with([crate::examples::letter()]);
    let output = none.convoke(&["chat", "--continue", "last", "-m", "scripted/rehearsal", "and?"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("there is no conversation in"), "{}", stderr(&output));
}
