//! Outlines of files.

use convoke_goals::agentfile::outline::{to_json, to_mermaid, to_text};
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
    assert_snapshot!(to_mermaid(&crate::common::valid(include_str!("files/triage.agent"))));
}

#[test]
fn labels_of_a_chart_mean_nothing_to_it() {
    let chart =
        to_mermaid(&crate::common::valid("NAME n\nGOAL g \"x\" -> k:\"a\\\"]; <b>\"|c\nRUN r USING g"));
    assert!(!chart.contains("<b>") && !chart.contains("\"]; "), "{chart}");
}

#[test]
fn all_goals_that_may_make_a_value_and_inputs_that_only_decide_have_arrows() {
    let chart = to_mermaid(&crate::common::valid(
        "NAME n\nINPUT kind:bug|wish\nINPUT rounds:int DEFAULT 3\nINPUT loud:bool DEFAULT true\n\
         GOAL warn \"Warn\" -> advice WHEN $kind IS bug\nGOAL praise \"Praise\" -> advice WHEN $kind IS wish\n\
         CONVERGE report \"Report $advice\" WITHIN $rounds\nGOAL shout \"Shout $report\"\n\
         RUN first USING warn, praise, report\nRUN second USING shout WHEN $loud IS true\n",
    ));
    for arrow in [
        "step0goal0 -.->|\"advice\"| step0goal2",
        "step0goal1 -.->|\"advice\"| step0goal2",
        "input0 -.->|\"kind\"| step0goal0",
        "input0 -.->|\"kind\"| step0goal1",
        "input1 -.->|\"rounds\"| step0goal2",
        "input2 -.->|\"loud\"| step1\n",
    ] {
        assert!(chart.contains(arrow), "{arrow} is not in\n{chart}");
    }
}
