//! `convoke send`

use convoke_core::store::{AwaitedChannel, WaitConditions};
use convoke_core::{RunStatus, Timestamp};
use serde_json::{Value, json};

use crate::journal::Run;
use crate::place::{Place, stderr, stdout, wait};
use crate::workshop::document;

/// A run of some program that waits for mail.
fn waiting(waits: WaitConditions) -> Place {
    Place::with([Run::new("order-1", "orders").suspends().waits(waits)])
}

fn for_letters() -> WaitConditions {
    let name = "letters".to_owned();
    WaitConditions { channels: vec![AwaitedChannel { name, after: 0 }], until: None }
}

fn sent(place: &Place) -> Vec<(String, Value)> {
    let run = "order-1".parse().unwrap();
    let mail = wait(place.store().mail(&run, "letters", 0, 9)).unwrap();
    mail.into_iter().map(|mail| (mail.sender.clone(), mail.read().unwrap())).collect()
}

#[test]
fn what_is_sent_is_kept_and_it_is_said_what_becomes_of_it() {
    let place = waiting(for_letters());
    let shown = place.convoke(&["show", "order-1"]);
    assert!(stderr(&shown).contains("`convoke send order-1 letters JSON`"), "{}", stderr(&shown));
    let other = place.convoke(&["send", "order-1", "others", "1"]);
    assert!(stderr(&other).contains("it is kept until the run looks for it"), "{}", stderr(&other));
    let first =
        place.convoke(&["send", "order-1", "letters", r#"{"pizza": 2}"#, "--key", "k", "--by", "ann"]);
    assert!(first.status.success());
    assert!(stderr(&first).contains("the run can go on; resume it with the program"), "{}", stderr(&first));
    let again = place.convoke(&["send", "order-1", "letters", r#"{"pizza":2}"#, "--key", "k", "--json"]);
    assert_eq!(document(&again)["is_new"], json!(false));
    assert!(stderr(&again).contains("was sent this before"), "{}", stderr(&again));
    let other = place.convoke(&["send", "order-1", "letters", "7", "--key", "k"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(
        stderr(&other).contains("was sent something else on `letters` with the key `k`"),
        "{}",
        stderr(&other)
    );
    let elsewhere = place.convoke(&["send", "order-1", "others", r#"{"pizza": 2}"#, "--key", "k"]);
    assert_eq!(elsewhere.status.code(), Some(1), "the channel is part of what was sent");
    assert!(
        stderr(&elsewhere).contains("something else on `letters` with the key `k`"),
        "{}",
        stderr(&elsewhere)
    );
    let text = place.convoke(&["send", "order-1", "letters", "--text", "as it is", "--by", "bob"]);
    assert!(text.status.success());
    assert_eq!(
        sent(&place),
        [("ann".to_owned(), json!({"pizza": 2})), ("bob".to_owned(), json!("as it is"))]
    );
    let shown = place.convoke(&["show", "order-1"]);
    assert!(stderr(&shown).contains("what it waited for is there"), "{}", stderr(&shown));
    assert_eq!(
        document(&place.convoke(&["show", "order-1", "--json"]))["run"]["channels"],
        json!(["letters"])
    );
}

/// Builds before notes of keys were kept sent only the mail itself.
#[test]
fn a_key_that_an_earlier_build_has_used_is_refused_for_anything_else() {
    let place = waiting(for_letters());
    let run = "order-1".parse().unwrap();
    let earlier = convoke_core::store::NewMail::json("letters", &json!({"pizza": 2})).unwrap().key("k");
    assert!(wait(place.store().post(&run, earlier)).unwrap().is_new);
    let elsewhere = place.convoke(&["send", "order-1", "others", r#"{"pizza": 2}"#, "--key", "k"]);
    assert_eq!(elsewhere.status.code(), Some(1), "{}", stderr(&elsewhere));
    let why = "was sent something else on `letters` with the key `k`";
    assert!(stderr(&elsewhere).contains(why), "{}", stderr(&elsewhere));
    assert!(wait(place.store().mail(&run, "others", 0, 9)).unwrap().is_empty());
    let again = place.convoke(&["send", "order-1", "letters", r#"{"pizza": 2}"#, "--key", "k", "--json"]);
    assert_eq!(document(&again)["is_new"], json!(false), "what was refused has not taken the key");
}

#[test]
fn what_cannot_be_sent_is_refused_with_what_to_do() {
    let place = waiting(for_letters());
    for (words, code, said) in [
        (&["send", "order-1", "letters", "{pizza"][..], 2, "a plain text is sent with `--text TEXT`"),
        (&["send", "order-1", "letters", "1", "--text", "x"], 2, "cannot be used with"),
        (&["send", "order-1", "convoke:cancel", "1"], 2, "cannot be the name of a channel"),
        (&["send", "order-2", "letters", "1"], 3, "order-2"),
    ] {
        let output = place.convoke(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
    assert_eq!(sent(&place), []);
    let over = Place::with([Run::new("order-1", "orders").completes(json!(null))]);
    let output = over.convoke(&["send", "order-1", "letters", "1"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert!(
        stderr(&output).contains("is completed and takes no mail: nothing was sent"),
        "{}",
        stderr(&output)
    );
    let halted = Run::new("order-1", "orders").ends(RunStatus::Halted, json!({"error": "halted: no"}));
    let output = Place::with([halted]).convoke(&["send", "order-1", "letters", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("was halted: nothing was sent"), "{}", stderr(&output));
}

#[test]
fn a_run_that_sleeps_says_until_when() {
    let until = Timestamp::from_micros(4_102_444_800_000_000);
    let place = waiting(WaitConditions { until: Some(until), channels: Vec::new() });
    let shown = place.convoke(&["show", "order-1"]);
    assert!(stderr(&shown).contains("it sleeps until 2100-01-01"), "{}", stderr(&shown));
    let json = document(&place.convoke(&["show", "order-1", "--json"]));
    assert!(json["run"]["goes_on"].as_str().unwrap().starts_with("2100-01-01"), "{json}");
}
