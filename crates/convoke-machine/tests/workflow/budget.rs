//! Cases 40 to 55: what a workflow may use as a whole.

use convoke_machine::workflow::{Act, Command, Compiled, Context, Known, Status, WorkflowError, advance};
use serde_json::{Map, Value, json};

use super::{at, compiled, count_calls, fire, fire_at, ping_pong, spec_of, trace, visits, with_budget};

/// What is used up, as (limit, used, allowed, state).
fn exhausted(error: WorkflowError) -> (&'static str, u64, u64, String) {
    match error {
        WorkflowError::BudgetExhausted(by) => (by.limit, by.current, by.max, by.current_state.to_string()),
        other => panic!("{other}"),
    }
}

#[test]
fn promptkit_040_visits_are_limited_with_the_entry() {
    let machine = with_budget(ping_pong(), "a", json!({"max_total_visits": 3}));
    let mut context = machine.start(at(0));
    trace(&machine, &mut context, &["Go", "Back"]);
    let error = fire(&machine, &mut context, "Go").unwrap_err();
    assert_eq!(exhausted(error), ("max_total_visits", 3, 3, "a".into()));
}

#[test]
fn promptkit_041_calls_of_tools_are_limited() {
    let machine = with_budget(ping_pong(), "a", json!({"max_tool_calls": 5}));
    let mut context = machine.start(at(0));
    count_calls(&machine, &mut context, 5);
    let error = fire(&machine, &mut context, "Go").unwrap_err();
    assert_eq!(exhausted(error).0, "max_tool_calls");
}

#[test]
fn promptkit_042_time_is_limited() {
    let machine = with_budget(ping_pong(), "a", json!({"max_wall_time_sec": 10}));
    let error = fire_at(&machine, &mut machine.start(at(0)), "Go", at(11_000)).unwrap_err();
    assert_eq!(exhausted(error), ("max_wall_time_sec", 11, 10, "a".into()));
}

#[test]
fn promptkit_043_whole_seconds_count() {
    let machine = with_budget(ping_pong(), "a", json!({"max_wall_time_sec": 10}));
    assert!(fire_at(&machine, &mut machine.start(at(0)), "Go", at(10_000)).is_err());
    assert!(fire_at(&machine, &mut machine.start(at(0)), "Go", at(9_999)).is_ok());
}

#[test]
fn promptkit_044_without_a_budget_nothing_is_limited() {
    let mut empty_engine = spec_of(ping_pong(), "a");
    empty_engine.engine = Some(Map::new());
    let empty_engine = Compiled::new(&empty_engine, &Known::anything()).unwrap();
    for machine in [compiled(ping_pong(), "a"), empty_engine] {
        let mut context = machine.start(at(0));
        count_calls(&machine, &mut context, 9_999);
        assert!(fire(&machine, &mut context, "Go").is_ok());
    }
}

#[test]
fn promptkit_045_the_budget_comes_before_visits_of_a_state() {
    let states = json!({"a": {"on_event": {"Loop": "a"}, "max_visits": 100}});
    let machine = with_budget(states, "a", json!({"max_total_visits": 2}));
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "Loop").unwrap();
    assert!(matches!(fire(&machine, &mut context, "Loop"), Err(WorkflowError::BudgetExhausted(_))));
}

#[test]
fn promptkit_046_the_budget_comes_before_everything_else() {
    let machine = with_budget(ping_pong(), "a", json!({"max_total_visits": 1}));
    let unknown = fire(&machine, &mut machine.start(at(0)), "Nope");
    assert!(matches!(unknown, Err(WorkflowError::BudgetExhausted(_))));
    let machine = with_budget(json!({"a": {}}), "a", json!({"max_total_visits": 1}));
    let terminal = fire(&machine, &mut machine.start(at(0)), "Go");
    assert!(matches!(terminal, Err(WorkflowError::BudgetExhausted(_))));
}

#[test]
fn promptkit_047_visits_are_reported_before_calls_and_calls_before_time() {
    let all = json!({"max_total_visits": 1, "max_tool_calls": 1, "max_wall_time_sec": 1});
    let limit_of = |budget: Value| {
        let machine = with_budget(ping_pong(), "a", budget);
        let mut context = machine.start(at(0));
        count_calls(&machine, &mut context, 1);
        exhausted(fire_at(&machine, &mut context, "Go", at(5_000)).unwrap_err()).0
    };
    assert_eq!(limit_of(all), "max_total_visits");
    assert_eq!(limit_of(json!({"max_tool_calls": 1, "max_wall_time_sec": 1})), "max_tool_calls");
    assert_eq!(limit_of(json!({"max_wall_time_sec": 1})), "max_wall_time_sec");
}

#[test]
fn promptkit_048_the_error_says_what_is_used_up() {
    let machine = with_budget(ping_pong(), "a", json!({"max_tool_calls": 10}));
    let mut context = machine.start(at(0));
    count_calls(&machine, &mut context, 10);
    let error = fire(&machine, &mut context, "Go").unwrap_err();
    assert_eq!(error.to_string(), "workflow budget exhausted: max_tool_calls 10 reached limit 10");
}

#[test]
fn promptkit_049_an_event_that_fails_uses_nothing() {
    let machine = with_budget(ping_pong(), "a", json!({"max_total_visits": 2}));
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "Go").unwrap();
    let first = fire(&machine, &mut context, "Back").unwrap_err();
    let second = fire(&machine, &mut context, "Back").unwrap_err();
    assert_eq!(first, second);
    assert_eq!(visits(&context), json!({"a": 1, "b": 1}));
}

/// What is said of a budget, as (code, place).
fn complaints(budget: Value) -> Vec<(&'static str, String)> {
    let mut spec = spec_of(json!({"a": {"terminal": true}}), "a");
    spec.engine = Some(Map::from_iter([("budget".to_owned(), budget)]));
    let error = Compiled::new(&spec, &Known::anything()).unwrap_err();
    error.findings.into_iter().map(|finding| (finding.code, finding.path)).collect()
}

#[test]
fn promptkit_050_a_budget_that_is_no_whole_number_is_an_error() {
    let place = "/workflow/engine/budget/max_tool_calls".to_owned();
    assert_eq!(complaints(json!({"max_tool_calls": "5"})), [("invalid-budget", place.clone())]);
    assert_eq!(complaints(json!({"max_tool_calls": 1.5})), [("invalid-budget", place)]);
    assert_eq!(complaints(json!(5)), [("invalid-budget", "/workflow/engine/budget".to_owned())]);
}

#[test]
fn promptkit_051_there_are_three_budgets_and_no_others() {
    assert_eq!(
        complaints(json!({"max_steps": 5})),
        [("unknown-budget", "/workflow/engine/budget/max_steps".to_owned())]
    );
}

#[test]
fn promptkit_052_calls_of_tools_add_up() {
    let machine = compiled(ping_pong(), "a");
    let mut context = machine.start(at(0));
    count_calls(&machine, &mut context, 3);
    count_calls(&machine, &mut context, 2);
    assert_eq!(context.total_tool_calls(), 5);
}

#[test]
fn promptkit_053_every_transition_is_one_visit_more_also_to_itself() {
    let machine = compiled(json!({"a": {"on_event": {"Loop": "a", "Go": "b"}}, "b": {}}), "a");
    let mut context = machine.start(at(0));
    assert_eq!(context.total_visits(), 1);
    fire(&machine, &mut context, "Loop").unwrap();
    assert_eq!(context.total_visits(), 2);
    fire(&machine, &mut context, "Go").unwrap();
    assert_eq!(context.total_visits(), 3);
}

#[test]
fn promptkit_054_time_counts_while_nobody_works_unless_that_is_taken_off() {
    let machine = with_budget(ping_pong(), "a", json!({"max_wall_time_sec": 10}));
    let stored = serde_json::to_string(&machine.start(at(0))).unwrap();
    let mut restored = machine.restore(&stored).unwrap();
    assert_eq!(restored.started_at(), Some(at(0)));
    assert!(fire_at(&machine, &mut restored.clone(), "Go", at(60_000)).is_err());
    let waited = Act::Waited { since: at(5_000) };
    advance(&machine, &mut restored, Command::at(at(59_000), waited)).unwrap();
    assert!(fire_at(&machine, &mut restored, "Go", at(60_000)).is_ok());
}

#[test]
fn promptkit_055_that_a_budget_is_used_up_can_be_kept_and_read_again() {
    let machine = with_budget(ping_pong(), "a", json!({"max_total_visits": 1}));
    let mut context = machine.start(at(0));
    let error = fire(&machine, &mut context, "Go").unwrap_err();
    let status = error.status().unwrap();
    advance(&machine, &mut context, Command::at(at(0), Act::Conclude(status))).unwrap();
    let restored: Context = machine.restore(&serde_json::to_string(&context).unwrap()).unwrap();
    assert_eq!(machine.status(&restored), Status::BudgetExhausted);
    assert_eq!(serde_json::to_value(&restored).unwrap()["status"], json!("budget_exhausted"));
    let failed = advance(&machine, &mut context, Command::at(at(0), Act::Conclude(Status::Failed)));
    assert_eq!(failed, Err(WorkflowError::Concluded { status: Status::BudgetExhausted }));
}
