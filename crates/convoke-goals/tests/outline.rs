//! Files at a glance.

mod common;

use convoke_goals::agentfile::outline::{to_json, to_mermaid, to_text};
use insta::assert_snapshot;

#[test]
fn as_text() {
    assert_snapshot!(to_text(&common::valid(include_str!("files/triage.agent"))));
}

#[test]
fn as_json() {
    let file = common::valid(include_str!("files/plan.agent"));
    assert_snapshot!(serde_json::to_string_pretty(&to_json(&file)).unwrap());
}

#[test]
fn as_a_chart() {
    assert_snapshot!(to_mermaid(&common::valid(include_str!("files/triage.agent"))));
}

#[test]
fn labels_of_a_chart_mean_nothing_to_it() {
    let chart = to_mermaid(&common::valid("NAME n\nGOAL g \"x\" -> k:\"a\\\"]; <b>\"|c\nRUN r USING g"));
    assert!(!chart.contains("<b>") && !chart.contains("\"]; "), "{chart}");
}
