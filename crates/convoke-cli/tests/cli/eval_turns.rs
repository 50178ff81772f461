//! `convoke eval`: what belongs to which turn, and what is said of assertions that do not hold.

use crate::place::{Place, stderr, stdout};

const WAITS: &str = r#"
id: t
name: T
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts: {p: {id: p, name: P, version: 1.0.0, system_template: P}}
workflow:
  version: 2
  entry: ask
  states:
    ask: {prompt_task: p, on_event: {Ready: wait}}
    wait: {prompt_task: p, orchestration: external, on_event: {Approved: after}}
    after: {prompt_task: p, on_event: {Done: end}}
    end: {prompt_task: p, terminal: true}
"#;

fn eval(place: &Place, file: &str, spec: &str) -> (bool, String) {
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    place.write("a.scenario.yaml", format!("kind: Scenario\nmetadata: {{name: a}}\nspec:\n{indented}"));
    let done = place.convoke_with(&["eval", file, "."], &[("COLUMNS", "200")]);
    (done.status.success(), format!("{}{}", stdout(&done), stderr(&done)))
}

#[test]
fn a_turn_that_is_an_event_begins_with_it() {
    let place = Place::empty();
    place.write("waits.pack.yaml", WAITS);
    let turns = |first: &str| {
        format!(
            "turns:
  - {{role: user, content: go, expect_state: {first}}}
  - {{event: Approved, expect_state: after, assertions: [{{type: contains, params: {{patterns: [approved]}}}}]}}
  - {{role: user, content: thanks, assertions: [{{type: contains, params: {{patterns: [welcome]}}}}]}}
model:
  replies:
    - {{tool_calls: [{{name: workflow__transition, arguments: {{event: Ready, context: c}}}}]}}
    - It is approved.
    - You are welcome."
        )
    };
    let (holds, seen) = eval(&place, "waits.pack.yaml", &turns("wait"));
    assert!(holds, "{seen}");
    let (holds, seen) = eval(&place, "waits.pack.yaml", &turns("after"));
    assert!(!holds && seen.contains("turn 1: expect_state: the state is wait, not after"), "{seen}");
}

/// Two states that only their model moves on from, with a skill each.
const SKILLED: &str = r#"
id: t
name: T
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts: {p: {id: p, name: P, version: 1.0.0, system_template: P}}
skills:
  - {name: refunds, description: Gives back., instructions: Ask first.}
  - {name: parcels, description: Finds parcels., instructions: Look again.}
workflow:
  version: 2
  entry: intake
  states:
    intake: {prompt_task: p, skills: none, on_event: {Bill: billing, Resolve: closed}}
    billing: {prompt_task: p, orchestration: internal, on_event: {Resolve: closed}}
    closed: {prompt_task: p, skills: none, terminal: true}
"#;

#[test]
fn a_scenario_of_promptkit_sends_events_anywhere_and_looks_at_skills() {
    let place = Place::empty();
    place.write("skilled.pack.yaml", SKILLED);
    place.write(
        "replies.yaml",
        "scenarios:
  a:
    turns:
      1: {tool_calls: [{name: workflow__transition, arguments: {event: Bill, context: c}}]}
      2: I look at bills.
      3: {tool_calls: [{name: skill__activate, arguments: {name: refunds}}]}
      4: It is refunded.
      5: All is well.
      6: Nobody asks for this.
",
    );
    let spec = |activated: &str| {
        format!(
            "turns:
  - {{role: user, content: I was charged twice.}}
  - {{role: user, content: Give it back., assertions: [{{type: skill_activated, params: {{skill_names: [{activated}]}}}}]}}
  - {{type: event, event: Resolve, expect_state: closed}}
  - {{role: user, content: Thanks!}}
conversation_assertions:
  - {{type: skill_not_activated, params: {{skill_names: [parcels]}}}}
  - {{type: workflow_complete}}"
        )
    };
    let eval = |activated: &str| {
        let indented: String = spec(activated).lines().map(|line| format!("  {line}\n")).collect();
        place.write("a.scenario.yaml", format!("kind: Scenario\nmetadata: {{name: a}}\nspec:\n{indented}"));
        let arguments = ["eval", "skilled.pack.yaml", "a.scenario.yaml", "--replies", "replies.yaml"];
        let done = place.convoke_with(&arguments, &[("COLUMNS", "200")]);
        (done.status.success(), format!("{}{}", stdout(&done), stderr(&done)))
    };
    let (holds, seen) = eval("refunds");
    assert!(holds, "{seen}");
    let left = "of the replies, 1 was not given, the first of them `Nobody asks for this.`";
    assert!(seen.contains(left), "{seen}");
    let (holds, seen) = eval("parcels");
    assert!(!holds && seen.contains("parcels was not taken up; taken up: refunds"), "{seen}");
    let (holds, seen) = eval("parcel");
    assert!(!holds && seen.contains("there is no skill `parcel`"), "{seen}");
}

#[test]
fn every_assertion_that_does_not_hold_is_in_the_table_with_what_was_wanted() {
    let place = Place::empty();
    place.write("waits.pack.yaml", WAITS);
    let spec = "turns:
  - role: user
    content: go
    assertions:
      - {type: equals, params: {value: one}}
      - {type: equals, params: {value: two}}
      - {type: path_is, params: {states: [ask, wait]}}
model: {replies: [hello]}";
    let (holds, seen) = eval(&place, "waits.pack.yaml", spec);
    assert!(!holds, "{seen}");
    for line in [
        r#"✗ turn 1: equals: found `"hello"`, wanted `"one"`"#,
        r#"✗ turn 1: equals: found `"hello"`, wanted `"two"`"#,
        "✗ turn 1: path_is: the path is ask, wanted ask, wait",
    ] {
        assert!(seen.contains(line), "{line} is not in\n{seen}");
    }
}

#[test]
fn an_agent_is_called_by_its_own_name_in_assertions() {
    let place = Place::empty();
    let pack = r#"
id: t
name: T
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
prompts:
  front: {id: front, name: F, version: 1.0.0, system_template: F, tools: [rules]}
  rules: {id: rules, name: R, version: 1.0.0, system_template: R}
agents:
  entry: front
  members: {front: {description: talks}, rules: {description: knows the rules}}
"#;
    place.write("agents.pack.yaml", pack);
    let spec = |kind: &str| {
        format!(
            "turns:
  - role: user
    content: go
    assertions: [{{type: {kind}, params: {{agents: [rules]}}}}]
model: {{replies: [{{tool_calls: [{{name: a2a__rules, arguments: {{query: q}}}}]}}, It is forbidden., No.]}}"
        )
    };
    let (holds, seen) = eval(&place, "agents.pack.yaml", &spec("agent_invoked"));
    assert!(holds, "{seen}");
    let (holds, seen) = eval(&place, "agents.pack.yaml", &spec("agent_not_invoked"));
    assert!(!holds && seen.contains("a2a__rules was called"), "{seen}");
}
