//! Cases 110 to 126: the tool that fires events, and the transition that waits to happen.

use convoke_machine::workflow::{
    Compiled, Context, PendingTransition, Refusal, TransitionSlot, WorkflowError, WorkflowEvent, tools_for,
    transition_tool,
};
use serde_json::{Value, json};

use super::{at, compiled};

/// Every kind of state.
fn machine() -> Compiled {
    compiled(
        json!({
            "a": {"on_event": {"Go": "b", "End": "done"}},
            "b": {"on_event": {"Go": "done"}, "orchestration": "external"},
            "h": {"on_event": {"Go": "done"}, "orchestration": "hybrid"},
            "done": {"terminal": true},
        }),
        "a",
    )
}

fn offers_transition(machine: &Compiled, state: &str) -> bool {
    tools_for(machine, machine.named(state)).iter().any(|tool| tool.name == "workflow__transition")
}

fn request(
    slot: &mut TransitionSlot,
    machine: &Compiled,
    context: &Context,
    arguments: Value,
) -> Result<Value, Refusal> {
    slot.request(machine, context, arguments.as_object().unwrap())
}

fn scheduled(arguments: Value) -> TransitionSlot {
    let mut slot = TransitionSlot::default();
    slot.schedule(PendingTransition::of_arguments(arguments.as_object().unwrap()));
    slot
}

#[test]
fn promptkit_110_the_tool_names_its_events_and_takes_a_context() {
    let tool = transition_tool(["Escalate", "Resolve"]);
    assert_eq!((tool.name, tool.namespace), ("workflow__transition", "workflow"));
    assert!(tool.description.contains("Transition the workflow"));
    let schema = tool.input_schema;
    assert_eq!(schema["type"], json!("object"));
    assert_eq!(schema["properties"]["event"]["enum"], json!(["Escalate", "Resolve"]));
    assert_eq!(schema["properties"]["context"]["type"], json!("string"));
    assert_eq!(schema["required"], json!(["event", "context"]));
}

#[test]
fn promptkit_111_without_events_the_list_is_empty() {
    assert_eq!(transition_tool([]).input_schema["properties"]["event"]["enum"], json!([]));
}

#[test]
fn promptkit_112_events_are_sorted() {
    let schema = transition_tool(["Zebra", "Alpha", "Middle"]).input_schema;
    assert_eq!(schema["properties"]["event"]["enum"], json!(["Alpha", "Middle", "Zebra"]));
}

#[test]
fn promptkit_113_a_state_with_events_has_the_tool_and_a_terminal_one_has_not() {
    let machine = machine();
    let tools = tools_for(&machine, machine.named("a"));
    assert_eq!((tools.len(), tools[0].mode), (1, "workflow-transition"));
    assert!(!offers_transition(&machine, "done"));
    assert_eq!(tools_for(&machine, None), []);
}

#[test]
fn promptkit_114_the_tool_is_gone_in_a_terminal_state() {
    let machine = machine();
    assert!(offers_transition(&machine, "a"));
    assert!(!offers_transition(&machine, "done"));
}

#[test]
fn promptkit_115_only_states_that_the_model_moves_on_from_have_the_tool() {
    let machine = machine();
    let offered: Vec<bool> = ["a", "b", "h"].map(|state| offers_transition(&machine, state)).into();
    assert_eq!(offered, [true, false, true]);
}

#[test]
fn promptkit_116_an_external_state_after_an_internal_one_keeps_no_tool_of_it() {
    let machine = machine();
    assert!(offers_transition(&machine, "a"));
    assert_eq!(tools_for(&machine, machine.named("b")), []);
}

#[test]
fn promptkit_117_what_is_asked_for_happens_when_it_is_committed() {
    let machine = machine();
    let mut context = machine.start(at(0));
    let mut slot = TransitionSlot::default();
    let reply = request(&mut slot, &machine, &context, json!({"event": "Go", "context": "hello"})).unwrap();
    assert_eq!(reply["status"], json!("transition_scheduled"));
    assert_eq!(context.current_state(), "a");
    assert_eq!(slot.pending().unwrap().event, "Go");
    slot.commit(&machine, &mut context, at(0)).unwrap();
    assert_eq!(context.current_state(), "b");
    assert_eq!(slot.pending(), None);
}

#[test]
fn promptkit_118_committing_nothing_is_nothing() {
    let machine = machine();
    let mut context = machine.start(at(0));
    assert_eq!(TransitionSlot::default().commit(&machine, &mut context, at(0)), Ok(None));
    assert_eq!(context, machine.start(at(0)));
}

#[test]
fn promptkit_119_what_cannot_happen_fails_when_it_is_committed_and_is_gone() {
    let machine = machine();
    let mut context = machine.start(at(0));
    let mut slot = scheduled(json!({"event": "BadEvent"}));
    let error = slot.commit(&machine, &mut context, at(0)).unwrap_err();
    assert!(matches!(error, WorkflowError::InvalidEvent { event, .. } if event == "BadEvent"));
    assert_eq!(slot.pending(), None);
    assert_eq!(slot.commit(&machine, &mut context, at(0)), Ok(None), "it fails once");
}

#[test]
fn promptkit_120_what_is_dropped_does_not_happen() {
    let machine = machine();
    let mut context = machine.start(at(0));
    let mut slot = scheduled(json!({"event": "Go"}));
    slot.clear();
    assert_eq!(slot.commit(&machine, &mut context, at(0)), Ok(None));
    assert_eq!(context.current_state(), "a");
}

#[test]
fn promptkit_121_what_happened_is_told_once_and_not_when_it_is_asked_for() {
    let machine = machine();
    let mut context = machine.start(at(0));
    let mut slot = TransitionSlot::default();
    request(&mut slot, &machine, &context, json!({"event": "Go", "context": ""})).unwrap();
    assert_eq!(context, machine.start(at(0)));
    let (asked, events) = slot.commit(&machine, &mut context, at(0)).unwrap().unwrap();
    assert_eq!(asked.event, "Go");
    let moves = events.iter().filter(|event| matches!(event, WorkflowEvent::Transitioned(_)));
    assert_eq!(moves.count(), 1);
    assert_eq!(slot.commit(&machine, &mut context, at(0)), Ok(None));
}

#[test]
fn promptkit_122_what_else_a_call_says_is_for_the_host() {
    let machine = machine();
    let extras = |arguments: Value| {
        let mut slot = scheduled(arguments);
        let pending = slot.pending().unwrap().host_extras.clone();
        let (_, events) = slot.commit(&machine, &mut machine.start(at(0)), at(0)).unwrap().unwrap();
        let moved = events.into_iter().find_map(|event| match event {
            WorkflowEvent::Transitioned(moved) => Some(moved),
            _ => None,
        });
        let moved = serde_json::to_value(moved.unwrap()).unwrap();
        (Value::from(pending), moved.get("host_extras").cloned())
    };
    let (pending, moved) =
        extras(json!({"event": "Go", "context": "c", "escalation_reason": "angry", "priority": 3}));
    assert_eq!(pending, json!({"escalation_reason": "angry", "priority": 3}));
    assert_eq!(moved, Some(pending));
    assert_eq!(extras(json!({"event": "Go", "context": "c"})), (json!({}), None));
}

#[test]
fn promptkit_123_the_first_of_several_calls_counts() {
    let machine = machine();
    let context = machine.start(at(0));
    let mut slot = TransitionSlot::default();
    request(&mut slot, &machine, &context, json!({"event": "Go", "context": ""})).unwrap();
    let refused = request(&mut slot, &machine, &context, json!({"event": "End", "context": ""})).unwrap_err();
    assert_eq!(refused, Refusal::AlreadyPending { pending: "Go".into() });
    assert_eq!(slot.pending().unwrap().event, "Go");
    // A host that schedules by itself may think better of it.
    slot.schedule(PendingTransition::of_arguments(json!({"event": "End"}).as_object().unwrap()));
    assert_eq!(slot.pending().unwrap().event, "End");
}

#[test]
fn promptkit_124_the_answer_names_the_target_from_here() {
    let machine = machine();
    let reply_in = |state: &str| {
        let context = machine.start_in(state, at(0)).unwrap();
        let call = json!({"event": "Go", "context": ""});
        request(&mut TransitionSlot::default(), &machine, &context, call).unwrap()
    };
    assert_eq!(reply_in("a")["target_state"], json!("b"));
    assert_eq!(reply_in("h")["target_state"], json!("done"));
}

#[test]
fn promptkit_125_an_event_in_another_case_is_understood_if_only_one_can_be_meant() {
    let machine =
        compiled(json!({"a": {"on_event": {"Escalate": "b", "Save": "b", "SAVE": "b"}}, "b": {}}), "a");
    let context = machine.start(at(0));
    let event = |argument: &str| {
        let mut slot = TransitionSlot::default();
        let asked = request(&mut slot, &machine, &context, json!({"event": argument, "context": ""}));
        asked.map(|_| slot.pending().unwrap().event.clone())
    };
    assert_eq!(event(" escalate "), Ok("Escalate".to_owned()));
    assert_eq!(event("SAVE"), Ok("SAVE".to_owned()));
    assert!(matches!(event("save"), Err(Refusal::Workflow(WorkflowError::InvalidEvent { .. }))));
}

#[test]
fn promptkit_126_an_event_that_is_not_there_is_refused_when_it_is_asked_for() {
    let machine = machine();
    let context = machine.start(at(0));
    let mut slot = TransitionSlot::default();
    let refused =
        request(&mut slot, &machine, &context, json!({"event": "Nope", "context": ""})).unwrap_err();
    assert!(refused.to_string().contains("the events there are `End`, `Go`"));
    assert_eq!(slot, TransitionSlot::default());
    let no_text = request(&mut slot, &machine, &context, json!({"event": 5, "context": ""})).unwrap_err();
    assert_eq!(no_text, Refusal::Argument { argument: "event" });
}
