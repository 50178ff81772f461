//! What holds whatever the workflow is and whatever happens to it.

use convoke_machine::workflow::{
    Act, Command, Compiled, Context, Known, Options, RedirectStyle, Spec, advance, step,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::at;

const STATES: [&str; 5] = ["a", "b", "c", "d", "e"];
const EVENTS: [&str; 4] = ["Go", "Back", "Loop", "End"];

/// What happens, in a form that can be kept.
#[derive(Debug, Clone)]
enum Happening {
    Event(usize),
    Artifact(usize, String),
    Calls(u64),
}

fn state() -> impl Strategy<Value = Value> {
    let events = proptest::collection::btree_map(0..EVENTS.len(), 0..STATES.len(), 0..4);
    (events, 0..4i64, proptest::option::of(0..STATES.len()), 0..8u8).prop_map(
        |(events, max_visits, fallback, terminal)| {
            let on_event: Map<String, Value> = events
                .into_iter()
                .map(|(event, target)| (EVENTS[event].to_owned(), json!(STATES[target])))
                .collect();
            json!({"prompt_task": "p", "on_event": on_event, "max_visits": max_visits,
                "on_max_visits": fallback.map_or("", |fallback| STATES[fallback]), "terminal": terminal == 0,
                "artifacts": {"log": {"type": "text/plain", "mode": "append"},
                    "found": {"type": "application/json", "mode": "append"}}})
        },
    )
}

fn workflow() -> impl Strategy<Value = Compiled> {
    let states = proptest::collection::vec(state(), STATES.len());
    let budget = (proptest::option::of(1..40u64), proptest::option::of(1..40u64));
    (states, budget, any::<bool>()).prop_map(|(states, (visits, calls), single_hop)| {
        let states: Map<String, Value> = STATES.map(str::to_owned).into_iter().zip(states).collect();
        let mut budget = Map::new();
        budget.extend(visits.map(|visits| ("max_total_visits".to_owned(), json!(visits))));
        budget.extend(calls.map(|calls| ("max_tool_calls".to_owned(), json!(calls))));
        let section = json!({"version": 2, "entry": "a", "states": states, "engine": {"budget": budget}});
        let spec: Spec = serde_json::from_value(section).unwrap();
        let mut options = Options::default();
        (options.history, options.snapshot_bytes) = (7, 200);
        if single_hop {
            options.redirects = RedirectStyle::SingleHop;
        }
        Compiled::with_options(&spec, &Known::anything(), options).unwrap()
    })
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        6 => (0..EVENTS.len() + 1).prop_map(Happening::Event),
        2 => (0..3usize, "[0-9x]{0,12}").prop_map(|(name, value)| Happening::Artifact(name, value)),
        1 => (0..3u64).prop_map(Happening::Calls),
    ];
    proptest::collection::vec(happening, 0..60)
}

fn command(number: usize, happening: &Happening) -> Command<'_> {
    let act = match happening {
        Happening::Event(event) => Act::Event(EVENTS.get(*event).copied().unwrap_or("Unknown")),
        Happening::Artifact(name, value) => {
            Act::SetArtifact { name: ["log", "found", "unknown"][*name], value }
        }
        Happening::Calls(calls) => Act::ToolCalls(*calls),
    };
    Command::at(at(number as i64 * 100), act)
}

fn restored(machine: &Compiled, context: &Context) -> Context {
    machine.restore(&serde_json::to_string(context).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn the_machine_keeps_its_promises(machine in workflow(), happenings in happenings()) {
        let mut context = machine.start(at(0));
        let mut transitions = 0;
        for (number, happening) in happenings.iter().enumerate() {
            let command = command(number, happening);
            let before = context.clone();
            let pure = step(&machine, &context, command);
            prop_assert_eq!(&context, &before, "a step leaves the context it is given");
            match advance(&machine, &mut context, command) {
                Ok(events) => {
                    prop_assert_eq!(pure, Ok((context.clone(), events)), "in place or not is the same");
                    transitions += u64::from(matches!(happening, Happening::Event(_)));
                }
                Err(error) => {
                    prop_assert_eq!(pure, Err(error));
                    prop_assert_eq!(&context, &before, "an error leaves the context unchanged");
                }
            }
            prop_assert!(machine.current(&context).is_some(), "no event leaves the declared states");
            prop_assert_eq!(context.total_visits(), transitions + 1);
            prop_assert_eq!(context.transition_count(), transitions);
            let sum: u64 = context.visit_counts().map(|(_, visits)| visits).sum();
            prop_assert_eq!(sum, context.total_visits());
            prop_assert!(context.history().len() <= 7 && context.artifact_history().len() <= 7);
        }
    }

    #[test]
    fn a_restored_context_goes_on_as_if_nothing_had_been(
        machine in workflow(),
        happenings in happenings(),
        cut in 0..60usize,
    ) {
        let mut straight = machine.start(at(0));
        let mut interrupted = machine.start(at(0));
        for (number, happening) in happenings.iter().enumerate() {
            if number == cut {
                interrupted = restored(&machine, &interrupted);
            }
            let command = command(number, happening);
            let one = advance(&machine, &mut straight, command);
            let other = advance(&machine, &mut interrupted, command);
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(serde_json::to_value(&straight).unwrap(), serde_json::to_value(&interrupted).unwrap());
        prop_assert_eq!(restored(&machine, &straight), restored(&machine, &interrupted));
    }
}
