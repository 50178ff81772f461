//! The way that a conversation took.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use convoke_machine::conversation::{MachineState, Sign, Way};
use convoke_machine::workflow::{Act, Command, Compiled, Known, Spec, advance};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

/// A circle with a fallback, and a state that a composition leads out of.
fn workflow() -> Compiled {
    let spec: Spec = serde_json::from_value(json!({
        "version": 2, "entry": "sort",
        "states": {
            "sort": {"prompt_task": "p", "on_event": {"Easy": "desk", "Hard": "expert"}},
            "desk": {"prompt_task": "p", "on_event": {"Back": "expert", "Done": "end"}},
            "expert": {"prompt_task": "p", "max_visits": 2, "on_max_visits": "boss",
                       "on_event": {"Unclear": "desk", "Done": "end"}},
            "boss": {"prompt_task": "p", "on_event": {"Done": "end"}},
            "end": {"prompt_task": "p", "terminal": true},
        },
    }))
    .unwrap();
    Compiled::new(&spec, &Known::anything()).unwrap()
}

fn transitions(way: &Way) -> Vec<String> {
    let shown = |taken: &convoke_machine::conversation::TakenTransition| {
        format!("{} {} {} {:?} {}", taken.from, taken.event, taken.to, taken.instead_of, taken.times)
    };
    way.transitions.iter().map(shown).collect()
}

#[test]
fn a_way_says_where_it_went_instead() {
    let events = ["Hard", "Unclear", "Back", "Unclear", "Back"].map(Sign::Event);
    let way = Way::read(&workflow(), &MachineState::default(), events);
    assert_eq!(way.current, "boss");
    assert_eq!((way.visits("expert"), way.visits("desk"), way.visits("end")), (2, 2, 0));
    assert_eq!(
        transitions(&way),
        [
            "sort Hard expert [] 1",
            "expert Unclear desk [] 2",
            "desk Back expert [] 1",
            "desk Back boss [\"expert\"] 1"
        ]
    );
    assert_eq!((way.taken("desk", "Back"), way.redirected("expert")), (2, 1));
}

#[test]
fn what_nobody_wrote_down_follows_from_what_came_after_it() {
    let signs = [Sign::At("sort"), Sign::At("expert"), Sign::Event("Done"), Sign::At("nowhere")];
    let way = Way::read(&workflow(), &MachineState::default(), signs);
    assert_eq!(transitions(&way), ["sort Hard expert [] 1", "expert Done end [] 1"]);
    assert_eq!(way.current, "end");
}

#[test]
fn a_way_begins_in_the_state_that_was_chosen() {
    let mut began = MachineState::default();
    began.entry = Some("desk".to_owned());
    let way = Way::read(&workflow(), &began, [Sign::At("desk"), Sign::Event("Back")]);
    assert_eq!((transitions(&way), way.visits("sort")), (vec!["desk Back expert [] 1".to_owned()], 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_happened(
        events in prop::collection::vec(prop::sample::select(vec!["Easy", "Hard", "Back", "Unclear", "Done"]), 0..40),
        split in any::<prop::sample::Index>(),
    ) {
        let workflow = workflow();
        let at = Timestamp::UNIX_EPOCH;
        let mut context = workflow.start(at);
        let split = split.index(events.len() + 1);
        let mut before = context.clone();
        for (number, event) in events.iter().enumerate() {
            let _ = advance(&workflow, &mut context, Command::at(at, Act::Event(event)));
            if number + 1 == split {
                before = context.clone();
            }
        }
        let happened = Way::of(&workflow, &context);
        prop_assert_eq!(&Way::read(&workflow, &MachineState::default(), events.iter().copied().map(Sign::Event)), &happened);
        // A generation goes on where the one before it ended.
        let later = events[split..].iter().copied().map(Sign::Event);
        let mut began = MachineState::default();
        began.context = Some(before);
        prop_assert_eq!(&Way::read(&workflow, &began, later), &happened);
    }
}
