//! Outlines of files.

use convoke_goals::agentfile::outline::{to_diagram, to_json, to_text};
use insta::assert_snapshot;

#[test]
fn as_text() {
    assert_snapshot!(to_text(&crate::common::valid(include_str!("files/triage.agent"))));
}

#[test]
fn as_json() {
    let file = crate::common::valid(include_str!("files/plan.agent"));
    assert_snapshot!(serde_json::to_string_pretty(&to_json(&file)).unwrap());
}

#[test]
fn as_a_chart() {
    assert_snapshot!(to_diagram(&crate::common::valid(include_str!("files/triage.agent"))).to_mermaid());
}

#[test]
fn labels_of_a_chart_mean_nothing_to_it() {
    let file = crate::common::valid("NAME n\nGOAL g \"x\" -> k:\"a\\\"]; <b>\"|c\nRUN r USING g");
    let chart = to_diagram(&file).to_mermaid();
    assert!(!chart.contains("<b>") && !chart.contains("\"]; "), "{chart}");
}

#[test]
fn all_goals_that_may_make_a_value_and_inputs_that_only_decide_have_arrows() {
    let file = crate::common::valid(
        "NAME n\nINPUT kind:bug|wish\nINPUT rounds:int DEFAULT 3\nINPUT loud:bool DEFAULT true\n\
         GOAL warn \"Warn\" -> advice WHEN $kind IS bug\nGOAL praise \"Praise\" -> advice WHEN $kind IS wish\n\
         CONVERGE report \"Report $advice\" WITHIN $rounds\nGOAL shout \"Shout $report\"\n\
         RUN first USING warn, praise, report\nRUN second USING shout WHEN $loud IS true\n",
    );
    let chart = to_diagram(&file).to_mermaid();
    for arrow in [
        "n4 -.->|\"advice\"| n6",
        "n5 -->|\"advice\"| n6",
        "n0 -.-> n4",
        "n0 -.-> n5",
        "n1 -.-> n6",
        "n2 -.-> n7\n",
    ] {
        assert!(chart.contains(arrow), "{arrow} is not in\n{chart}");
    }
}
