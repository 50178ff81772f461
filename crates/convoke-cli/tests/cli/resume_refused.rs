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
fn an_output_that_a_later_goal_needs_is_asked_for_anew() {
    let place = spoilt("json = { count = 7 }", "reply = \"many\"");
    let failed = place.convoke(&RUN);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("`count`"), "{}", stderr(&failed));
    place.write("script.toml", GOOD);
    resumed(&place, &[]);
}
