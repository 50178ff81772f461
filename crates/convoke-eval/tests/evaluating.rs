//! Assertions compared with what happened.

use convoke_eval::judge::JudgeVerdict;
use convoke_eval::observation::{Episode, ObservedCall, ObservedUsage};
use convoke_eval::{
    AssertionReport, Evaluated, Facts, Observation, cannot_fail, evaluate, evaluate_declared, read,
};
use convoke_machine::pack::model::Eval;
use serde_json::{Value, json};

fn call(tool: &str, arguments: Value, state: &str) -> ObservedCall {
    ObservedCall {
        tool: tool.into(),
        arguments,
        state: Some(state.into()),
        failed: tool == "pay",
        refused: false,
    }
}

/// A conversation of one turn in which an order was looked up, paid, and the workflow came to its end.
fn observed() -> Observation {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<String>>();
    let turn = Episode {
        content: "Your refund is on its way.".into(),
        said: [
            ("user", "I want a refund"),
            ("assistant", "Let me look."),
            ("assistant", "Your refund is on its way."),
        ]
        .map(|(who, what)| (who.into(), what.into()))
        .into(),
        path: texts(&["intake", "solve", "solve", "closed"]),
        spoke: texts(&["solve", "closed"]),
        is_over: true,
        calls: vec![
            call("look", json!({"number": "7", "deep": {"a": 1, "b": 2}}), "intake"),
            call("pay", json!({}), "solve"),
        ],
        broken_rules: texts(&["banned_words"]),
        composition: Some(json!({"label": "money"})),
        steps: [("classify".into(), json!({"label": "money"}))].into(),
        branches: [("route".into(), Some("refund".into()))].into(),
        parallels: [("checks".into(), true), ("others".into(), false)].into(),
        trouble: None,
    };
    let mut facts = Facts::default();
    facts.artifacts.insert("note".into(), "paid 9 euros".into());
    facts.outputs.insert("plan".into(), json!({"hours": 3}));
    Observation {
        status: "completed".into(),
        facts,
        whole: turn.clone(),
        turns: vec![turn],
        usage: ObservedUsage {
            model_calls: 3,
            tool_calls: 2,
            tokens: 90,
            input_tokens: 60,
            output_tokens: 30,
            cost: Some(0.02),
        },
        ..Observation::default()
    }
}

/// What comes of an assertion at the end.
fn at_end(assertion: &str) -> AssertionReport {
    let text = format!("kind: Scenario\nmetadata: {{name: a}}\nspec: {{assertions: [{assertion}]}}");
    let (scenario, findings) = read(&text);
    let scenario = scenario.unwrap_or_else(|| panic!("{assertion}: {findings:?}"));
    match evaluate(&scenario, &observed()).remove(0) {
        Evaluated::Done(report) => report,
        Evaluated::Judge(..) => panic!("{assertion} wants a judge"),
    }
}

#[test]
fn parts_of_json_are_looked_into() {
    let (mut run, value) = (observed(), json!({"items": [{"price": 9, "name": "a chair"}], "none": null}));
    run.whole.content = value.to_string();
    run.facts.outputs.insert("plan".into(), value);
    for (params, found) in [
        ("{path: 'items[0].price', equals: 9}", ""),
        ("{expression: '$.items[0].name', expected: a chair}", ""),
        ("{path: 'items[0].name', contains: chair}", ""),
        ("{path: items, contains: {price: 9}}", ""),
        ("{path: 'items[0]', contains: {name: a chair}}", ""),
        ("{path: none}", ""),
        ("{path: 'items[1]', exists: false}", ""),
        ("{expression: 'items[*].price', contains: [9]}", ""),
        ("{jmespath_expression: 'items[?price > `5`].name', expected: [a chair]}", ""),
        ("{path: 'sum(items[].price)', equals: 9}", ""),
        ("{path: 'items[0].price', min: 8, max: 10}", ""),
        ("{path: 'items', min_results: 1, max_results: 1}", ""),
        ("{path: 'items[?price > `9`]', max_results: 0}", ""),
        ("{path: 'items[0].price', min: 10}", "items[0].price is `9`"),
        ("{path: items, min_results: 2}", "items is `[{"),
        ("{path: 'items[?price > `9`] | [0]'}", "there is no items[?price > `9`] | [0] in `{"),
        ("{path: 'length(items[0].price)'}", "length(items[0].price) cannot be looked for: "),
        ("{path: 'items[0].price', equals: '9'}", "items[0].price is `9`"),
        ("{path: items, contains: {price: 8}}", "items is `[{\"name\":\"a chair\",\"price\":9}]`"),
        ("{path: none, exists: false}", "none is `null`"),
        ("{path: 'items[1].price'}", "there is no items[1].price in `{"),
    ] {
        for of in ["result", "outputs.plan"] {
            let assertion = format!("{{type: json_path, of: {of}, params: {params}}}");
            let (scenario, findings) =
                read(&format!("kind: Scenario\nmetadata: {{name: a}}\nspec: {{assertions: [{assertion}]}}"));
            let scenario = scenario.unwrap_or_else(|| panic!("{assertion}: {findings:?}"));
            let Evaluated::Done(report) = evaluate(&scenario, &run).remove(0) else { panic!("a judge") };
            assert_eq!(report.passed, Some(found.is_empty()), "{assertion}: {}", report.found);
            assert!(report.found.starts_with(found), "{assertion}: {}", report.found);
        }
    }
    for (params, why) in [
        (
            "{path: 'items[*.price'}",
            "`items[*.price` is not a way to a part of a value: Parse error: Expected ']' for wildcard index -- found Dot (line 0, column 7)",
        ),
        ("{equals: 3}", "there is no `path`"),
        (
            "{path: a, equals: 3, contains: 4}",
            "write one of `equals`, `contains`, `exists`, `min` and `max`, `min_results` and `max_results`",
        ),
    ] {
        let text = format!(
            "kind: Scenario\nmetadata: {{name: a}}\nspec: {{assertions: [{{type: json_path, params: {params}}}]}}"
        );
        let (scenario, findings) = read(&text);
        assert!(scenario.is_none() && findings[0].message == why, "{findings:?}");
    }
}

#[test]
fn every_kind_holds_and_fails() {
    let cases = [
        (
            "content_includes, params: {patterns: [REFUND]",
            "content_includes, params: {patterns: [refund, parcel]",
        ),
        (
            "contains, params: {patterns: [Your refu], case_sensitive: true",
            "contains, params: {patterns: [your], case_sensitive: true",
        ),
        (
            "content_includes_any, params: {patterns: [parcel, look]",
            "contains_any, params: {patterns: [parcel]",
        ),
        ("content_excludes, params: {patterns: [parcel]", "content_excludes, params: {patterns: [let me]"),
        ("banned_words, params: {words: [refun]", "banned_words, params: {words: [look]"),
        (
            "content_matches, params: {pattern: '^Your'",
            "content_matches, params: {pattern: '^Your', expect_match: false",
        ),
        (
            "contains, of: conversation, params: {patterns: [let me look]",
            "contains, params: {patterns: [let me look]",
        ),
        ("max_length, params: {max: 40", "min_length, params: {min: 40"),
        (
            "equals, of: outputs.plan, params: {value: {hours: 3}",
            "equals, of: outputs.plan, params: {value: 3",
        ),
        (
            "contains, of: artifacts.note, params: {patterns: [9 euros]",
            "contains, of: artifacts.none, params: {patterns: [nine]",
        ),
        ("state_is, params: {state: closed", "state_is, params: {state: solve"),
        ("transitioned_to, params: {state: solve", "transitioned_to, params: {state: intake"),
        ("spoke_in_state, params: {state: solve", "spoke_in_state, params: {state: intake"),
        ("workflow_complete, params: {", "path_is, params: {states: [intake, closed]"),
        (
            "path_is, params: {states: [intake, solve, solve, closed]",
            "workflow_transition_order, params: {sequence: [closed, solve]",
        ),
        (
            "workflow_transition_order, params: {sequence: [intake, closed]",
            "workflow_transition_order, params: {states: [refund]",
        ),
        (
            "workflow_tool_access, params: {rules: [{state: solve, allowed: [pay]}]",
            "workflow_tool_access, params: {rules: [{state: solve, allowed: []}]",
        ),
        ("tools_called, params: {tools: [look, pay]", "tools_called, params: {tools: [look], min_calls: 2"),
        ("agent_not_invoked, params: {agents: [a2a__x]", "tools_not_called, params: {tool_names: [pay]"),
        (
            "tool_calls_with_args, params: {tool_name: look, expected_args: {number: null, deep: {a: 1}}",
            "tool_args, params: {tool_name: look, args: {number: '8'}",
        ),
        (
            "tool_calls_with_args, params: {tool_name: look, args_match: {number: '^[0-9]$'}",
            "tool_calls_with_args, params: {tool_name: look, args_match: {missing: '.*'}",
        ),
        ("tool_call_count, params: {tool: pay, min: 1, max: 1", "tool_call_count, params: {max: 1"),
        (
            "tool_call_sequence, params: {sequence: [look, pay]",
            "tool_call_sequence, params: {sequence: [pay, look]",
        ),
        (
            "guardrail_triggered, params: {validator: banned_words",
            "guardrail_triggered, params: {validator_type: banned_words, should_trigger: false",
        ),
        ("guardrail_triggered, params: {validator: pii, should_trigger: false", "no_tool_errors, params: {"),
        (
            "composition_step_output, params: {step: classify, contains: money",
            "composition_step_output, params: {step: classify, equals: money",
        ),
        ("composition_step_output, params: {step: classify", "composition_step_output, params: {step: other"),
        (
            "composition_branch_taken, params: {branch: route, expected: refund",
            "composition_branch_taken, params: {branch: route, expected: other",
        ),
        (
            "composition_parallel_complete, params: {parallel: checks",
            "composition_parallel_complete, params: {parallel: others",
        ),
        ("composition_output, params: {contains: money", "composition_output, params: {contains: way"),
        (
            "usage, params: {max_cost: 0.02, max_tokens: 90, max_model_calls: 3, max_tool_calls: 2",
            "usage, params: {max_model_calls: 2",
        ),
        (
            "cost_budget, params: {max_cost_usd: 1, max_input_tokens: 60, max_output_tokens: 30",
            "cost_budget, params: {max_output_tokens: 29",
        ),
        ("status, params: {is: completed", "status, params: {is: failed"),
        (
            "assertion, params: {eval_type: contains, eval_params: {patterns: [refund, parcel]}, min_score: 0.5",
            "assertion, params: {eval_type: contains, eval_params: {patterns: [refund, parcel]}",
        ),
        (
            "contains, params: {patterns: [refund, parcel], max_score: 0.5",
            "contains, params: {patterns: [refund], max_score: 0.5",
        ),
    ];
    for (good, bad) in cases {
        let held = at_end(&format!("{{type: {good}}}}}"));
        assert_eq!((held.passed, held.found.as_str()), (Some(true), ""), "{good}");
        let failed = at_end(&format!("{{type: {bad}}}}}"));
        assert_eq!(failed.passed, Some(false), "{bad}");
        assert!(!failed.found.is_empty() || failed.score == Some(1.0), "{bad} does not say what was found");
    }
}

#[test]
fn a_call_that_was_refused_was_not_made() {
    let mut run = observed();
    for call in run.whole.calls.iter_mut().filter(|call| call.tool == "pay") {
        call.refused = true;
    }
    let passed = |assertion: &str| {
        let text = format!("kind: Scenario\nmetadata: {{name: a}}\nspec: {{assertions: [{assertion}]}}");
        let (scenario, findings) = read(&text);
        let scenario = scenario.unwrap_or_else(|| panic!("{assertion}: {findings:?}"));
        match evaluate(&scenario, &run).pop() {
            Some(Evaluated::Done(report)) => (report.passed == Some(true), report.found),
            _ => (false, "not looked at".to_owned()),
        }
    };
    let (held, found) = passed("{type: tools_called, params: {tools: [pay]}}");
    assert!(!held && found == "pay was not called; called: look, pay (refused)", "{found}");
    for assertion in [
        "{type: tools_not_called, params: {tools: [pay]}}",
        "{type: tool_call_count, params: {max: 1}}",
        "{type: workflow_tool_access, params: {rules: [{state: solve, allowed: []}]}}",
    ] {
        assert!(passed(assertion).0, "{assertion}");
    }
    for assertion in [
        "{type: tool_calls_with_args, params: {tool_name: pay, args: {}}}",
        "{type: tool_call_sequence, params: {sequence: [look, pay]}}",
        "{type: no_tool_errors}",
        "{type: contains, params: {patterns: [refund]}, when: {tool_called: pay}}",
        "{type: contains, params: {patterns: [refund]}, when: {min_tool_calls: 2}}",
    ] {
        assert!(!passed(assertion).0, "{assertion}");
    }
}

#[test]
fn a_run_that_did_not_complete_fails_unless_that_is_asserted() {
    let (scenario, _) =
        read("kind: Scenario\nmetadata: {name: a}\nspec: {turns: [{content: a}, {content: b}]}");
    let mut run = Observation { status: "failed".into(), error: Some("no model".into()), ..observed() };
    run.whole.is_over = false;
    let reports = evaluate(&scenario.expect("a scenario"), &run);
    let Evaluated::Done(report) = &reports[0] else { panic!("a judge") };
    assert_eq!(report.line(), "completed: the run is failed: no model");
    let (scenario, _) = read(
        "kind: Scenario\nmetadata: {name: a}\nspec: {assertions: [{type: status, params: {is: failed}}]}",
    );
    let reports = evaluate(&scenario.expect("a scenario"), &run);
    assert!(matches!(&reports[..], [Evaluated::Done(report)] if report.passed == Some(true)));
}

#[test]
fn after_the_end_of_a_workflow_nothing_is_said_and_nothing_changes() {
    let (scenario, _) = read(
        "kind: Scenario
metadata: {name: a}
spec:
  turns:
    - {content: a}
    - content: thanks
      assertions: [{type: workflow_complete}, {type: contains, params: {patterns: [welcome]}}]",
    );
    let scenario = scenario.expect("a scenario");
    let passed = |run: &Observation| {
        let passed = |evaluated: &Evaluated| matches!(evaluated, Evaluated::Done(report) if report.passed == Some(true));
        evaluate(&scenario, run).iter().map(passed).collect::<Vec<bool>>()
    };
    assert_eq!(passed(&observed()), [true, false]);
    let mut open = observed();
    open.whole.is_over = false;
    assert_eq!(
        passed(&open),
        [false],
        "a conversation that is over before its workflow was ended by somebody"
    );
}

#[test]
fn what_depends_on_calls_is_left_out_where_there_were_none() {
    let text = "kind: Scenario\nmetadata: {name: a}\nspec: {assertions: [{type: equals, params: {value: 1}, when: WHEN}]}";
    let number = |when: &str| {
        let (scenario, findings) = read(&text.replace("WHEN", when));
        evaluate(&scenario.unwrap_or_else(|| panic!("{findings:?}")), &observed()).len()
    };
    assert_eq!(number("{tool_called: look}"), 1);
    assert_eq!(number("{tool_called: other}"), 0);
    assert_eq!(number("{tool_called_pattern: '^p'}"), 1);
    assert_eq!(number("{any_tool_called: false}"), 0);
    assert_eq!(number("{min_tool_calls: 3}"), 0);
}

fn declared(eval: Value) -> AssertionReport {
    let eval: Eval = serde_json::from_value(eval).expect("an eval");
    match evaluate_declared(&eval, &observed(), None).expect("it is due") {
        Evaluated::Done(report) => report,
        Evaluated::Judge(question, report) => {
            report.judged(&question, &JudgeVerdict { score: 0.6, reason: "fair".into() }, "judge-1")
        }
    }
}

#[test]
fn evals_of_a_pack_measure_and_only_those_with_a_threshold_fail() {
    let eval = |more: Value| {
        let mut eval = json!({"id": "e", "type": "contains", "trigger": "every_turn", "params": {"patterns": ["refund", "parcel"]}});
        eval.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        declared(eval)
    };
    let measured = eval(json!({"metric": {"name": "words", "type": "gauge"}}));
    assert_eq!(
        (measured.passed, measured.score, measured.metric.as_deref()),
        (None, Some(0.5), Some("words"))
    );
    for (threshold, passed) in [
        (json!({"min_score": 0.5}), true),
        (json!({"min_score": 0.6}), false),
        (json!({"max_score": 0.4}), false),
        (json!({"passed": true}), false),
        (json!({"passed": false}), true),
        (json!({"operator": "gte", "value": 0.5}), true),
        (json!({"operator": "<", "value": 0.5}), false),
        (json!({"operator": "eq", "value": 0.5}), true),
    ] {
        assert_eq!(eval(json!({"threshold": threshold})).passed, Some(passed), "{threshold}");
    }
    let judged = |threshold: Value| {
        declared(
            json!({"id": "j", "type": "llm_judge", "trigger": "every_turn", "params": {"criteria": "kind"}, "threshold": threshold}),
        )
    };
    assert_eq!(judged(json!({"max_score": 0.5})).passed, Some(false), "all of a threshold holds for judges");
    assert_eq!(judged(json!({"operator": "gt", "value": 0.5})).passed, Some(true));
    assert_eq!(judged(Value::Null).passed, None);
}

#[test]
fn evals_that_nobody_can_evaluate_say_so() {
    let unknown = declared(json!({"id": "t", "type": "toxicity", "trigger": "every_turn"}));
    assert_eq!((unknown.passed, unknown.score), (None, None));
    assert_eq!(unknown.found, "nobody here knows evals of type `toxicity`");
    let bad = json!({"id": "t", "type": "contains", "trigger": "every_turn", "threshold": {"min_score": 1}});
    assert_eq!(
        declared(bad).passed,
        Some(false),
        "what must reach a threshold and cannot be measured does not"
    );
}

#[test]
fn thresholds_of_a_pack_that_every_score_reaches_are_told_of() {
    let told = |threshold: Value, params: Value| {
        let eval = json!({"id": "e", "type": "contains", "trigger": "every_turn", "threshold": threshold, "params": params});
        cannot_fail(&serde_json::from_value::<Eval>(eval).expect("an eval"))
    };
    let words = json!({"patterns": ["a"]});
    let sure = told(json!({"min_score": 0}), words.clone()).expect("every score is 0 or more");
    assert_eq!(sure, "the eval `e` of the pack cannot fail: every score is at least 0");
    assert!(told(json!({"operator": "lte", "value": 1}), words.clone()).is_some());
    assert!(told(Value::Null, json!({"patterns": ["a"], "min_score": 0})).is_some());
    assert!(told(json!({"min_score": 0.1}), words.clone()).is_none());
    assert!(told(json!({"operator": "lt", "value": 1}), words.clone()).is_none());
    assert!(told(Value::Null, words).is_none(), "what only measures promises nothing");
}
