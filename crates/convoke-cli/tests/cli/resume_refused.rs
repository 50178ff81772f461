//! Runs that failed by what a model said: resuming them asks for it anew, of the same model or of another.

use crate::place::{Place, stderr, stdout};

const AGENTFILE: &str = r#"NAME talk
GOAL facts "Collect facts" -> count:int
GOAL tell "Tell what you know"
GOAL sum "Add one to $count"
RUN main USING facts, tell, sum
"#;

/// A model that says all it is asked for.
const GOOD: &str = r#"
[[rule]]
when = { user_contains = '<current-goal id="facts">' }
json = { count = 7 }

[[rule]]
when = { user_contains = '<current-goal id="tell">' }
reply = "Seven."

[[rule]]
when = { user_contains = '<current-goal id="sum">' }
reply = "Eight."

[[rule]]
when = { output = "facts" }
json = { count = 7 }
"#;

const RUN: [&str; 6] = ["run", "talk.agent", "-m", "scripted/script.toml", "--id", "talk-1"];

/// A workshop whose model answers one rule otherwise.
fn spoilt(good: &str, bad: &str) -> Place {
    let place = Place::empty();
    place.write("talk.agent", AGENTFILE);
    assert!(GOOD.contains(good));
    place.write("script.toml", GOOD.replace(good, bad));
    place
}

fn resumed(place: &Place, arguments: &[&str]) {
    let done = place.convoke(&[&["resume", "talk-1"], arguments].concat());
    assert_eq!(stdout(&done), "Eight.\n", "{}", stderr(&done));
    assert!(done.status.success(), "{}", stderr(&done));
}

#[test]
fn a_reply_that_was_cut_off_or_refused_is_asked_for_anew() {
    for finish in ["length", "content_filter"] {
        let cut = format!("reply = \"Sev\"\nfinish = \"{finish}\"");
        let place = spoilt("reply = \"Seven.\"", &cut);
        let failed = place.convoke(&RUN);
        assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
        // The same model, mended.
        place.write("script.toml", GOOD);
        resumed(&place, &[]);
    }
}

#[test]
fn another_model_is_asked_for_what_the_first_refused() {
    let place = spoilt("reply = \"Seven.\"", "reply = \"no\"\nfinish = \"content_filter\"");
    assert_eq!(place.convoke(&RUN).status.code(), Some(1));
    let again = place.convoke(&["resume", "talk-1"]);
    assert_eq!(again.status.code(), Some(1), "the model that refused refuses again: {}", stderr(&again));
    place.write("other.toml", GOOD);
    resumed(&place, &["-m", "scripted/other.toml"]);
}

#[test]
fn whoever_asks_for_something_else_with_the_same_file_is_not_told_to_go_on_with_it() {
    let place = Place::empty();
    place.write(
        "talk.pack.yaml",
        "id: talk\nname: Talk\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: \"{{variable}}\"}\nprompts:\n  \
         chat: {id: chat, name: Chat, version: 1.0.0, system_template: Chat, \
         model_overrides: {other: {system_template: Chatter}}}\n",
    );
    for name in ["one", "other"] {
        place.write(&format!("{name}.toml"), format!("name = \"{name}\"\n[[rule]]\nreply = \"Hm.\"\n"));
    }
    let begin = ["run", "talk.pack.yaml", "-i", "message=Hi", "-m", "scripted/one.toml", "--id", "x-1"];
    assert_eq!(place.convoke(&begin).status.code(), Some(5));
    let resumed = place.convoke(&["resume", "x-1", "-m", "scripted/other.toml"]);
    assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
    let told = stderr(&resumed);
    assert!(told.contains("although its file is the same"), "{told}");
    assert!(
        told.contains("and the settings, that it was begun with; or have a run that does this part anew"),
        "{told}"
    );
    assert!(!told.contains("go on with the file as it was") && !told.contains("--changed-file"), "{told}");
}

#[test]
fn an_output_that_a_later_goal_needs_is_asked_for_anew() {
    let place = spoilt("json = { count = 7 }", "reply = \"many\"");
    let failed = place.convoke(&RUN);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("`count`"), "{}", stderr(&failed));
    place.write("script.toml", GOOD);
    resumed(&place, &[]);
}
