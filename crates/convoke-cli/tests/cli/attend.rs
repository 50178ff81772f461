//! `convoke attend`: runs that can go on do, wherever they were left.

use serde_json::Value;

use crate::place::{Place, stderr, stdout};
use crate::workshop::{AGENTFILE, RESULT, RUN, workshop};

fn reports(place: &Place) -> Vec<Value> {
    let attended = place.convoke(&["attend", "--once", "--json"]);
    assert_eq!(attended.status.code(), Some(0), "{}", stderr(&attended));
    stdout(&attended).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_that_was_answered_goes_on() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    // Nobody has answered: there is nothing to do.
    assert_eq!(reports(&place), Vec::<Value>::new());
    let answered = place.convoke(&["answer", "letter-1", "--approve"]);
    assert!(answered.status.success(), "{}", stderr(&answered));
    let done = reports(&place);
    assert_eq!((&done[0]["run"], &done[0]["status"]), (&"letter-1".into(), &"completed".into()), "{done:?}");
    assert_eq!(stdout(&place.convoke(&["resume", "letter-1"])).trim(), RESULT);
    assert_eq!(reports(&place), Vec::<Value>::new());
}

#[test]
fn a_run_that_needs_its_user_is_left_alone_and_said() {
    let place = workshop(AGENTFILE);
    place.write("named.toml", "version = 1\n");
    let words = [&RUN[..], &["--no-input", "--policy", "named.toml"]].concat();
    assert_eq!(place.convoke(&words).status.code(), Some(5));
    assert!(place.convoke(&["answer", "letter-1", "--approve"]).status.success());
    let done = reports(&place);
    assert!(done[0]["status"].is_null(), "{done:?}");
    assert!(done[0]["error"].as_str().unwrap().contains("policy that was named"), "{done:?}");
    // It can still be gone on with by whoever names it.
    let resumed = place.convoke(&["resume", "letter-1", "--policy", "named.toml"]);
    assert_eq!(stdout(&resumed).trim(), RESULT, "{}", stderr(&resumed));
}
