//! Cases 23 to 39: how often states are entered, and where to go instead.

use convoke_machine::workflow::{Compiled, PendingTransition, TransitionSlot, WorkflowError, WorkflowEvent};
use serde_json::{Value, json};

use super::{at, compiled, fire, single_hop, trace, visits};

/// a -Loop-> b, b -Back-> a, where b may be entered so often.
fn capped(max: i64, fallback: &str) -> Compiled {
    let b = json!({"on_event": {"Back": "a"}, "max_visits": max, "on_max_visits": fallback});
    compiled(json!({"a": {"on_event": {"Loop": "b"}}, "b": b, "c": {}}), "a")
}

fn chain() -> Value {
    json!({
        "a": {"on_event": {"L": "a"}, "max_visits": 1, "on_max_visits": "b"},
        "b": {"on_event": {"A": "a"}, "max_visits": 1, "on_max_visits": "c"},
        "c": {},
    })
}

#[test]
fn promptkit_023_the_entry_is_visited_once_at_the_start() {
    let machine = capped(2, "c");
    assert_eq!(machine.start(at(0)).visits("a"), 1);
}

#[test]
fn promptkit_024_what_was_entered_often_enough_leads_elsewhere() {
    let machine = capped(2, "c");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back", "Loop", "Back"]);
    let transitioned = fire(&machine, &mut context, "Loop").unwrap();
    assert_eq!(&*transitioned.to, "c");
    let json = serde_json::to_value(&transitioned).unwrap();
    assert_eq!(json["redirected"], json!(true));
    assert_eq!(json["original_target"], json!("b"));
}

#[test]
fn promptkit_025_only_the_state_that_is_entered_counts_the_visit() {
    let machine = capped(2, "c");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back", "Loop", "Back", "Loop"]);
    assert_eq!(visits(&context), json!({"a": 3, "b": 2, "c": 1}));
}

#[test]
fn promptkit_026_the_reason_of_a_redirect_is_said() {
    let machine = capped(2, "c");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back", "Loop", "Back"]);
    let redirect = fire(&machine, &mut context, "Loop").unwrap().redirect.unwrap();
    assert_eq!(redirect.redirect_reason, "max_visits (2) reached for \"b\"");
}

#[test]
fn promptkit_027_without_a_fallback_it_is_an_error_and_nothing_changes() {
    let machine = capped(1, "");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back"]);
    let before = context.clone();
    let Err(WorkflowError::MaxVisitsExceeded(exceeded)) = fire(&machine, &mut context, "Loop") else {
        panic!("it was entered once too often");
    };
    assert_eq!((&*exceeded.from_state, &*exceeded.original_target, &*exceeded.event), ("a", "b", "Loop"));
    assert_eq!((exceeded.visit_count, exceeded.max_visits), (1, 1));
    assert_eq!(context, before);
}

#[test]
fn promptkit_028_the_error_says_how_often_the_state_was_visited() {
    let research = json!({"on_event": {"Back": "plan"}, "max_visits": 3});
    let machine = compiled(json!({"plan": {"on_event": {"Go": "research"}}, "research": research}), "plan");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Go", "Back", "Go", "Back", "Go", "Back"]);
    let error = fire(&machine, &mut context, "Go").unwrap_err();
    assert!(matches!(error, WorkflowError::MaxVisitsExceeded(_)));
    assert_eq!(error.to_string(), "max visits exceeded: state \"research\" visited 3 times (max 3)");
}

#[test]
fn promptkit_029_a_self_loop_of_the_entry_counts_the_entry() {
    let research = json!({"on_event": {"More": "research"}, "max_visits": 3, "on_max_visits": "summarize"});
    let machine = compiled(json!({"research": research, "summarize": {}}), "research");
    let mut context = machine.start(at(0));
    assert_eq!(
        trace(&machine, &mut context, &["More", "More", "More"]),
        ["research", "research", "summarize*"]
    );
    assert_eq!(visits(&context), json!({"research": 3, "summarize": 1}));
}

#[test]
fn promptkit_030_an_entry_that_may_be_entered_once_has_no_self_loop() {
    let machine = compiled(json!({"a": {"on_event": {"Loop": "a"}, "max_visits": 1}}), "a");
    let error = fire(&machine, &mut machine.start(at(0)), "Loop").unwrap_err();
    assert!(matches!(error, WorkflowError::MaxVisitsExceeded(_)));
}

#[test]
fn promptkit_031_zero_and_absent_are_no_limit() {
    for state in [json!({"on_event": {"Loop": "a"}}), json!({"on_event": {"Loop": "a"}, "max_visits": 0})] {
        let machine = compiled(json!({"a": state}), "a");
        let mut context = machine.start(at(0));
        trace(&machine, &mut context, &["Loop"; 50]);
        assert_eq!(context.visits("a"), 51);
    }
}

#[test]
fn promptkit_032_a_single_hop_enters_a_fallback_over_its_own_limit() {
    let machine = single_hop(chain(), "a");
    let mut context = machine.start(at(0));
    assert_eq!(trace(&machine, &mut context, &["L", "A"]), ["b*", "b*"]);
    assert_eq!(visits(&context), json!({"a": 1, "b": 2}));
}

#[test]
fn promptkit_033_a_chain_of_fallbacks_is_followed_and_reported() {
    let machine = compiled(chain(), "a");
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "L").unwrap();
    let transitioned = fire(&machine, &mut context, "A").unwrap();
    let chain: Vec<String> = transitioned.redirect.unwrap().chain.iter().map(ToString::to_string).collect();
    assert_eq!(chain, ["a", "b", "c"]);
    assert_eq!(context.current_state(), "c");
}

#[test]
fn promptkit_034_a_chain_that_ends_in_a_limit_names_its_last_state() {
    let mut states = chain();
    states["b"]["on_max_visits"] = json!("");
    let machine = compiled(states, "a");
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "L").unwrap();
    let before = context.clone();
    let Err(WorkflowError::MaxVisitsExceeded(exceeded)) = fire(&machine, &mut context, "A") else {
        panic!("there is nowhere to go");
    };
    assert_eq!((&*exceeded.state, &*exceeded.original_target), ("b", "a"));
    assert_eq!(context, before);
}

#[test]
fn promptkit_035_fallbacks_that_lead_to_each_other_are_an_error() {
    let mut states = chain();
    states["b"]["on_max_visits"] = json!("a");
    let machine = compiled(states, "a");
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "L").unwrap();
    let before = context.clone();
    let error = fire(&machine, &mut context, "A").unwrap_err();
    let chain = ["a", "b", "a"].map(Into::into).to_vec();
    assert_eq!(error, WorkflowError::RedirectCycle { chain });
    assert_eq!(context, before);
}

#[test]
fn promptkit_036_a_fallback_to_itself_is_exceeded_unless_hops_are_single() {
    let states = json!({"r": {"on_event": {"L": "r"}, "max_visits": 1, "on_max_visits": "r"}});
    let machine = compiled(states.clone(), "r");
    let error = fire(&machine, &mut machine.start(at(0)), "L").unwrap_err();
    assert!(matches!(error, WorkflowError::MaxVisitsExceeded(_)));
    let compatible = single_hop(states, "r");
    let mut context = compatible.start(at(0));
    assert_eq!(trace(&compatible, &mut context, &["L"]), ["r"]);
}

#[test]
fn promptkit_037_history_has_where_a_redirect_ended_and_the_event() {
    let machine = capped(1, "c");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back", "Loop"]);
    let last = context.last_transition().unwrap();
    assert_eq!((&*last.from, &*last.to, &*last.event), ("a", "c", "Loop"));
}

/// Schedules an event and lets it happen; gives where it led.
fn committed(
    machine: &Compiled,
    context: &mut convoke_machine::workflow::Context,
    event: &str,
) -> (String, bool) {
    let mut slot = TransitionSlot::default();
    let arguments = json!({"event": event, "context": ""});
    slot.schedule(PendingTransition::of_arguments(arguments.as_object().unwrap()));
    let (_, events) = slot.commit(machine, context, at(0)).unwrap().unwrap();
    let moved = events.into_iter().find_map(|event| match event {
        WorkflowEvent::Transitioned(moved) => Some((moved.to.to_string(), moved.redirect.is_some())),
        _ => None,
    });
    moved.unwrap()
}

#[test]
fn promptkit_038_a_transition_that_was_scheduled_is_redirected_alike() {
    let machine = capped(1, "c");
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Loop", "Back"]);
    assert_eq!(committed(&machine, &mut context, "Loop"), ("c".to_owned(), true));
}

#[test]
fn promptkit_039_a_self_loop_that_is_scheduled_twice_is_redirected() {
    let b = json!({"on_event": {"Loop": "b"}, "max_visits": 1, "on_max_visits": "done"});
    let machine = compiled(json!({"a": {"on_event": {"Go": "b"}}, "b": b, "done": {}}), "a");
    let mut context = machine.start(at(0));
    assert_eq!(committed(&machine, &mut context, "Go"), ("b".to_owned(), false));
    assert_eq!(committed(&machine, &mut context, "Loop"), ("done".to_owned(), true));
}
