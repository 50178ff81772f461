//! Files that say everything in the right form and still cannot be run: each mistake is an error with its line.

use crate::common::{errors, errors_with, valid};
use convoke_goals::agentfile::load::MemoryLoader;
use convoke_goals::{Equipment, Workflow};

#[test]
fn agentcore_218_names_that_nobody_has_or_two_have() {
    let goal = "GOAL g \"x\"\nRUN r USING g";
    for (statements, expected) in [
        ("GOAL g \"x\" USING nobody\nRUN r USING g".to_owned(), vec!["undefined-agent 2"]),
        ("GOAL g \"x\"\nRUN r USING g, nothing".to_owned(), vec!["undefined-goal 3"]),
        (
            "AGENT a \"x\"\nAGENT a \"y\"\nGOAL g \"x\" USING a\nRUN r USING g".to_owned(),
            vec!["duplicate-name 3"],
        ),
        (format!("GOAL g \"y\"\n{goal}"), vec!["duplicate-name 3"]),
        (format!("{goal}\nRUN r USING g"), vec!["duplicate-name 4"]),
    ] {
        assert_eq!(errors(&format!("NAME n\n{statements}")), expected, "{statements}");
    }
}

#[test]
fn agentcore_218_modes_and_scopes() {
    let with = |statement: &str| errors(&format!("NAME n\n{statement}\nGOAL g \"x\"\nRUN r USING g"));
    assert_eq!(with("SECURITY research"), ["missing-value 2"]);
    assert_eq!(with("SECURITY research \" \""), ["bad-value 2"]);
    assert_eq!(with("SECURITY careless"), ["bad-value 2"]);
}

#[test]
fn agentcore_218_what_a_person_watches_is_not_left_to_nobody() {
    let file = |agent: &str, goal: &str, run: &str| {
        errors(&format!(
            "NAME n\nSUPERVISED HUMAN\nAGENT a \"x\" {agent}\nGOAL g \"x\" USING a {goal}\nRUN r USING g {run}"
        ))
    };
    let off = "UNSUPERVISED";
    assert_eq!(file(off, "", ""), ["contradiction 3"]);
    assert_eq!(file("", off, ""), ["contradiction 4"]);
    assert_eq!(file("", "", off), ["contradiction 5"]);
    assert_eq!(file("", "", ""), [""; 0]);
}

#[test]
fn agentcore_218_limits() {
    let within = |clause: &str| errors(&format!("NAME n\nINPUT m\nCONVERGE c \"x\" {clause}\nRUN r USING c"));
    assert_eq!(within("WITHIN 3 WITHIN $m"), ["repeated-clause 3"]);
    assert_eq!(within(""), ["missing-clause 3"]);
    assert_eq!(within("WITHIN 0"), ["bad-value 3"]);
    assert_eq!(within("WITHIN $m"), [""; 0]);
}

#[test]
fn agentcore_218_what_is_not_there() {
    let from = |kind: &str| format!("NAME n\nAGENT a FROM a{kind}\nGOAL g \"x\" USING a\nRUN r USING g");
    assert_eq!(errors(&from(".md")), ["not-found 2"]);
    let empty = MemoryLoader::default().with("a.md", "\n");
    assert_eq!(errors_with(&from(".md"), &empty), ["missing-text 2"]);

    let refused = |text: &str| {
        let problems = Workflow::from(&valid(text)).prepare(&Equipment::default()).unwrap_err();
        problems.to_string()
    };
    let profile = refused("NAME n\nAGENT a \"x\" REQUIRES \"deep\"\nGOAL g \"x\" USING a\nRUN r USING g");
    assert!(profile.starts_with("agent `a` in `n/r/g`: there is no profile `deep`"), "{profile}");
}
