//! Hand-made journals in diagrams of their steps.

use bytes::Bytes;
use convoke_core::RunStatus;
use convoke_core::store::RunRecord;
use convoke_diagram::{Arrow, Diagram, Item};

use crate::tests::{Journal, record};

/// A run of a program whose steps are known.
fn run(status: RunStatus) -> RunRecord {
    let outline = br#"{"name": "main", "kind": "chain", "children": [
        {"name": "search", "kind": "tool"},
        {"name": "pay/now", "kind": "tool"},
        {"name": "thank", "kind": "prompt"}]}"#;
    RunRecord { outline: Some(Bytes::from_static(outline)), ..record(status) }
}

fn journal() -> Journal {
    let mut journal = Journal::default();
    journal.begin_tool(("main/search", 0), "search").end_tool(("main/search", 0), "found", false);
    journal.begin_tool(("main/search#2", 0), "search").end_tool(("main/search#2", 0), "found", false);
    journal.begin_tool(("main/pay%2fnow", 0), "pay");
    journal
}

fn drawn(record: RunRecord) -> String {
    journal().history(record).diagram().unwrap().to_mermaid()
}

#[test]
fn steps_say_how_often_they_were_done_how_long_that_took_and_where_the_run_is() {
    let chart = drawn(run(RunStatus::Running));
    assert!(chart.contains("subgraph n0[\"main<br/>chain<br/>under way\"]"), "{chart}");
    assert!(chart.contains("n1[\"search<br/>tool<br/>✓ 2 times, 2.0 s\"]"), "{chart}");
    assert!(chart.contains("n2[\"pay/now<br/>tool<br/>under way\"]"), "{chart}");
    assert!(chart.contains("n3[\"thank<br/>prompt\"]") && chart.contains("class n3 untouched"), "{chart}");
    assert!(chart.contains("linkStyle 0 stroke:") && chart.contains("linkStyle 1 stroke-opacity"), "{chart}");
}

#[test]
fn what_failed_is_marked_where_it_failed() {
    let outcome = br#"{"error": "no money", "failed_at": ["main/pay%2fnow"]}"#;
    let failed = RunRecord { outcome: Some(Bytes::from_static(outcome)), ..run(RunStatus::Failed) };
    let chart = drawn(failed);
    assert!(chart.contains("pay/now<br/>tool<br/>✗ failed"), "{chart}");
    assert!(chart.contains("class n0,n2 failed") && chart.contains("class n1 done"), "{chart}");
    let cancelled = drawn(run(RunStatus::Cancelled));
    assert!(cancelled.contains("pay/now<br/>tool<br/>✗ cancelled"), "{cancelled}");
}

#[test]
fn a_run_of_which_nothing_is_known_is_not_drawn() {
    assert!(journal().history(record(RunStatus::Running)).diagram().is_none());
}

#[test]
fn what_leaves_no_trace_is_not_said_to_be_untouched_and_is_marked_where_it_failed() {
    let marked = |record: RunRecord| {
        let mut diagram = Diagram::new("main");
        let search = diagram.add(Item::new("search").at("main/search"));
        let sum = diagram.add(Item::new("sum").at("main/sum").without_trace());
        diagram.connect(Arrow::new(search, sum));
        journal().history(record).mark(&mut diagram);
        diagram.to_mermaid()
    };
    let chart = marked(record(RunStatus::Completed));
    assert!(chart.contains("class n0 done") && !chart.contains("untouched"), "{chart}");
    assert!(!chart.contains("stroke-opacity"), "{chart}");
    let outcome = br#"{"error": "no", "failed_at": ["main/sum#2"]}"#;
    let failed = RunRecord { outcome: Some(Bytes::from_static(outcome)), ..record(RunStatus::Failed) };
    let chart = marked(failed);
    assert!(chart.contains("class n1 failed") && chart.contains("class n0 done"), "{chart}");
}

#[test]
fn failures_that_a_step_coped_with_are_counted() {
    let mut journal = Journal::default();
    journal.begin_tool(("main/search", 0), "search").end_tool(("main/search", 0), "no", true);
    let chart = journal.history(run(RunStatus::Completed)).diagram().unwrap().to_mermaid();
    assert!(chart.contains("✓ 1.0 s, 1 failure"), "{chart}");
}
