//! Cases 59 to 69: history, and the JSON of contexts and states.

use convoke_machine::workflow::{Act, Command, Context, StateSpec, advance};
use serde_json::json;

use super::{as_json, at, compiled, count_calls, fire, fire_at, in_pack, linear, ping_pong, set, spec_of};

fn ponged(transitions: usize) -> Context {
    let machine = compiled(ping_pong(), "a");
    let mut context = machine.start(at(0));
    for (number, event) in ["Go", "Back"].into_iter().cycle().take(transitions).enumerate() {
        fire_at(&machine, &mut context, event, at(number as i64)).unwrap();
    }
    context
}

#[test]
fn promptkit_059_history_keeps_the_newest_thousand() {
    let context = ponged(1100);
    assert_eq!(context.history().len(), 1000);
    assert_eq!(context.history().next().unwrap().timestamp, at(100));
    assert_eq!(context.last_transition().unwrap().timestamp, at(1099));
}

#[test]
fn promptkit_060_transitions_are_counted_beyond_what_is_kept() {
    let context = ponged(1100);
    assert_eq!(context.transition_count(), 1100);
    assert_eq!(as_json(&context)["forgotten_transitions"], json!(100));
    let restored: Context = serde_json::from_value(as_json(&context)).unwrap();
    assert_eq!(restored.transition_count(), 1100);
    // The Go program does not say how many it forgot, but every transition was a visit.
    let mut of_go = as_json(&context);
    of_go.as_object_mut().unwrap().remove("forgotten_transitions");
    let restored: Context = serde_json::from_value(of_go).unwrap();
    assert_eq!(restored.transition_count(), 1100);
}

#[test]
fn promptkit_061_a_clone_shares_nothing_that_can_change() {
    let states = json!({"a": {"on_event": {"Go": "a"}, "artifacts": {"sha": {"type": "text/plain"}}}});
    let machine = compiled(states, "a");
    let mut context = machine.start(at(0));
    context.set_metadata("nested", json!({"list": [1, {"deep": true}]}));
    set(&machine, &mut context, "sha", "one").unwrap();
    fire(&machine, &mut context, "Go").unwrap();
    let before = as_json(&context);
    let mut clone = context.clone();
    clone.set_metadata("nested", json!(null));
    set(&machine, &mut clone, "sha", "two").unwrap();
    fire(&machine, &mut clone, "Go").unwrap();
    assert_eq!(as_json(&context), before);
    let cloned = as_json(&clone);
    set(&machine, &mut context, "sha", "three").unwrap();
    fire(&machine, &mut context, "Go").unwrap();
    assert_eq!(as_json(&clone), cloned);
    assert_eq!(
        clone.artifact_history().map(|snapshot| &*snapshot.values["sha"]).collect::<Vec<_>>(),
        ["one", "two"]
    );
}

#[test]
fn promptkit_062_a_clone_has_nothing_where_nothing_was() {
    let bare = json!({"current_state": "a", "history": null,
        "started_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"});
    let context: Context = serde_json::from_value(bare.clone()).unwrap();
    let clone = context.clone();
    assert!(clone.metadata().is_none());
    assert_eq!(as_json(&clone), bare);
}

#[test]
fn promptkit_063_the_last_transition_is_none_or_a_copy() {
    let linear = linear();
    let mut context = linear.start(at(0));
    assert_eq!(context.last_transition(), None);
    fire(&linear, &mut context, "Next").unwrap();
    let last = context.last_transition().cloned().unwrap();
    fire(&linear, &mut context, "Next").unwrap();
    assert_eq!((&*last.from, &*last.to), ("a", "b"));
}

#[test]
fn promptkit_064_a_context_of_the_go_program_is_read_and_written_as_it_is() {
    let stored = json!({
        "current_state": "b",
        "history": [{"from": "a", "to": "b", "event": "Next", "timestamp": "2026-01-02T03:04:06.123456789Z"}],
        "metadata": {"score": 0.5, "count": 7, "nested": {"list": [1, 2]}},
        "visit_counts": {"a": 1, "b": 1},
        "total_tool_calls": 4,
        "artifacts": {"sha": "abc"},
        "artifact_history": [{"from_state": "a", "to_state": "b", "event": "Next", "values": {"sha": "abc"},
            "timestamp": "2026-01-02T03:04:06.123456789Z"}],
        "started_at": "2026-01-02T03:04:05.5Z",
        "updated_at": "2026-01-02T03:04:06.123456789Z",
    });
    let context = linear().restore(&stored.to_string()).unwrap();
    assert_eq!(as_json(&context), stored);
    assert_eq!(context.started_at(), Some("2026-01-02T03:04:05.5Z".parse().unwrap()));
    assert_eq!(context.metadata().unwrap()["count"], json!(7));
    let with_offset = stored.to_string().replace("2026-01-02T03:04:05.5Z", "2026-01-02T05:04:05.5+02:00");
    assert_eq!(linear().restore(&with_offset).unwrap(), context);
}

#[test]
fn promptkit_065_what_is_not_there_is_not_written() {
    let linear = linear();
    let mut context = linear.start(at(0));
    let written = as_json(&context);
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["current_state", "history", "started_at", "updated_at", "visit_counts"]);
    count_calls(&linear, &mut context, 1);
    assert_eq!(as_json(&context)["total_tool_calls"], json!(1));
    let spec = serde_json::to_value(spec_of(json!({"a": {}}), "a")).unwrap();
    assert_eq!(spec.get("engine"), None);
}

#[test]
fn promptkit_066_a_state_says_only_what_it_has_to_say() {
    let state: StateSpec = serde_json::from_value(json!({"prompt_task": "x", "skills": "none"})).unwrap();
    assert_eq!(serde_json::to_value(&state).unwrap(), json!({"prompt_task": "x", "skills": "none"}));
    let empty = serde_json::to_value(StateSpec::default()).unwrap();
    assert_eq!(empty, json!({"prompt_task": ""}));
}

#[test]
fn promptkit_067_the_section_is_nothing_an_error_or_a_workflow() {
    assert!(in_pack(None).0.unwrap().workflow().is_none());
    let (none, findings) = in_pack(Some(json!("text")));
    assert!(none.is_none() && findings[0].is_error());
    assert_eq!((findings[0].code, findings[0].path.as_str()), ("wrong-type", "/workflow"));
    let (pack, _) = in_pack(Some(json!({"version": 1, "entry": "a", "states": {"a": {"prompt_task": "p"}}})));
    let spec = pack.unwrap().model().workflow.clone().unwrap();
    assert_eq!((spec.version, spec.entry.as_str(), spec.states["a"].prompt_task.as_str()), (1, "a", "p"));
}

#[test]
fn promptkit_068_unknown_fields_are_kept_and_reported() {
    let section = json!({"version": 2, "entry": "a", "comment": 1, "engine": {"custom": [1]},
        "states": {"a": {"prompt_task": "a", "terminal": true, "max_visit": 3,
            "artifacts": {"x": {"type": "text/plain", "schema": {}}}}}});
    let (pack, findings) = in_pack(Some(section.clone()));
    assert_eq!(serde_json::to_value(&pack.unwrap().model().workflow).unwrap(), section);
    let unknown: Vec<_> = findings.iter().filter(|finding| finding.code == "unknown-field").collect();
    let paths: Vec<&str> = unknown.iter().map(|finding| finding.path.as_str()).collect();
    let artifact = "/workflow/states/a/artifacts/x/schema";
    assert_eq!(paths, ["/workflow/comment", artifact, "/workflow/states/a/max_visit"]);
    assert_eq!(unknown[2].help.as_deref(), Some("did you mean `max_visits`?"));
    assert_eq!(unknown.len(), findings.len(), "they are warnings, and nothing else is wrong");
}

#[test]
fn promptkit_069_a_composition_state_needs_no_prompt() {
    let state = json!({"orchestration": "composition", "composition": "pipeline", "terminal": true});
    let state: StateSpec = serde_json::from_value(state).unwrap();
    assert_eq!(state.prompt_task, "");
    assert_eq!((state.composition.as_str(), state.terminal), ("pipeline", true));
}

/// The Go program writes the year 1 for a time it does not know, which used up every budget at once.
#[test]
fn a_context_without_a_beginning_begins_with_its_next_transition() {
    let mut spec = spec_of(ping_pong(), "a");
    spec.engine = json!({"budget": {"max_wall_time_sec": 5}}).as_object().cloned();
    let machine =
        convoke_machine::workflow::Compiled::new(&spec, &convoke_machine::workflow::Known::anything())
            .unwrap();
    let stored = json!({"current_state": "a", "history": [], "started_at": "0001-01-01T00:00:00Z",
        "updated_at": "0001-01-01T00:00:00Z"});
    let mut context = machine.restore(&stored.to_string()).unwrap();
    assert_eq!(context.started_at(), None);
    fire_at(&machine, &mut context, "Go", at(0)).unwrap();
    assert_eq!(context.started_at(), Some(at(0)));
    assert!(advance(&machine, &mut context, Command::at(at(5_000), Act::Event("Back"))).is_err());
}
