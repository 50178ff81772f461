//! Cases 1 to 22: states, events, ends.

use std::sync::{Arc, Mutex};

use convoke_machine::workflow::{Act, Command, Compiled, Context, Known, RestoreError, WorkflowError, step};
use serde_json::json;

use super::{as_json, at, compiled, fire, fire_at, linear, spec_of, trace, visits};

#[test]
fn promptkit_001_a_new_machine_is_at_its_entry_which_counts_as_a_visit() {
    let linear = linear();
    let context = linear.start(at(0));
    assert_eq!(context.current_state(), "a");
    assert_eq!(linear.prompt_task(&context), "a");
    assert!(!linear.is_terminal(&context));
    assert_eq!(visits(&context), json!({"a": 1}));
    assert_eq!(as_json(&context)["history"], json!([]));
}

#[test]
fn promptkit_002_the_last_state_is_terminal_and_takes_no_event() {
    let linear = linear();
    let mut context = linear.start(at(0));
    assert_eq!(trace(&linear, &mut context, &["Next", "Next"]), ["b", "c"]);
    assert!(linear.is_terminal(&context));
    let error = fire(&linear, &mut context, "Next").unwrap_err();
    assert_eq!(error, WorkflowError::TerminalState { state: "c".into() });
    assert_eq!(context.current_state(), "c");
}

#[test]
fn promptkit_003_each_event_reaches_its_own_target() {
    let branching = branching();
    for (event, target) in [("ToBilling", "billing"), ("ToTechnical", "technical")] {
        let mut context = branching.start(at(0));
        assert_eq!(trace(&branching, &mut context, &[event]), [target]);
        assert!(branching.is_terminal(&context));
    }
}

#[test]
fn promptkit_004_a_loop_is_left_when_it_is_approved() {
    let looping = looping();
    let mut context = looping.start(at(0));
    let way = trace(&looping, &mut context, &["Review", "Revise", "Review", "Approve"]);
    assert_eq!(way, ["review", "draft", "review", "done"]);
    assert_eq!(context.transition_count(), 4);
}

#[test]
fn promptkit_005_an_unknown_event_changes_nothing() {
    let linear = linear();
    let mut context = linear.start(at(0));
    let before = context.clone();
    let error = fire_at(&linear, &mut context, "Nope", at(5)).unwrap_err();
    assert!(matches!(error, WorkflowError::InvalidEvent { .. }));
    assert_eq!(context, before);
}

#[test]
fn promptkit_006_an_unknown_event_is_answered_with_those_there_are_sorted() {
    let branching = branching();
    let error = fire(&branching, &mut branching.start(at(0)), "Nope").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid event `Nope` in state `start`: the events there are `ToBilling`, `ToTechnical`"
    );
}

#[test]
fn promptkit_007_events_are_matched_with_their_case() {
    let linear = linear();
    let error = fire(&linear, &mut linear.start(at(0)), "next").unwrap_err();
    assert!(matches!(error, WorkflowError::InvalidEvent { .. }));
}

#[test]
fn promptkit_008_available_events_are_sorted_and_none_in_a_state_without() {
    let branching = branching();
    let mut context = branching.start(at(0));
    assert_eq!(branching.available_events(&context).collect::<Vec<_>>(), ["ToBilling", "ToTechnical"]);
    fire(&branching, &mut context, "ToBilling").unwrap();
    assert_eq!(branching.available_events(&context).count(), 0);
}

#[test]
fn promptkit_009_a_normal_transition_says_nothing_of_redirects() {
    let linear = linear();
    let transitioned = fire(&linear, &mut linear.start(at(0)), "Next").unwrap();
    assert!(transitioned.redirect.is_none());
    let json = serde_json::to_value(&transitioned).unwrap();
    assert_eq!(json, json!({"from": "a", "to": "b", "event": "Next"}));
}

#[test]
fn promptkit_010_a_snapshot_does_not_change_with_the_machine_nor_the_machine_with_it() {
    let linear = linear();
    let context = linear.start(at(0));
    let (mut next, _) = step(&linear, &context, Command::at(at(1), Act::Event("Next"))).unwrap();
    next.set_metadata("key", json!(1));
    assert_eq!(context, linear.start(at(0)));
}

#[test]
fn promptkit_011_a_saved_context_is_gone_on_with() {
    let linear = linear();
    let mut context = linear.start(at(0));
    fire(&linear, &mut context, "Next").unwrap();
    let mut restored = linear.restore(&serde_json::to_string(&context).unwrap()).unwrap();
    assert_eq!((restored.current_state(), linear.prompt_task(&restored)), ("b", "b"));
    fire(&linear, &mut restored, "Next").unwrap();
    assert_eq!(restored.history().len(), 2);
}

#[test]
fn promptkit_012_transitions_have_the_times_they_happened_at() {
    let linear = linear();
    let mut context = linear.start(at(0));
    fire_at(&linear, &mut context, "Next", at(1_000)).unwrap();
    fire_at(&linear, &mut context, "Next", at(2_500)).unwrap();
    let times: Vec<_> = context.history().map(|transition| transition.timestamp).collect();
    assert_eq!(times, [at(1_000), at(2_500)]);
    assert_eq!(context.updated_at(), at(2_500));
    assert_eq!(context.started_at(), Some(at(0)));
}

#[test]
fn promptkit_013_a_state_that_says_so_is_terminal() {
    let machine = compiled(json!({"a": {"terminal": true}}), "a");
    assert!(machine.is_terminal(&machine.start(at(0))));
}

#[test]
fn promptkit_014_a_state_without_events_is_terminal() {
    let machine = compiled(json!({"a": {}}), "a");
    assert!(machine.is_terminal(&machine.start(at(0))));
}

fn terminal_with_event() -> Compiled {
    compiled(json!({"a": {"terminal": true, "on_event": {"Next": "b"}}, "b": {}}), "a")
}

#[test]
fn promptkit_015_a_terminal_state_takes_no_event_even_if_it_has_some() {
    let machine = terminal_with_event();
    let mut context = machine.start(at(0));
    assert!(machine.is_terminal(&context));
    let error = fire(&machine, &mut context, "Next").unwrap_err();
    assert_eq!(error, WorkflowError::TerminalState { state: "a".into() });
}

#[test]
fn promptkit_016_a_terminal_state_offers_no_events() {
    let machine = terminal_with_event();
    assert_eq!(machine.available_events(&machine.start(at(0))).count(), 0);
}

#[test]
fn promptkit_017_a_context_in_a_state_that_is_not_there_goes_nowhere() {
    let linear = linear();
    let mut elsewhere = as_json(&linear.start(at(0)));
    elsewhere["current_state"] = json!("gone");
    let mut context: Context = serde_json::from_value(elsewhere).unwrap();
    assert_eq!(linear.prompt_task(&context), "");
    assert!(linear.is_terminal(&context));
    assert_eq!(linear.available_events(&context).count(), 0);
    let error = fire(&linear, &mut context, "Next").unwrap_err();
    assert!(error.to_string().starts_with("invalid event") && error.to_string().contains("`gone`"));
}

#[test]
fn promptkit_018_a_workflow_with_an_unknown_target_cannot_be_run() {
    let spec = spec_of(json!({"a": {"on_event": {"Go": "ghost"}}}), "a");
    let error = Compiled::new(&spec, &Known::anything()).unwrap_err();
    let target = error.findings.iter().find(|finding| finding.code == "unknown-target").unwrap();
    assert_eq!(target.path, "/workflow/states/a/on_event/Go");
    assert!(target.message.contains("`ghost`"));
}

#[test]
fn promptkit_019_many_threads_leave_it_in_a_declared_state_with_every_transition_counted() {
    let looping = Arc::new(looping());
    let context = Arc::new(Mutex::new(looping.start(at(0))));
    let thread = |number: usize| {
        let (looping, context) = (Arc::clone(&looping), Arc::clone(&context));
        std::thread::spawn(move || {
            let events = ["Review", "Revise", "Nope"];
            let taken =
                |step| fire(&looping, &mut context.lock().unwrap(), events[(number + step) % 3]).is_ok();
            (0..150).filter(|step| taken(*step)).count() as u64
        })
    };
    let threads: Vec<_> = (0..20).map(thread).collect();
    let taken: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let context = context.lock().unwrap();
    assert!(looping.current(&context).is_some());
    assert_eq!(context.total_visits(), taken + 1);
}

#[test]
fn promptkit_020_snapshots_taken_meanwhile_are_consistent() {
    let looping = Arc::new(looping());
    let context = Arc::new(Mutex::new(looping.start(at(0))));
    let driver = {
        let (looping, context) = (Arc::clone(&looping), Arc::clone(&context));
        std::thread::spawn(move || {
            for event in ["Review", "Revise"].into_iter().cycle().take(400) {
                fire(&looping, &mut context.lock().unwrap(), event).unwrap();
            }
        })
    };
    for _ in 0..400 {
        let snapshot = context.lock().unwrap().clone();
        let last = snapshot.last_transition().map_or("draft", |transition| &*transition.to);
        assert_eq!(snapshot.current_state(), last);
        assert_eq!(snapshot.total_visits(), snapshot.transition_count() + 1);
    }
    driver.join().unwrap();
}

#[test]
fn promptkit_021_visits_are_counted_from_now_on_if_nobody_counted_them() {
    let linear = linear();
    let mut stored = as_json(&linear.start(at(0)));
    stored.as_object_mut().unwrap().remove("visit_counts");
    let mut context = linear.restore(&stored.to_string()).unwrap();
    fire(&linear, &mut context, "Next").unwrap();
    assert_eq!(visits(&context), json!({"b": 1}));
    assert_eq!(context.total_visits(), 1);
}

#[test]
fn promptkit_022_a_context_of_another_workflow_is_not_restored() {
    let linear = linear();
    let mut stored = as_json(&linear.start(at(0)));
    stored["current_state"] = json!("gone");
    let error = linear.restore(&stored.to_string()).unwrap_err();
    let known = vec!["a".into(), "b".into(), "c".into()];
    assert_eq!(error, RestoreError::UnknownState { state: "gone".into(), known });
}

fn branching() -> Compiled {
    let start = json!({"on_event": {"ToTechnical": "technical", "ToBilling": "billing"}});
    compiled(json!({"start": start, "billing": {}, "technical": {}}), "start")
}

fn looping() -> Compiled {
    compiled(
        json!({
            "draft": {"on_event": {"Review": "review"}},
            "review": {"on_event": {"Revise": "draft", "Approve": "done"}},
            "done": {},
        }),
        "draft",
    )
}
