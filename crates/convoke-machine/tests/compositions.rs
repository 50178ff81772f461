//! What is wrong with compositions.

mod packs;

use packs::{errors, findings, prompt, valid, warnings, with};
use serde_json::{Value, json};

/// A pack with a composition of these steps, which a state runs.
fn of(steps: Value) -> Value {
    with(&[
        ("/prompts/other", prompt("Other.")),
        ("/tools", json!({"look_up": {"name": "look_up", "description": "Looks"}})),
        ("/evals", json!([{"id": "tone", "type": "t", "trigger": "every_turn"}])),
        (
            "/workflow",
            json!({"version": 1, "entry": "s", "states": {
            "s": {"orchestration": "composition", "composition": "c", "terminal": true}}}),
        ),
        ("/compositions", json!({"c": {"version": 1, "steps": steps}})),
    ])
}

fn ask(id: &str) -> Value {
    json!({"id": id, "kind": "prompt", "prompt_task": "chat"})
}

fn with_field(mut step: Value, field: &str, value: Value) -> Value {
    step[field] = value;
    step
}

fn branch(predicate: Value) -> Value {
    let branch = json!({"id": "b", "kind": "branch", "predicate": predicate, "then": "x", "else": "y"});
    let after = |id: &str| with_field(ask(id), "depends_on", json!(["b"]));
    json!([ask("a"), branch, after("x"), after("y")])
}

fn parallel(branches: Value) -> Value {
    json!({"id": "p", "kind": "parallel", "branches": branches, "reduce": {"strategy": "barrier", "into": "all"}})
}

#[test]
fn a_composition_of_every_kind_of_step_is_valid() {
    let equals = json!({"all_of": [{"path": "${a.output.label}", "op": "in", "value": ["x"]}, {"not": {"path": "${input.n}", "exists": true}}]});
    let mut steps = branch(equals);
    let list = steps.as_array_mut().unwrap();
    let agent = json!({"id": "g", "kind": "agent", "prompt_task": "other", "tools": ["look_up"], "termination": {"max_steps": 3}, "input": {"q": "${a.output.items[0].t}"}});
    list.push(with_field(parallel(json!([agent, ask("h")])), "depends_on", json!(["x", "y"])));
    list.push(json!({"id": "t", "kind": "tool", "tool": "look_up", "args": {"v": "${p.output.all}"}, "depends_on": ["p"],
        "modifiers": {"retry": {"max_attempts": 3}, "eval": ["tone"]}}));
    let pack = of(steps);
    assert_eq!(warnings(&pack), [""; 0]);
    assert_eq!(valid(&pack).model().compositions["c"].steps.len(), 6);
}

#[test]
fn promptkit_203_everything_that_is_wrong_with_a_composition_is_found() {
    let reduce = json!({"strategy": "barrier", "into": "all"});
    for (what, steps, code) in [
        ("twice the same name", json!([ask("a"), ask("a")]), "duplicate-name"),
        ("the same name within", json!([ask("a"), parallel(json!([ask("a"), ask("b")]))]), "duplicate-name"),
        ("a bad name", json!([ask("a-b")]), "bad-value"),
        ("an unknown root", json!([with_field(ask("a"), "input", json!("${gone.output}"))]), "unknown-name"),
        (
            "a step within a parallel one",
            json!([
                parallel(json!([ask("a"), ask("b")])),
                with_field(with_field(ask("c"), "depends_on", json!(["p"])), "input", json!("${a.output}"))
            ]),
            "unknown-name",
        ),
        ("an unknown prompt", json!([with_field(ask("a"), "prompt_task", json!("caht"))]), "unknown-name"),
        ("an unknown tool", json!([{"id": "a", "kind": "tool", "tool": "x"}]), "unknown-name"),
        (
            "an unknown eval",
            json!([with_field(ask("a"), "modifiers", json!({"eval": ["x"]}))]),
            "unknown-name",
        ),
        (
            "no end",
            json!([{"id": "a", "kind": "agent", "prompt_task": "chat", "termination": {}}]),
            "missing-field",
        ),
        ("one branch", json!([parallel(json!([ask("a")]))]), "too-few"),
        (
            "no reduction",
            json!([{"id": "p", "kind": "parallel", "branches": [ask("a"), ask("b")]}]),
            "missing-field",
        ),
        (
            "a bad strategy",
            json!([{"id": "p", "kind": "parallel", "branches": [ask("a"), ask("b")], "reduce": {"strategy": "sum", "into": "x"}}]),
            "bad-value",
        ),
        (
            "no way",
            json!([{"id": "b", "kind": "branch", "predicate": {"path": "${input}", "exists": true}}]),
            "missing-field",
        ),
        ("a bad comparison", branch(json!({"path": "${input}", "op": "like", "value": 1})), "bad-predicate"),
        ("two predicates", branch(json!({"all_of": [], "any_of": []})), "bad-predicate"),
        ("no predicate", branch(json!({})), "bad-predicate"),
        ("no list to be in", branch(json!({"path": "${input}", "op": "in", "value": 1})), "bad-predicate"),
        ("a path that is none", branch(json!({"path": "input.x", "exists": true})), "bad-predicate"),
        (
            "a way to nowhere",
            json!([{"id": "b", "kind": "branch", "predicate": {"path": "${input}", "exists": true}, "then": "gone"}]),
            "unknown-name",
        ),
        ("an unknown dependency", json!([with_field(ask("a"), "depends_on", json!(["x"]))]), "unknown-name"),
        (
            "a circle",
            json!([
                with_field(ask("a"), "depends_on", json!(["b"])),
                with_field(ask("b"), "depends_on", json!(["a"]))
            ]),
            "cycle",
        ),
        (
            "a way back",
            json!([ask("a"), {"id": "b", "kind": "branch", "predicate": {"path": "${input}", "exists": true}, "then": "a"}]),
            "cycle",
        ),
        (
            "a circle within",
            json!([parallel(json!([
                with_field(ask("a"), "depends_on", json!(["b"])),
                with_field(ask("b"), "depends_on", json!(["a"]))
            ]))]),
            "cycle",
        ),
        (
            "a part of a step that is not its output",
            json!([ask("a"), with_field(ask("b"), "input", json!("${a.label}"))]),
            "bad-reference",
        ),
        ("a later step", json!([with_field(ask("a"), "input", json!("${b.output}")), ask("b")]), "cycle"),
        ("a field of another kind", json!([with_field(ask("a"), "reduce", reduce)]), "misplaced-field"),
    ] {
        assert_eq!(errors(&of(steps)), [code], "{what}");
    }
    let mut pack = of(json!([ask("a")]));
    pack["compositions"]["c"]["version"] = json!(2);
    pack["compositions"]["c"]["output"] = json!("zz");
    let mut found = errors(&pack);
    found.sort_unstable();
    assert_eq!(found, ["unknown-name", "unknown-version"]);
}

#[test]
fn promptkit_194_a_branch_or_a_parallel_step_is_not_in_a_parallel_one() {
    let inner = parallel(json!([ask("x"), ask("y")]));
    let branch =
        json!({"id": "q", "kind": "branch", "predicate": {"path": "${input}", "exists": true}, "then": "a"});
    for nested in [with_field(inner, "id", json!("q")), branch] {
        let steps = json!([parallel(json!([ask("a"), nested]))]);
        assert!(errors(&of(steps)).contains(&"nested-step"));
    }
}

#[test]
fn promptkit_198_references_that_nobody_understands_are_mistakes() {
    for reference in ["${a b}", "${}", "${input.x-y}", "${input[x]}", "${input..x}", "${1a}"] {
        let step = with_field(ask("a"), "input", json!({"deep": ["so ", format!("see {reference}")]}));
        assert_eq!(errors(&of(json!([step]))), ["bad-reference"], "{reference}");
    }
    for reference in ["${input}", "${ input.items[0][1].x }", "no $ {reference}", "${open"] {
        let step = with_field(ask("a"), "input", json!(reference));
        assert_eq!(errors(&of(json!([step]))), [""; 0], "{reference}");
    }
}

#[test]
fn promptkit_204_states_run_compositions_that_there_are() {
    let mut pack = of(json!([ask("a")]));
    pack["workflow"]["states"]["s"]["composition"] = json!("gone");
    assert_eq!(errors(&pack).len(), 1);
    let mut unused = of(json!([ask("a")]));
    unused["compositions"]["d"] = unused["compositions"]["c"].clone();
    assert_eq!(warnings(&unused), ["unused-composition"]);
    // Without a workflow, compositions are functions that are run by name.
    unused.as_object_mut().unwrap().remove("workflow");
    assert_eq!(warnings(&unused), [""; 0]);
}

#[test]
fn an_order_that_nobody_wrote_is_warned_about() {
    let steps = json!([parallel(json!([ask("a"), ask("b")])), ask("c")]);
    assert_eq!(warnings(&of(steps)), ["implicit-order"]);
}

#[test]
fn settings_of_the_engine_are_checked() {
    let with_engine = |engine: Value| {
        let mut pack = of(json!([ask("a")]));
        pack["workflow"]["states"]["s"]["on_event"] = json!({"Done": "s"});
        pack["workflow"]["states"]["s"]["terminal"] = json!(false);
        pack["compositions"]["c"]["engine"] = engine;
        pack
    };
    let rule =
        |predicate: Value, event: &str| json!({"on_output": [{"predicate": predicate, "event": event}]});
    let holds = json!({"path": "${a.output}", "op": "equals", "value": "x"});
    for (engine, code) in [
        (json!({"concurrency": 0}), "wrong-type"),
        (json!({"on_failure": "explode"}), "bad-value"),
        (json!({"on_output": {}}), "wrong-type"),
        (json!({"on_output": [{}]}), "missing-field"),
        (rule(json!({}), "Done"), "bad-predicate"),
        (rule(json!({"path": "${b.output}", "exists": true}), "Done"), "unknown-name"),
        (rule(holds.clone(), "Gone"), "unknown-name"),
    ] {
        assert_eq!(errors(&with_engine(engine.clone())), [code], "{engine}");
    }
    assert_eq!(errors(&with_engine(rule(holds, "Done"))), [""; 0]);
    assert!(warnings(&with_engine(json!({"retries": 3}))).contains(&"unknown-field"));
}

#[test]
fn a_tool_that_a_step_names_is_declared_also_if_it_is_the_hosts() {
    let agent = |tool: &str| json!({"id": "b", "kind": "agent", "prompt_task": "chat", "tools": [tool], "termination": {"max_steps": 2}});
    let tool = |tool: &str| json!({"id": "a", "kind": "tool", "tool": tool});
    for (steps, path, help) in [
        (
            json!([tool("bash")]),
            "/compositions/c/steps/0/tool",
            "declare it in `tools` of the pack: if this host has a `bash`, that is called",
        ),
        (json!([tool("lok_up")]), "/compositions/c/steps/0/tool", "did you mean `look_up`?"),
        (
            json!([agent("bash")]),
            "/compositions/c/steps/0/tools/0",
            "declare it in `tools` of the pack: if this host has a `bash`, that is called",
        ),
    ] {
        let pack = of(steps);
        assert_eq!(errors(&pack), ["unknown-name"]);
        let found = &findings(&pack)[0];
        assert_eq!((found.path.as_str(), found.help.as_deref()), (path, Some(help)));
    }
    assert_eq!(warnings(&of(json!([tool("mcp__files__read"), agent("look_up")]))), [""; 0]);
}

#[test]
fn a_step_after_a_fork_that_waits_for_nothing_says_so_with_an_empty_list() {
    let fork = parallel(json!([ask("x"), ask("y")]));
    assert_eq!(warnings(&of(json!([fork, ask("z")]))), ["implicit-order"]);
    assert_eq!(warnings(&of(json!([fork, with_field(ask("z"), "depends_on", json!([]))]))), [""; 0]);
}
