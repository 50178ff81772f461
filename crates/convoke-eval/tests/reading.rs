//! Scenario files: what is taken from them, and what is said of those that are wrong.

use convoke_eval::scenario::{ModelSource, PersonAnswer, TurnInput};
use convoke_eval::{Replies, Vocabulary, read};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

/// A scenario with nearly everything in it.
const WHOLE: &str = "apiVersion: promptkit.altairalabs.ai/v1alpha1
kind: WorkflowScenario
metadata: {name: lost-parcel, labels: {area: post}, annotations: {why: it happened}}
spec:
  id: lost
  description: A parcel is lost.
  pack: ../post.pack.json
  task_type: intake
  variables: {customer: ada}
  steps:
    - {type: input, content: Where is it?, expect_state: intake}
    - type: event
      event: Found
      payload: {where: attic}
      assertions:
        - {type: workflow_complete, params: {}, message: it is over}
        - {type: tools_called, params: {tool_names: [look], min_calls: 2}, when: {any_tool_called: true}, pass_threshold: 0.5}
  tools: {look: [{when: {n: 1}, result: {found: true}}, {error: not there}], count: three}
  answers: [approve, {revise: shorter}]
  conversation_assertions:
    - {type: assertion, params: {eval_type: llm_judge, eval_params: {criteria: polite, rubric: 1 is very polite}, min_score: 0.5}}
  judge: {replies: [{json: {score: 1, reason: fine}}]}
  trials: 3
  pass_threshold: 0.5
";

/// A scenario with this as its `spec`.
fn spec(spec: &str) -> String {
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!("kind: Scenario\nmetadata: {{name: test}}\nspec:\n{indented}")
}

/// What is wrong with a text: where, what, and what to write instead.
fn wrong(text: &str) -> String {
    let (scenario, findings) = read(text);
    assert!(scenario.is_none(), "this is taken for a scenario: {text}");
    let line = |finding: &convoke_text::finding::Finding| {
        let place = finding.place.clone().unwrap_or_default();
        let at = text[..place.start.min(text.len())].matches('\n').count() + 1;
        let help = finding.help.as_ref().map(|help| format!(" -> {help}")).unwrap_or_default();
        format!("{at} {} {}: {}{help}\n", finding.code, finding.path, finding.message)
    };
    findings.iter().map(line).collect()
}

#[test]
fn a_scenario_in_promptkits_form_is_read() {
    let (scenario, findings) = read(WHOLE);
    assert!(findings.is_empty(), "{findings:#?}");
    let scenario = scenario.expect("a scenario");
    assert_eq!((scenario.name.as_str(), scenario.task_type.as_deref()), ("lost", Some("intake")));
    assert_eq!(scenario.labels["why"], "it happened");
    assert_eq!((scenario.trials, scenario.require), (Some(3), Some(0.5)));
    assert_eq!(scenario.turns[0].input, TurnInput::Words("Where is it?".into()));
    assert_eq!(scenario.turns[1].assertions[1].pass_threshold, Some(0.5));
    assert_eq!(scenario.answers[1], PersonAnswer::Revise("shorter".into()));
    let given = scenario.tool_answer("look", &json!({"n": 1, "more": 2})).expect("an answer");
    assert_eq!((given.content.as_str(), given.is_error), ("{\"found\":true}", false));
    assert!(scenario.tool_answer("look", &json!({"n": 2})).expect("an answer").is_error);
    assert_eq!(scenario.tool_answer("count", &json!({})).expect("an answer").content, "three");
    assert!(scenario.assertions[0].threshold.holds(0.5), "the wrapper's score");
}

#[test]
fn what_is_asserted_does_not_change_which_run_it_is() {
    let script = |text: &str| read(&spec(text)).0.expect("a scenario").script;
    let one = script("turns: [{content: Hello, expect_state: a}]\ndescription: one");
    let other = script("turns: [{content: Hello}]\ntrials: 4");
    assert_eq!(one, other);
    assert_ne!(one, script("turns: [{content: Good morning}]"));
}

#[test]
fn misspelt_fields_are_suggested_in_their_place() {
    let text = spec(
        "inputz: {a: 1}
turns:
  - {role: user, contnet: Hello}
  - {role: assistant, content: Hello}
  - {type: event, content: Hello}
  - {event: Go, content: Hello}
  - {content: Hello, payload: 1}
assertions:
  - {type: content_inclides, params: {patterns: [a]}}
  - {type: content_includes, params: {pattern: a}}
  - {type: content_includes, params: {patterns: []}}
  - {type: content_matches, params: {pattern: '('}}
  - {type: usage, params: {}}
  - {type: status, params: {is: complete}}
  - {type: state_is, of: result, params: {state: a}}
  - {type: content_includes, of: output.a, params: {patterns: [a]}}
  - {type: llm_judge, params: {criteria: polite, min_score: 7}}
  - {type: tool_calls_with_args, params: {tool_name: look}}
answers: [aprove, {revise: a, reject: b}]
trials: 0
streaming: true",
    );
    assert_snapshot!("misspelt", wrong(&text));
}

#[test]
fn misplaced_and_missing_things_are_said() {
    assert_snapshot!(
        "misplaced",
        [
            spec("turns: [{content: a, assertions: [{type: usage, params: {max_tokens: 1}}]}]"),
            spec("turns: [{content: a, assertions: [{type: contains, of: outputs.a, params: {patterns: [a]}}]}]"),
            spec("model: {replies: [a], name: b}\nassertions: [{type: llm_judge, params: {criteria: a}}]"),
            spec("model: {cassette: a.json}"),
            spec("model: {replies: [{tool_cals: []}]}"),
            spec("turns: a\nsteps: []"),
            "kind: Scenario\nmetadata: {}\nspec: {}".to_owned(),
            "kind: Arena\nmetadata: {name: a}\nspec: {}".to_owned(),
            "[]".to_owned(),
            "a: [".to_owned(),
            String::new(),
        ]
        .map(|text| wrong(&text))
        .join("---\n")
    );
}

#[test]
fn a_scenario_has_to_fit_the_file() {
    let (scenario, _) = read(&spec(
        "turns:
  - {event: Aproved, assertions: [{type: state_is, params: {state: clsed}}]}
tools: {look_upp: nothing}
assertions:
  - {type: contains, of: artifacts.note, params: {patterns: [a]}}
  - {type: contains, of: outputs.plan, params: {patterns: [a]}}
  - {type: workflow_tool_access, params: {rules: [{state: open, allowed: [look_up]}]}}",
    ));
    let scenario = scenario.expect("a scenario");
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
    let known = Vocabulary {
        turns: true,
        states: names(&["open", "closed"]),
        events: names(&["Approved"]),
        artifacts: names(&["notes"]),
        outputs: Some(Vec::new()),
        client_tools: names(&["look_up"]),
        ..Vocabulary::default()
    };
    let found: Vec<String> = scenario
        .misfits(&known)
        .iter()
        .map(|finding| format!("{}: {} {:?}", finding.path, finding.message, finding.help))
        .collect();
    assert_snapshot!("misfits", found.join("\n"));
    let known = Vocabulary { outputs: None, ..Vocabulary::default() };
    assert!(scenario.misfits(&known)[0].message.contains("nobody takes turns"));
}

#[test]
fn every_name_that_must_exist_is_looked_for() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
    let known = Vocabulary {
        turns: true,
        states: names(&["open", "closed"]),
        client_tools: names(&["look_up"]),
        tools: names(&["a2a__writer", "use_skill"]),
        skills: Some(names(&["refunds"])),
        rules: names(&["banned_words"]),
        steps: names(&["classify", "route", "all"]),
        branches: names(&["route"]),
        parallels: names(&["all"]),
        ..Vocabulary::default()
    };
    let none = Vocabulary { turns: true, ..Vocabulary::default() };
    let misfits = |assertion: &str, known: &Vocabulary| {
        let (scenario, findings) = read(&spec(&format!("assertions: [{assertion}]")));
        let found = scenario.unwrap_or_else(|| panic!("{findings:?}")).misfits(known);
        found.iter().filter_map(|finding| finding.help.clone()).collect::<Vec<String>>()
    };
    for (right, wrong) in [
        (
            "{type: tools_called, params: {tools: [look_up]}}",
            "{type: tools_called, params: {tools: [lookup]}}",
        ),
        (
            "{type: tools_not_called, params: {tools: [look_up]}}",
            "{type: tools_not_called, params: {tools: [look_upp]}}",
        ),
        (
            "{type: agent_not_invoked, params: {agents: [a2a__writer]}}",
            "{type: agent_not_invoked, params: {agents: [a2a__writr]}}",
        ),
        (
            "{type: agent_invoked, params: {agents: [a2a__writer]}}",
            "{type: agent_invoked, params: {agents: [a2a__writr]}}",
        ),
        (
            "{type: tool_calls_with_args, params: {tool_name: look_up, args: {}}}",
            "{type: tool_args, params: {tool_name: lok_up, args: {}}}",
        ),
        (
            "{type: tool_call_count, params: {tool: look_up, max: 1}}",
            "{type: tool_call_count, params: {tool: look_p, max: 1}}",
        ),
        (
            "{type: tool_call_sequence, params: {sequence: [look_up]}}",
            "{type: tool_call_sequence, params: {sequence: [loook_up]}}",
        ),
        (
            "{type: workflow_tool_access, params: {rules: [{state: open, allowed: [look_up]}]}}",
            "{type: workflow_tool_access, params: {rules: [{state: open, allowed: [look_ups]}]}}",
        ),
        (
            "{type: skill_activated, params: {skill_names: [refunds]}}",
            "{type: skill_not_activated, params: {skills: [refund]}}",
        ),
        (
            "{type: tools_called, params: {tools: [skill__activate]}}",
            "{type: tools_called, params: {tools: [use_skil]}}",
        ),
        (
            "{type: workflow_complete, when: {tool_called: look_up}}",
            "{type: workflow_complete, when: {tool_called: look_ups}}",
        ),
        (
            "{type: guardrail_triggered, params: {validator: banned_words}}",
            "{type: guardrail_triggered, params: {validator: banned_word, should_trigger: false}}",
        ),
        (
            "{type: composition_step_output, params: {step: classify}}",
            "{type: composition_step_output, params: {step: clasify}}",
        ),
        (
            "{type: composition_branch_taken, params: {branch: route, expected: nothing}}",
            "{type: composition_branch_taken, params: {branch: rote, expected: classify}}",
        ),
        (
            "{type: composition_branch_taken, params: {branch: route, expected: classify}}",
            "{type: composition_branch_taken, params: {branch: route, expected: clasify}}",
        ),
        (
            "{type: composition_parallel_complete, params: {parallel: all}}",
            "{type: composition_parallel_complete, params: {parallel: alll}}",
        ),
    ] {
        assert_eq!(misfits(right, &known), Vec::<String>::new(), "{right}");
        assert!(misfits(wrong, &known).iter().all(|help| help.contains("did you mean")), "{wrong}");
        assert_eq!(misfits(wrong, &known).len(), 1, "{wrong}");
    }
    let (scenario, _) = read(&spec(
        "assertions:
  - {type: composition_output}
  - {type: tools_not_called, params: {tools: [delete_all]}}
  - {type: contains, params: {patterns: [a]}, when: {tool_called_pattern: '^delte_'}}",
    ));
    let scenario = scenario.expect("a scenario");
    assert_eq!(scenario.misfits(&none)[0].code, "no-composition");
    let unknown = scenario.unknown_tools(&["look_up"]);
    let said: Vec<&str> = unknown.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "there is no tool or agent `delete_all` that could be called",
            "no tool that could be called is like `^delte_`"
        ]
    );
}

#[test]
fn an_order_of_states_that_the_workflow_decides_alone_is_refused() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (entry, states) = (Some("a".to_owned()), names(&["a", "b", "e"]));
    let known = Vocabulary { turns: true, states, entry, terminal: names(&["e"]), ..Vocabulary::default() };
    let codes = |more: &str, assertion: &str| {
        let (scenario, findings) = read(&spec(&format!("{more}assertions: [{{{assertion}}}]")));
        let found = scenario.unwrap_or_else(|| panic!("{findings:?}")).misfits(&known);
        found.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    for (assertion, code) in [
        ("type: workflow_transition_order, params: {sequence: [a]}", "cannot-fail"),
        ("type: workflow_transition_order, params: {sequence: [e, a]}", "cannot-hold"),
        ("type: path_is, params: {states: [e]}", "cannot-hold"),
        ("type: path_is, params: {states: [a, e, b]}", "cannot-hold"),
    ] {
        assert_eq!(codes("", assertion), [code], "{assertion}");
    }
    let order = "type: workflow_transition_order, params: {sequence: [e, a], min_score: 0.5}";
    let path = "type: path_is, params: {states: [b, e]}";
    assert_eq!((codes("", order), codes("inputs: {state: b}\n", path)), (vec![], vec![]));
    let all = "type: workflow_transition_order, params: {sequence: [a, b, e]}";
    assert_eq!(codes("", all), [""; 0]);
}

#[test]
fn numbers_that_do_not_fit_are_told_what_they_are_and_once() {
    let said = |assertion: &str| {
        let (_, findings) = read(&spec(&format!("assertions: [{{{assertion}}}]")));
        findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
    };
    let max = said("type: length, params: {max: -1}");
    assert_eq!(max, ["a whole number from 0 on is wanted here, not -1"]);
    assert_eq!(said("type: json_path, params: {path: x, min: '5'}"), ["a number is wanted here"]);
    assert_eq!(said("type: usage, params: {max_cost: -1}"), ["a number from 0 on is wanted here"]);
}

#[test]
fn what_cannot_fail_and_what_cannot_hold_is_refused() {
    let refused = |spec_text: &str, code: &str| {
        let text = spec(spec_text);
        let (scenario, findings) = read(&text);
        let found: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert!(scenario.is_none() && found == [code], "{spec_text}: {findings:?}");
        assert!(findings[0].place.is_some(), "{spec_text}");
        assert!(
            findings[0].help.is_some() || ["cannot-hold", "twice"].contains(&code),
            "{spec_text}: no remedy"
        );
    };
    for (assertion, code) in [
        ("{type: content_includes, params: {patterns: ['']}}", "cannot-fail"),
        ("{type: content_includes, params: {patterns: [a, '']}}", "cannot-fail"),
        ("{type: content_includes_any, params: {patterns: ['']}}", "cannot-fail"),
        ("{type: content_excludes, params: {patterns: ['']}}", "cannot-fail"),
        ("{type: content_excludes, params: {patterns: []}}", "bad-value"),
        ("{type: banned_words, params: {words: []}}", "bad-value"),
        ("{type: required_words, params: {words: ['']}}", "cannot-fail"),
        ("{type: required_fields, params: {fields: []}}", "bad-value"),
        ("{type: required_fields, params: {fields: ['']}}", "cannot-fail"),
        ("{type: regex, params: {pattern: ''}}", "cannot-fail"),
        ("{type: regex, params: {pattern: '^.*'}}", "cannot-fail"),
        ("{type: regex, params: {pattern: 'a*'}}", "cannot-fail"),
        ("{type: regex, params: {pattern: '', expect_match: false}}", "cannot-hold"),
        ("{type: min_length, params: {min: 0}}", "cannot-fail"),
        ("{type: length, params: {min: 3, max: 2}}", "cannot-hold"),
        ("{type: json_path, params: {path: $}}", "cannot-fail"),
        ("{type: json_path, params: {path: a, contains: ''}}", "cannot-fail"),
        ("{type: json_path, params: {path: a, min_results: 0}}", "cannot-fail"),
        ("{type: json_path, params: {path: a, min: 2, max: 1}}", "cannot-hold"),
        ("{type: contains, params: {patterns: [a], min_score: 0}}", "cannot-fail"),
        ("{type: contains, params: {patterns: [a], max_score: 1}}", "cannot-fail"),
        ("{type: contains, params: {patterns: [a], min_score: 0.9, max_score: 0.8}}", "cannot-hold"),
        (
            "{type: assertion, params: {eval_type: contains, eval_params: {patterns: [a]}, min_score: 0}}",
            "cannot-fail",
        ),
        ("{type: contains, params: {patterns: [a]}, pass_threshold: 0}", "cannot-fail"),
        ("{type: contains, params: {patterns: [a]}, when: {min_tool_calls: 0}}", "says-nothing"),
        (
            "{type: contains, params: {patterns: [a]}, when: {any_tool_called: false, tool_called: a}}",
            "cannot-hold",
        ),
        ("{type: tools_called, params: {tools: [a], min_calls: 0}}", "cannot-fail"),
        ("{type: tools_not_called, params: {tools: []}}", "bad-value"),
        ("{type: tool_call_count, params: {min: 0}}", "cannot-fail"),
        ("{type: tool_call_count, params: {min: 2, max: 1}}", "cannot-hold"),
        ("{type: workflow_tool_access, params: {rules: []}}", "bad-value"),
        (
            "{type: workflow_tool_access, params: {rules: [{state: a, allowed: []}, {state: a, allowed: [b]}]}}",
            "twice",
        ),
        ("{type: composition_output, params: {contains: ''}}", "cannot-fail"),
        ("{type: composition_output, params: {contains: a, equals: a}}", "twice"),
        ("{type: composition_step_output, params: {step: a, contains: ''}}", "cannot-fail"),
        ("{type: usage, params: {max_cost: 1, max_cost_usd: 2}}", "twice"),
        ("{type: llm_judge, params: {criteria: ' '}}", "bad-value"),
        ("{type: llm_judge, params: {criteria: kind, min_score: 0}}", "cannot-fail"),
    ] {
        refused(&format!("assertions: [{assertion}]"), code);
    }
    refused("require: 0", "cannot-fail");
    refused("pass_threshold: 0.0", "cannot-fail");
    refused("tools: {look: [{result: first}, {result: second}]}", "never-given");
    // What looks like it and is not.
    for assertion in [
        "{type: regex, params: {pattern: '^$'}}",
        "{type: tool_call_count, params: {max: 0}}",
        "{type: json_path, params: {path: $, equals: 3}}",
        "{type: tool_calls_with_args, params: {tool_name: a, args_match: {b: '.*'}}}",
    ] {
        let (scenario, findings) = read(&spec(&format!("assertions: [{assertion}]")));
        assert!(scenario.is_some(), "{assertion}: {findings:?}");
    }
}

#[test]
fn replies_that_are_left_over_are_known_and_faults_are_none() {
    let (scenario, _) = read(&spec("model: {replies: [a, {error: {status: 500}}, b, c]}"));
    let model = scenario.expect("a scenario").model.expect("a model");
    assert_eq!(model.unused_replies(1), [&json!("b"), &json!("c")]);
    assert!(model.unused_replies(3).is_empty() && model.unused_replies(9).is_empty());
    let script: serde_json::Value =
        serde_json::from_str(&model.script("m", 2).unwrap_or_default()).expect("JSON");
    assert_eq!(script["rule"][0]["reply"], "c", "whoever goes on after two replies is given the third");
}

#[test]
fn lists_of_promptkit_may_be_longer_and_call_its_tools_for_skills() {
    let (replies, findings) = Replies::read(
        "scenarios:
  a:
    turns:
      1: {tool_calls: [{name: skill__activate, arguments: {skill: refunds}}, {name: look, arguments: {n: 1}}]}
      2: {tool_calls: [{name: skill__read_resource, arguments: {skill_name: refunds, path: table.md}}]}
",
    );
    let source = replies.unwrap_or_else(|| panic!("{findings:?}")).of("a").expect("replies");
    assert!(!source.must_be_used_up());
    let script: serde_json::Value =
        serde_json::from_str(&source.script("m", 0).unwrap_or_default()).expect("JSON");
    let calls = |number: usize| script["rule"][number]["reply"]["tool_calls"].clone();
    assert_eq!(
        calls(0),
        json!([{"name": "use_skill", "arguments": {"name": "refunds"}}, {"name": "look", "arguments": {"n": 1}}])
    );
    assert_eq!(
        calls(1),
        json!([{"name": "use_skill", "arguments": {"name": "refunds", "file": "table.md"}}])
    );
    let (own, _) = read(&spec("model: {replies: [a]}"));
    assert!(own.expect("a scenario").model.expect("a model").must_be_used_up());
}

#[test]
fn replies_of_the_mock_provider_are_read_by_scenario() {
    let text = "defaultResponse: I am lost.
scenarios:
  refund:
    turns:
      2: Done.
      1: {response: Let me see., tool_calls: [{name: look, arguments: {n: 1}}]}
";
    let (replies, findings) = Replies::read(text);
    assert!(findings.is_empty(), "{findings:?}");
    let replies = replies.expect("replies");
    let Some(source @ ModelSource::Scripted { .. }) = replies.of("refund") else { panic!("no script") };
    let script: serde_json::Value =
        serde_json::from_str(&source.script("m", 1).unwrap_or_default()).expect("JSON");
    assert_eq!(script["rule"], json!([{"reply": "Done.", "once": true}, {"reply": "I am lost."}]));
    assert!(replies.of("other").is_some_and(|other| other.is_scripted()), "the default answers for others");
    let (none, findings) =
        Replies::read("scenarios: {a: {turns: {1: hello, 3: bye}}, b: {turns: {1: {text: a}}}}");
    let says = |what: &str| findings.iter().any(|finding| finding.message.contains(what));
    assert!(
        none.is_none() && says("reply 2 is missing") && says("`text` is not known here"),
        "{findings:#?}"
    );
    let (only, _) = Replies::read("scenarios: {a: {turns: {1: hello}}}");
    assert!(only.expect("replies").of("b").is_none());
}

proptest! {
    #[test]
    fn whatever_is_in_a_file_it_is_read_or_refused(text in "\\PC{0,200}") {
        let (scenario, findings) = read(&spec(&text));
        prop_assert!(scenario.is_some() || !findings.is_empty());
    }

    #[test]
    fn a_scenario_with_a_piece_cut_out_is_read_or_refused_in_its_place(start in 0..WHOLE.len(), length in 1_usize..60) {
        let end = (start + length).min(WHOLE.len());
        let text = format!("{}{}", &WHOLE[..start], &WHOLE[end..]);
        let (scenario, findings) = read(&text);
        let is_wrong = findings.iter().any(convoke_text::finding::Finding::is_error);
        prop_assert_eq!(scenario.is_none(), is_wrong);
        for finding in &findings {
            let place = finding.place.clone().unwrap_or_default();
            prop_assert!(place.start <= place.end && place.start <= text.len());
        }
    }
}

#[test]
fn a_name_that_stands_twice_in_a_scenario_does_not_hide_what_else_is_wrong() {
    let text = "kind: Scenario\nmetadata: {name: a}\nmetadata: {name: b}\nspec:\n  turns:\n    - content: 5\n    - contnet: a\n";
    let (scenario, findings) = convoke_eval::read(text);
    assert!(scenario.is_none());
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    for wanted in [
        ("duplicate-name", "/metadata"),
        ("wrong-type", "/spec/turns/0/content"),
        ("unknown-field", "/spec/turns/1/contnet"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?}: {found:?}");
    }
}
