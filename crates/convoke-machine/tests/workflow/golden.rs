//! The ways through packs that the specification gives, step by step. The packs are ours, of the same shape.

use convoke_machine::workflow::WorkflowError;
use serde_json::{Value, json};

use super::{at, compiled, fire, ping_pong, single_hop, trace, visits, with_budget};

fn codegen(max: i64) -> Value {
    json!({
        "plan": {"on_event": {"PlanReady": "implement"}},
        "implement": {"on_event": {"CodeReady": "test"}, "max_visits": max, "on_max_visits": "review"},
        "test": {"on_event": {"TestsFailed": "implement", "TestsPassed": "done"}},
        "review": {"terminal": true},
        "done": {"terminal": true},
    })
}

/// The way of a plan that fails until it is reviewed.
fn failing(rounds: usize) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut events = vec!["PlanReady"];
    let mut states = vec!["implement"];
    for _ in 1..rounds {
        events.extend(["CodeReady", "TestsFailed"]);
        states.extend(["test", "implement"]);
    }
    events.extend(["CodeReady", "TestsFailed"]);
    states.extend(["test", "review*"]);
    (events, states)
}

#[test]
fn promptkit_215_codegen_loop_ends_in_review() {
    let machine = compiled(codegen(5), "plan");
    let mut context = machine.start(at(0));
    let (events, states) = failing(5);
    assert_eq!(trace(&machine, &mut context, &events), states);
    assert!(matches!(fire(&machine, &mut context, "CodeReady"), Err(WorkflowError::TerminalState { .. })));
    assert_eq!(visits(&context), json!({"plan": 1, "implement": 5, "test": 5, "review": 1}));
    assert_eq!(context.transition_count(), 11);
}

#[test]
fn promptkit_215_codegen_loop_succeeds() {
    let machine = compiled(codegen(5), "plan");
    let mut context = machine.start(at(0));
    let events = ["PlanReady", "CodeReady", "TestsFailed", "CodeReady", "TestsPassed"];
    assert_eq!(trace(&machine, &mut context, &events), ["implement", "test", "implement", "test", "done"]);
    assert_eq!(visits(&context), json!({"plan": 1, "implement": 2, "test": 2, "done": 1}));
}

#[test]
fn promptkit_215_self_correcting_gives_up() {
    let work =
        json!({"on_event": {"Error": "work", "Fine": "done"}, "max_visits": 3, "on_max_visits": "give_up"});
    let machine =
        compiled(json!({"work": work, "give_up": {"terminal": true}, "done": {"terminal": true}}), "work");
    let mut context = machine.start(at(0));
    assert_eq!(trace(&machine, &mut context, &["Error"; 3]), ["work", "work", "give_up*"]);
    assert!(matches!(fire(&machine, &mut context, "Error"), Err(WorkflowError::TerminalState { .. })));
    assert_eq!(visits(&context), json!({"work": 3, "give_up": 1}));
}

#[test]
fn promptkit_215_agent_loops_summarize() {
    let machine = compiled(
        json!({
            "research": {"on_event": {"More": "research", "Enough": "summarize"}, "max_visits": 3,
                "on_max_visits": "summarize"},
            "summarize": {"on_event": {"Complete": "done"}},
            "done": {"terminal": true},
        }),
        "research",
    );
    let mut context = machine.start(at(0));
    assert_eq!(trace(&machine, &mut context, &["More"; 3]), ["research", "research", "summarize*"]);
    assert!(matches!(fire(&machine, &mut context, "More"), Err(WorkflowError::InvalidEvent { .. })));
    assert_eq!(trace(&machine, &mut context, &["Complete"]), ["done"]);
    assert_eq!(visits(&context), json!({"research": 3, "summarize": 1, "done": 1}));
    assert_eq!(context.transition_count(), 4);
}

#[test]
fn promptkit_215_codegen_agent_ends_in_review() {
    let mut states = codegen(10);
    states["review"] = json!({"on_event": {"ChangesNeeded": "implement", "Approved": "done"}});
    let machine = compiled(states, "plan");
    let mut context = machine.start(at(0));
    let (events, states) = failing(10);
    assert_eq!(trace(&machine, &mut context, &events), states);
    assert_eq!(visits(&context), json!({"plan": 1, "implement": 10, "test": 10, "review": 1}));
    assert_eq!(context.transition_count(), 21);
    assert_eq!(trace(&machine, &mut context, &["ChangesNeeded"]), ["review*"], "the trap");
}

#[test]
fn promptkit_215_data_explorer_reports() {
    let machine = compiled(
        json!({
            "hypothesize": {"on_event": {"HypothesisFormed": "query"}, "max_visits": 8, "on_max_visits": "report"},
            "query": {"on_event": {"QueryComplete": "analyze"}},
            "analyze": {"on_event": {"NeedsMoreData": "hypothesize", "Conclusive": "report"}},
            "report": {"terminal": true},
        }),
        "hypothesize",
    );
    let mut context = machine.start(at(0));
    let round = ["HypothesisFormed", "QueryComplete", "NeedsMoreData"];
    let way = trace(&machine, &mut context, &round.repeat(8));
    let mut expected = ["query", "analyze", "hypothesize"].repeat(8);
    expected[23] = "report*";
    assert_eq!(way, expected);
    assert_eq!(visits(&context), json!({"hypothesize": 8, "query": 8, "analyze": 8, "report": 1}));
}

#[test]
fn promptkit_215_ops_remediation_comes_back_to_its_proposal() {
    let machine = compiled(
        json!({
            "diagnose": {"on_event": {"NeedMoreData": "diagnose", "Diagnosed": "propose"}, "max_visits": 5,
                "on_max_visits": "propose"},
            "propose": {"on_event": {"FixProposed": "await_approval"}},
            "await_approval": {"on_event": {"Approved": "done", "Rejected": "diagnose"}, "orchestration": "external"},
            "done": {"terminal": true},
        }),
        "diagnose",
    );
    let mut context = machine.start(at(0));
    let events = ["NeedMoreData"; 5].into_iter().chain(["FixProposed", "Rejected"]).collect::<Vec<_>>();
    let way = trace(&machine, &mut context, &events);
    assert_eq!(
        way,
        ["diagnose", "diagnose", "diagnose", "diagnose", "propose*", "await_approval", "propose*"]
    );
    assert_eq!(visits(&context), json!({"diagnose": 5, "propose": 2, "await_approval": 1}));
}

#[test]
fn promptkit_215_ping_pong_ends_with_its_budget() {
    let machine = with_budget(ping_pong(), "a", json!({"max_total_visits": 3}));
    let mut context = machine.start(at(0));
    assert_eq!(trace(&machine, &mut context, &["Go", "Back"]), ["b", "a"]);
    for event in ["Go", "Whatever"] {
        assert!(matches!(fire(&machine, &mut context, event), Err(WorkflowError::BudgetExhausted(_))));
    }
    assert_eq!(visits(&context), json!({"a": 2, "b": 1}));
}

#[test]
fn promptkit_215_a_chain_is_followed_or_hopped() {
    let states = json!({
        "a": {"on_event": {"L": "a"}, "max_visits": 1, "on_max_visits": "b"},
        "b": {"on_event": {"A": "a"}, "max_visits": 1, "on_max_visits": "c"},
        "c": {"terminal": true},
    });
    let followed = compiled(states.clone(), "a");
    assert_eq!(trace(&followed, &mut followed.start(at(0)), &["L", "A"]), ["b*", "c*"]);
    let hopped = single_hop(states, "a");
    let mut context = hopped.start(at(0));
    assert_eq!(trace(&hopped, &mut context, &["L", "A", "A"]), ["b*", "b*", "b*"]);
    assert_eq!(visits(&context), json!({"a": 1, "b": 3}));
}

#[test]
fn promptkit_215_a_state_that_leads_to_itself_is_never_redirected_with_single_hops() {
    let states = json!({"r": {"on_event": {"L": "r"}, "max_visits": 1, "on_max_visits": "r"}});
    let machine = single_hop(states, "r");
    let mut context = machine.start(at(0));
    assert_eq!(trace(&machine, &mut context, &["L"; 3]), ["r", "r", "r"]);
    assert_eq!(visits(&context), json!({"r": 4}));
}
