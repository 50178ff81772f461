//! Compositions that are run: case by case, and killed everywhere.
#![allow(clippy::unwrap_used, reason = "a test")]

mod packs;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use convoke_agent::FunctionTool;
use convoke_core::{Error, Fork, Outcome, RunId, RunStatus, Runtime, Store, Toolset, Workflow};
use convoke_machine::conversation::{MachineState, Talk};
use convoke_machine::stage::{PackMachineError, PackStage};
use convoke_machine::workflow::Status;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use packs::{prompt, valid, with};
use serde_json::{Map, Value, json};

/// A pack whose only composition has these steps.
fn of(steps: Value) -> Value {
    with(&[
        ("/prompts/chat", prompt("You classify.")),
        ("/prompts/other", prompt("You write.")),
        ("/prompts/other/tools", json!(["look_up", "echo"])),
        (
            "/tools",
            json!({
                "look_up": {"name": "look_up", "description": "Looks"},
                "echo": {"name": "echo", "description": "Gives its arguments"},
                "flaky": {"name": "flaky", "description": "Fails twice"},
                "broken": {"name": "broken", "description": "Fails"},
            }),
        ),
        ("/compositions", json!({"c": {"version": 1, "steps": steps}})),
    ])
}

fn echo(id: &str, args: Value) -> Value {
    json!({"id": id, "kind": "tool", "tool": "echo", "args": args})
}

fn after(mut step: Value, before: Value) -> Value {
    step["depends_on"] = before;
    step
}

fn ask(id: &str, input: Value) -> Value {
    json!({"id": id, "kind": "prompt", "prompt_task": "chat", "input": input})
}

/// Tools that give their arguments, fail twice, or always; they keep what they were called with.
#[derive(Clone, Default)]
struct World {
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    failures: Arc<AtomicU32>,
}

impl World {
    fn tools(&self) -> Toolset {
        let mut tools = Toolset::new();
        for name in ["echo", "look_up", "flaky", "broken"] {
            let world = self.clone();
            let tool = FunctionTool::new(name, name, move |arguments: Map<String, Value>| {
                let world = world.clone();
                async move {
                    let arguments = Value::Object(arguments);
                    world.calls.lock().unwrap().push((name.to_owned(), arguments.clone()));
                    match name {
                        "look_up" => Ok("found".to_owned()),
                        "flaky" if world.failures.fetch_add(1, Ordering::SeqCst) % 3 < 2 => {
                            Err(Error::transient("busy"))
                        }
                        "broken" => Err(Error::permanent("it is broken")),
                        _ => Ok(arguments.to_string()),
                    }
                }
            });
            tools.add(Arc::new(tool)).unwrap();
        }
        tools
    }

    fn stage(&self, pack: &Value, model: &ScriptedModel) -> PackStage {
        PackStage::new(Arc::new(valid(pack)), self.tools(), Some(Arc::new(model.clone())))
    }

    async fn run(&self, pack: &Value, model: &ScriptedModel, words: &str) -> Outcome<MachineState> {
        let machine = self.stage(pack, model).machine().unwrap();
        let state = MachineState::saying(words).talk(Talk::Once);
        Runtime::new().start(&machine.workflow(), state).await.unwrap()
    }

    fn called(&self, name: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|(called, _)| called == name).count()
    }
}

/// What a composition of these steps gives.
async fn gives(steps: Value, words: &str) -> Value {
    let last = World::default().run(&of(steps), &model(), words).await.completed().unwrap().last.unwrap();
    serde_json::from_str(&last).unwrap_or(Value::String(last))
}

async fn fails(steps: Value, words: &str) -> String {
    let ended = World::default().run(&of(steps), &model(), words).await;
    assert_eq!(ended.status, RunStatus::Failed);
    ended.error.unwrap().to_string()
}

/// Says what it was asked.
fn model() -> ScriptedModel {
    ScriptedModel::builder().when(Match::last_contains("null"), "null").otherwise("said").build()
}

fn branch(then: &str, otherwise: Option<&str>) -> Value {
    let mut step = json!({"id": "b", "kind": "branch", "then": then,
        "predicate": {"path": "${input.go}", "op": "equals", "value": true}});
    if let Some(otherwise) = otherwise {
        step["else"] = json!(otherwise);
    }
    step
}

fn parallel(strategy: &str, branches: Value) -> Value {
    json!({"id": "p", "kind": "parallel", "branches": branches, "reduce": {"strategy": strategy, "into": "all"}})
}

#[tokio::test]
async fn promptkit_184_186_references_keep_the_types_of_what_they_refer_to() {
    let mut pack = of(json!([
        echo("first", json!({"label": {"x": "${input.v}"}, "n": "${input.v}"})),
        echo("second", json!({"got": "${first.output.label}", "words": "n is ${first.output.n}"})),
        echo("third", json!({})),
    ]));
    pack["compositions"]["c"]["output"] = json!("second");
    let world = World::default();
    let done = world.run(&pack, &model(), r#"{"v": 1}"#).await.completed().unwrap();
    let given: Value = serde_json::from_str(done.last.as_deref().unwrap()).unwrap();
    assert_eq!(given, json!({"got": {"x": 1}, "words": "n is 1"}));
    assert_eq!(world.calls.lock().unwrap()[0].1, json!({"label": {"x": 1}, "n": 1}));
    assert_eq!(world.called("echo"), 3, "each once");
}

#[tokio::test]
async fn promptkit_185_the_output_is_that_of_the_last_step_that_gives_one() {
    let steps = |go: bool| {
        let leads = if go { "y" } else { "x" };
        json!([
            echo("a", json!({"v": 1})),
            branch(leads, None),
            after(echo(leads, json!({"v": 2})), json!(["b"]))
        ])
    };
    assert_eq!(gives(steps(true), r#"{"go": true}"#).await, json!({"v": 2}));
    assert_eq!(
        gives(steps(true), r#"{"go": false}"#).await,
        json!({"v": 1}),
        "what was skipped gives nothing"
    );
    assert_eq!(packs::errors(&of(json!([]))), ["too-few"]);
    let mut pack = of(steps(true));
    pack["compositions"]["c"]["output"] = json!("y");
    let error = World::default().run(&pack, &model(), r#"{"go": false}"#).await.error.unwrap().to_string();
    assert!(error.contains("`y`, which was not run"), "{error}");
}

#[tokio::test]
async fn promptkit_187_188_190_branches_lead_one_way() {
    let steps = json!([
        branch("x", Some("y")),
        after(echo("x", json!({"is": "x"})), json!(["b"])),
        after(echo("y", json!({"is": "y"})), json!(["b"])),
        after(echo("join", json!({"done": true})), json!(["x", "y"])),
    ]);
    for (go, way, other) in [(true, "x", "y"), (false, "y", "x")] {
        let world = World::default();
        let ended = world.run(&of(steps.clone()), &model(), &json!({"go": go}).to_string()).await;
        assert_eq!(ended.completed().unwrap().last.as_deref(), Some(r#"{"done":true}"#));
        let calls: Vec<Value> =
            world.calls.lock().unwrap().iter().map(|(_, arguments)| arguments.clone()).collect();
        assert_eq!(calls, [json!({"is": way}), json!({"done": true})], "not {other}");
    }
    let without_else = json!([
        branch("x", None),
        after(echo("x", json!({"is": "x"})), json!(["b"])),
        after(echo("z", json!({"is": "z"})), json!(["b"])),
    ]);
    assert_eq!(gives(without_else.clone(), r#"{"go": false}"#).await, json!({"is": "z"}));
    let same = json!([branch("x", Some("x")), after(echo("x", json!({"is": "x"})), json!(["b"]))]);
    for go in [true, false] {
        assert_eq!(gives(same.clone(), &json!({"go": go}).to_string()).await, json!({"is": "x"}));
    }
}

#[tokio::test]
async fn promptkit_189_a_step_is_skipped_if_all_it_waits_for_was() {
    let steps = json!([
        echo("a", json!({"is": "a"})),
        after(branch("x", None), json!(["a"])),
        after(echo("x", json!({})), json!(["b"])),
        after(echo("only_x", json!({"is": "only_x"})), json!(["x"])),
        after(echo("further", json!({"is": "further"})), json!(["only_x"])),
        after(echo("one_of", json!({"is": "one_of"})), json!(["x", "a"])),
    ]);
    let world = World::default();
    let ended = world.run(&of(steps), &model(), r#"{"go": false}"#).await;
    assert_eq!(ended.completed().unwrap().last.as_deref(), Some(r#"{"is":"one_of"}"#));
    assert_eq!(world.called("echo"), 2);
}

#[tokio::test]
async fn a_step_that_waits_for_an_empty_list_waits_for_nothing() {
    let broken = json!({"id": "a", "kind": "tool", "tool": "broken"});
    for (step, calls) in [(echo("b", json!({})), 0), (after(echo("b", json!({})), json!([])), 1)] {
        let world = World::default();
        let ended = world.run(&of(json!([broken, step])), &model(), "x").await;
        assert_eq!(ended.status, RunStatus::Failed);
        assert_eq!(world.called("echo"), calls);
    }
}

#[tokio::test]
async fn promptkit_191_what_is_no_number_is_not_less() {
    let mut steps = json!([branch("x", None), after(echo("x", json!({})), json!(["b"]))]);
    steps[0]["predicate"] = json!({"path": "${input.n}", "op": "less_than", "value": 3});
    let error = fails(steps.clone(), r#"{"n": "two"}"#).await;
    assert!(error.contains("`b`") && error.contains("only numbers"), "{error}");
    assert!(fails(steps.clone(), "{}").await.contains("`b`"), "also if it is missing");
    assert_eq!(gives(steps, r#"{"n": 2.5}"#).await, json!({}));
}

#[tokio::test]
async fn promptkit_192_the_outputs_of_branches_become_one() {
    let branches = json!([echo("l", json!({"n": 1})), echo("r", json!({"n": 2}))]);
    for (strategy, merged) in [
        ("barrier", json!({"l": {"n": 1}, "r": {"n": 2}})),
        ("append", json!([{"n": 1}, {"n": 2}])),
        ("replace", json!({"n": 2})),
    ] {
        assert_eq!(gives(json!([parallel(strategy, branches.clone())]), "go").await, json!({"all": merged}));
    }
}

#[tokio::test]
async fn promptkit_193_branches_that_fail_are_all_named_and_the_others_finish_if_they_are_to() {
    let broken = |id: &str| json!({"id": id, "kind": "tool", "tool": "broken"});
    let steps = json!([parallel("append", json!([broken("l"), broken("r"), echo("fine", json!({}))]))]);
    let world = World::default();
    let error = world.run(&of(steps.clone()), &model(), "go").await.error.unwrap().to_string();
    assert!(error.contains("l, r") && error.contains("it is broken"), "{error}");
    assert_eq!(world.called("echo"), 1, "it was not cancelled");
    let mut pack = of(steps);
    pack["compositions"]["c"]["engine"] = json!({"on_failure": "cancel", "concurrency": 1});
    let world = World::default();
    let error = world.run(&pack, &model(), "go").await.error.unwrap().to_string();
    assert!(error.contains("`l`") && !error.contains("l, r"), "{error}");
    assert_eq!((world.called("broken"), world.called("echo")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn promptkit_195_a_step_is_tried_again_as_often_as_it_says() {
    let flaky = |attempts: Option<u32>| {
        let mut step = json!({"id": "f", "kind": "tool", "tool": "flaky", "args": {"v": 1}});
        if let Some(attempts) = attempts {
            step["modifiers"] = json!({"retry": {"max_attempts": attempts}});
        }
        step
    };
    assert_eq!(gives(json!([flaky(Some(3))]), "go").await, json!({"v": 1}));
    for attempts in [None, Some(1), Some(2)] {
        let world = World::default();
        let error = world.run(&of(json!([flaky(attempts)])), &model(), "go").await.error.unwrap().to_string();
        assert!(error.contains("busy"), "the last error: {error}");
        assert_eq!(world.called("flaky"), attempts.unwrap_or(1) as usize);
    }
    let within = json!([parallel("barrier", json!([flaky(Some(3)), echo("e", json!({}))]))]);
    assert_eq!(gives(within, "go").await["all"]["f"], json!({"v": 1}));
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_what_a_step_was_given_and_which_attempt_gave_what() {
    let steps = json!([
        {"id": "f", "kind": "tool", "tool": "flaky", "args": {"v": "${input.v}"}, "modifiers": {"retry": {"max_attempts": 3}}},
        ask("a", json!("go on with ${f.output.v}")),
        {"id": "w", "kind": "prompt", "prompt_task": "chat"},
    ]);
    let (world, store) = (World::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let workflow = world.stage(&of(steps), &model()).machine().unwrap().workflow();
    let runtime = Runtime::builder().shared_store(store).build();
    let state = MachineState::calling("c", r#"{"v": 1}"#).talk(Talk::Once);
    let told = |event: convoke_core::Event| match event.kind {
        convoke_core::EventKind::Custom { name, value } if name.starts_with("composition.step") => {
            let kind = if name.ends_with("started") { "started" } else { "completed" };
            Some((kind, value["step_id"].clone(), value["input"].clone(), value["attempt"].clone()))
        }
        _ => None,
    };
    let mut events = runtime.start(&workflow, state).stream();
    let (mut heard, mut run) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        run = Some(event.run.clone());
        heard.extend(told(event));
    }
    let step = |id: &str, input: Value, attempt: u32| {
        let about = |kind, attempt| (kind, json!(id), input.clone(), attempt);
        [about("started", Value::Null), about("completed", json!(attempt))]
    };
    let flaky = |attempt| step("f", json!({"v": 1}), attempt);
    let wanted =
        [flaky(1), flaky(2), flaky(3), step("a", json!("go on with 1"), 1), step("w", json!({"v": 1}), 1)];
    assert_eq!(heard, wanted.concat());
    // Whoever reads the run later is told the same.
    let mut again = Vec::new();
    let registry = convoke_core::Registry::new();
    registry.register(convoke_core::Runner::new(&workflow));
    let mut later = runtime.subscribe(&registry, run.unwrap(), None);
    while let Some(event) = later.next().await {
        let event = event.unwrap();
        if matches!(event.kind, convoke_core::EventKind::RunEnded(_)) {
            break;
        }
        again.extend(told(event));
    }
    assert_eq!(again, heard);
}

#[tokio::test]
async fn promptkit_196_what_is_missing_is_null_and_does_not_exist() {
    for (predicate, holds) in [
        (json!({"path": "${input.gone}", "op": "equals", "value": 1}), false),
        (json!({"path": "${input.gone}", "op": "not_equals", "value": 1}), true),
        (json!({"path": "${input.gone}", "op": "in", "value": [1]}), false),
        (json!({"path": "${input.gone}", "op": "not_in", "value": [1]}), true),
        (json!({"path": "${input.gone}", "exists": false}), true),
        (json!({"path": "${input.nothing}", "exists": true}), true),
        (json!({"path": "${input.one}", "op": "equals", "value": 1.0}), true),
        (
            json!({"all_of": [{"path": "${input.one}", "exists": true}, {"not": {"path": "${input.one}", "op": "greater_than", "value": 1}}]}),
            true,
        ),
        (
            json!({"any_of": [{"path": "${input.gone}", "exists": true}, {"path": "${input.one}", "op": "in", "value": [2]}]}),
            false,
        ),
    ] {
        let mut steps = json!([
            branch("x", Some("y")),
            after(echo("x", json!({"r": true})), json!(["b"])),
            after(echo("y", json!({"r": false})), json!(["b"]))
        ]);
        steps[0]["predicate"] = predicate.clone();
        let given = gives(steps, r#"{"one": 1, "nothing": null}"#).await;
        assert_eq!(given["r"], json!(holds), "{predicate}");
    }
}

#[tokio::test]
async fn promptkit_197_198_references_are_whole_or_written_out() {
    let args = json!({"all": "${input}", "deep": ["${input.items[1]}"], "text": "see ${input.items} and ${ input.n }"});
    let given = gives(json!([echo("a", args)]), r#"{"items": [1, {"x": 2}], "n": 12345678901}"#).await;
    assert_eq!(given["all"], json!({"items": [1, {"x": 2}], "n": 12_345_678_901_u64}));
    assert_eq!(given["deep"], json!([{"x": 2}]));
    assert_eq!(given["text"], json!("see [1,{\"x\":2}] and 12345678901"));
    let error = fails(json!([echo("a", json!({"x": "${input.gone}"}))]), "{}").await;
    assert!(error.contains("`a`") && error.contains("${input.gone}"), "{error}");
    // A path without `${}` in a predicate is not one, which is found before anything is run.
    let mut steps = json!([branch("x", None), after(echo("x", json!({})), json!(["b"]))]);
    steps[0]["predicate"]["path"] = json!("input.go");
    assert_eq!(packs::errors(&of(steps)), ["bad-predicate"]);
}

#[tokio::test]
async fn promptkit_199_objects_and_lists_are_values_and_anything_else_is_a_text() {
    for (words, value) in [
        (r#" {"a":1} "#, json!({"a": 1})),
        ("[1]", json!([1])),
        ("true", json!("true")),
        ("42", json!("42")),
        ("hello", json!("hello")),
        ("{not json", json!("{not json")),
    ] {
        assert_eq!(gives(json!([echo("a", json!({"v": "${input}"}))]), words).await["v"], value);
    }
}

#[tokio::test]
async fn promptkit_200_a_text_is_a_text_and_an_answer_with_a_schema_a_value() {
    let steps = json!([ask("a", json!("say null")), echo("e", json!({"v": "${a.output}"}))]);
    assert_eq!(gives(steps.clone(), "go").await, json!({"v": "null"}));
    let mut pack = of(steps);
    pack["compositions"]["c"]["steps"][0]["output_schema"] = json!("label.json");
    let refused = World::default().stage(&pack, &model()).machine().unwrap_err();
    assert!(refused.to_string().contains("label.json"), "{refused}");
    let mut compiled = valid(&pack);
    let files: Vec<(String, &str)> = compiled.schema_files().collect();
    assert_eq!(files, [("/compositions/c/steps/0/output_schema".to_owned(), "label.json")]);
    assert!(compiled.add_schema("label.json", "{\"type\": 3}").is_err());
    compiled.add_schema("label.json", r#"{"type": "object", "required": ["label"]}"#).unwrap();
    // What does not fit is asked for once more.
    let model = ScriptedModel::replies(["nonsense", r#"{"label": "billing"}"#]);
    let stage = PackStage::new(Arc::new(compiled), World::default().tools(), Some(Arc::new(model.clone())));
    let state = MachineState::saying("go").talk(Talk::Once);
    let done =
        Runtime::new().start(&stage.machine().unwrap().workflow(), state).await.unwrap().completed().unwrap();
    assert_eq!(done.last.as_deref(), Some(r#"{"v":{"label":"billing"}}"#));
    assert!(model.requests()[0].output.is_some());
}

#[tokio::test]
async fn schemas_of_a_composition_hold() {
    let mut pack = of(json!([echo("e", json!({"v": "${input.v}"}))]));
    pack["compositions"]["c"]["input_schema"] = json!("in.json");
    pack["compositions"]["c"]["output_schema"] = json!("out.json");
    let world = World::default();
    for (words, wrong) in
        [(r#"{"w": 1}"#, Some("is given")), (r#"{"v": "x"}"#, Some("gives")), (r#"{"v": 1}"#, None)]
    {
        let mut compiled = valid(&pack);
        compiled.add_schema("in.json", "type: object\nrequired: [v]\n").unwrap();
        compiled.add_schema("out.json", r#"{"properties": {"v": {"type": "integer"}}}"#).unwrap();
        let stage = PackStage::new(Arc::new(compiled), world.tools(), None);
        let state = MachineState::saying(words).talk(Talk::Once);
        let ended = Runtime::new().start(&stage.machine().unwrap().workflow(), state).await.unwrap();
        match (wrong, ended.error) {
            (Some(wrong), Some(error)) => assert!(error.to_string().contains(wrong), "{error}"),
            (wrong, error) => assert!(wrong.is_none() && error.is_none(), "{words}: {error:?}"),
        }
    }
    assert_eq!(world.called("echo"), 2, "what is given is looked at first");
}

#[tokio::test]
async fn promptkit_201_an_agent_has_the_tools_of_its_prompt_that_the_step_names_and_a_prompt_none() {
    let agent = |tools: Value| json!({"id": "g", "kind": "agent", "prompt_task": "other", "tools": tools, "termination": {"max_steps": 2}});
    let steps =
        json!([agent(json!(["look_up", "flaky"])), {"id": "q", "kind": "prompt", "prompt_task": "other"}]);
    let model = model();
    World::default().run(&of(steps), &model, "go").await.completed().unwrap();
    let offered: Vec<Vec<String>> = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().map(|tool| tool.name.clone()).collect())
        .collect();
    assert_eq!(offered, [vec!["look_up".to_owned()], vec![]]);
}

#[tokio::test]
async fn promptkit_202_what_must_not_be_said_is_replaced_and_the_composition_goes_on() {
    let mut pack = of(json!([ask("a", json!("x")), echo("e", json!({"v": "${a.output}"}))]));
    pack["prompts"]["chat"]["validators"] =
        json!([{"type": "banned_words", "params": {"words": ["said"], "message": "Let me see."}}]);
    let done = World::default().run(&pack, &model(), "go").await.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some(r#"{"v":"Let me see."}"#));
}

#[tokio::test]
async fn promptkit_205_a_composition_of_tools_asks_no_model_and_is_a_function_by_its_name() {
    let mut pack = of(json!([echo("a", json!({"v": "${input}"}))]));
    let model = model();
    let done = World::default().run(&pack, &model, "hello").await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some(r#"{"v":"hello"}"#)));
    assert!(model.requests().is_empty());
    // Beside a workflow it is run by its name.
    pack["workflow"] = json!({"version": 1, "entry": "s", "states": {"s": {"prompt_task": "chat"}}});
    let stage = World::default().stage(&pack, &model);
    let unknown = stage.check_function("gone").unwrap_err();
    assert!(
        matches!(&unknown, PackMachineError::Unknown { what: "composition", name, .. } if name == "gone"),
        "{unknown}"
    );
    let workflow = stage.machine().unwrap().workflow();
    let called = Runtime::new().start(&workflow, MachineState::calling("c", "[2]")).await.unwrap();
    assert_eq!(called.completed().unwrap().last.as_deref(), Some(r#"{"v":[2]}"#));
    let error =
        Runtime::new().start(&workflow, MachineState::calling("gone", "x")).await.unwrap().error.unwrap();
    assert!(error.to_string().contains("`gone`"), "{error}");
}

#[tokio::test]
async fn promptkit_206_an_agent_ends_cleanly_and_what_steps_call_counts() {
    let agent = |termination: Value| json!({"id": "g", "kind": "agent", "prompt_task": "other", "termination": termination});
    let calls = || {
        ScriptedModel::builder()
            .when(Match::last_contains("last turn"), "Enough.")
            .otherwise(Reply::tool("look_up", json!({})))
            .build()
    };
    let world = World::default();
    let done =
        world.run(&of(json!([agent(json!({"max_steps": 3}))])), &calls(), "go").await.completed().unwrap();
    assert_eq!((done.last.as_deref(), world.called("look_up")), (Some("Enough."), 2));
    assert_eq!(done.context.unwrap().total_tool_calls(), 2);
    let world = World::default();
    let called = agent(json!({"tool_called": "look_up"}));
    let done = world.run(&of(json!([called])), &calls(), "go").await.completed().unwrap();
    assert_eq!(
        (done.last.as_deref(), world.called("look_up")),
        (Some("found"), 1),
        "what the tool gave is the answer"
    );

    let mut pack = of(json!([echo("a", json!({})), echo("b", json!({})), echo("d", json!({}))]));
    pack["workflow"] = json!({"version": 2, "entry": "s", "engine": {"budget": {"max_tool_calls": 2}}, "states": {
        "s": {"orchestration": "composition", "composition": "c", "terminal": true}}});
    let world = World::default();
    let done = world.run(&pack, &model(), "go").await.completed().unwrap();
    assert_eq!((done.status, world.called("echo")), (Status::BudgetExhausted, 2));
}

#[tokio::test]
async fn the_time_of_the_workflow_is_that_of_its_compositions_too() {
    let mut pack = of(json!([{"id": "a", "kind": "tool", "tool": "flaky"}]));
    pack["workflow"] = json!({"version": 2, "entry": "s", "engine": {"budget": {"max_wall_time_sec": 1}}, "states": {
        "s": {"orchestration": "composition", "composition": "c", "terminal": true}}});
    let mut tools = Toolset::new();
    let never = FunctionTool::new("flaky", "Never ends", |_: Map<String, Value>| {
        std::future::pending::<Result<String, Error>>()
    });
    tools.add(Arc::new(never)).unwrap();
    let machine = PackStage::new(Arc::new(valid(&pack)), tools, None).machine().unwrap();
    let state = MachineState::saying("go").talk(Talk::Once);
    let done = Runtime::new().start(&machine.workflow(), state).await.unwrap().completed().unwrap();
    assert_eq!(done.status, Status::BudgetExhausted);
}

/// A state that classifies, and two that it leads to.
fn triage() -> Value {
    let mut pack = of(json!([echo("kind", json!({"is": "${input.kind}", "event": "${input.event}"}))]));
    pack["compositions"]["c"]["engine"] = json!({"on_output": [
        {"predicate": {"path": "${kind.output.is}", "op": "equals", "value": "bill"}, "event": "Billing"}]});
    pack["workflow"] = json!({"version": 2, "entry": "triage", "states": {
        "triage": {"orchestration": "composition", "composition": "c",
            "on_event": {"Billing": "bill", "Other": "other"}},
        "bill": {"prompt_task": "chat", "terminal": true},
        "other": {"prompt_task": "other", "terminal": true}}});
    pack
}

#[tokio::test]
async fn promptkit_207_an_event_follows_from_what_a_composition_gives() {
    for (words, state) in
        [(r#"{"kind": "bill", "event": ""}"#, "bill"), (r#"{"kind": "x", "event": "Other"}"#, "other")]
    {
        let done = World::default().run(&triage(), &model(), words).await.completed().unwrap();
        assert_eq!(done.context.unwrap().current_state(), state);
        assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("said")));
    }
    // Without one, somebody else moves on, or says something else.
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let workflow = World::default().stage(&triage(), &model()).machine().unwrap().workflow();
    let runtime = || {
        let builder = Runtime::builder().shared_store(Arc::clone(&store)).model(model());
        builder.patience(std::time::Duration::ZERO).build()
    };
    let words = r#"{"kind": "x", "event": "Nowhere"}"#;
    let waits = runtime().start(&workflow, MachineState::saying(words)).await.unwrap();
    assert_eq!(waits.status, RunStatus::Suspended);
    let mail = convoke_core::store::NewMail::json("Billing", &json!("late")).unwrap();
    store.post(&waits.run, mail).await.unwrap();
    let done = runtime().resume(&workflow, waits.run).await.unwrap().completed().unwrap();
    assert_eq!(done.context.unwrap().current_state(), "bill");
}

#[tokio::test]
async fn a_composition_that_is_entered_begins_with_what_it_was_told() {
    let mut pack = of(json!([echo("a", json!({"v": "${input}"}))]));
    pack["workflow"] = json!({"version": 2, "entry": "talk", "states": {
        "talk": {"prompt_task": "chat", "on_event": {"Go": "work"}},
        "work": {"orchestration": "composition", "composition": "c", "terminal": true}}});
    let go = Reply::tool("workflow__transition", json!({"event": "Go", "context": "{\"n\": 1}"}));
    let model = ScriptedModel::builder().otherwise(go).build();
    let done = World::default().run(&pack, &model, "please").await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some(r#"{"v":{"n":1}}"#)));
}

/// Lets runs wait without anybody, and sends them mail.
struct Desk {
    workflow: Workflow<MachineState>,
    store: Arc<dyn Store>,
}

impl Desk {
    fn new(stage: PackStage) -> Self {
        Self { workflow: stage.machine().unwrap().workflow(), store: Arc::new(MemoryStore::new()) }
    }

    fn runtime(&self) -> Runtime {
        let builder = Runtime::builder().shared_store(Arc::clone(&self.store));
        builder.patience(std::time::Duration::ZERO).build()
    }

    async fn start(&self, words: &str) -> Outcome<MachineState> {
        let state = MachineState::saying(words).talk(Talk::Once);
        self.runtime().start(&self.workflow, state).await.unwrap()
    }

    async fn send(&self, run: &RunId, channel: &str, result: Value) -> Outcome<MachineState> {
        let mail = convoke_core::store::NewMail::json(channel, &result).unwrap();
        self.store.post(run, mail).await.unwrap();
        self.runtime().resume(&self.workflow, run.clone()).await.unwrap()
    }
}

fn agent_with_echo(termination: Value) -> Value {
    of(json!([{"id": "a", "kind": "agent", "prompt_task": "other", "tools": ["echo"], "input": "x",
        "termination": termination}]))
}

#[tokio::test]
async fn an_agent_step_waits_for_the_client_whose_tool_it_names() {
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("second"), "Both are here.")
        .otherwise(Reply::tool("echo", json!({"v": 1})))
        .build();
    let pack = agent_with_echo(json!({"max_steps": 3}));
    let of_client = || PackStage::new(Arc::new(valid(&pack)), Toolset::new(), Some(Arc::new(model.clone())));
    let desk = Desk::new(of_client());
    let waits = desk.start("go").await;
    assert_eq!((waits.status, model.calls()), (RunStatus::Suspended, 1));
    let waits = desk.send(&waits.run, "tool_results/a", json!({"content": "first"})).await;
    assert_eq!((waits.status, model.calls()), (RunStatus::Suspended, 2));
    let done = desk.send(&waits.run, "tool_results/a", json!({"content": "second"})).await;
    assert_eq!(done.completed().unwrap().last.as_deref(), Some("Both are here."));
    assert_eq!(model.calls(), 3, "nothing was asked twice");
    // Rounds count over all that it waited for; what the last one wants is not done any more.
    let eager =
        ScriptedModel::builder().otherwise(Reply::tool("echo", json!({"v": 1})).and_text("more")).build();
    let desk =
        Desk::new(PackStage::new(Arc::new(valid(&pack)), Toolset::new(), Some(Arc::new(eager.clone()))));
    let mut waits = desk.start("go").await;
    for _ in 0..2 {
        assert_eq!(waits.status, RunStatus::Suspended);
        waits = desk.send(&waits.run, "tool_results/a", json!({"content": "more"})).await;
    }
    assert_eq!((waits.status, eager.calls()), (RunStatus::Completed, 3));
}

#[tokio::test]
async fn the_time_in_which_a_client_is_waited_for_does_not_count_for_its_composition() {
    let mut pack = of(json!([echo("a", json!({}))]));
    pack["workflow"] = json!({"version": 2, "entry": "s", "engine": {"budget": {"max_wall_time_sec": 1}}, "states": {
        "s": {"orchestration": "composition", "composition": "c", "on_event": {"Done": "z"}},
        "z": {"prompt_task": "chat", "terminal": true}}});
    pack["compositions"]["c"]["engine"] = json!({"on_output": [{"event": "Done"}]});
    let model = ScriptedModel::builder().otherwise("Goodbye.").build();
    let desk = Desk::new(PackStage::new(Arc::new(valid(&pack)), Toolset::new(), Some(Arc::new(model))));
    let waits = desk.start("go").await;
    assert_eq!(waits.status, RunStatus::Suspended);
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let done = desk.send(&waits.run, "tool_results/a", json!({"content": "here"})).await.completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("Goodbye.")));
}

#[tokio::test]
async fn a_result_that_is_sent_twice_answers_no_later_call_of_an_agent_step() {
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("second"), "Both are here.")
        .otherwise(Reply::tool("echo", json!({"v": 1})))
        .build();
    let pack = agent_with_echo(json!({"max_steps": 3}));
    let desk =
        Desk::new(PackStage::new(Arc::new(valid(&pack)), Toolset::new(), Some(Arc::new(model.clone()))));
    let waits = desk.start("go").await;
    let first = convoke_core::store::NewMail::json("tool_results/a", &json!({"content": "first"})).unwrap();
    desk.store.post(&waits.run, first).await.unwrap();
    let waits = desk.send(&waits.run, "tool_results/a", json!({"content": "first"})).await;
    assert_eq!(
        (waits.status, model.calls()),
        (RunStatus::Suspended, 2),
        "the second call is not answered yet"
    );
    let done = desk.send(&waits.run, "tool_results/a", json!({"content": "second"})).await;
    assert_eq!(done.completed().unwrap().last.as_deref(), Some("Both are here."));
}

#[tokio::test]
async fn an_agent_step_ends_with_the_call_of_a_client_that_ends_it() {
    let model = ScriptedModel::builder().otherwise(Reply::tool("echo", json!({"v": 1}))).build();
    let pack = agent_with_echo(json!({"tool_called": "echo"}));
    let stage = PackStage::new(Arc::new(valid(&pack)), Toolset::new(), Some(Arc::new(model.clone())));
    let desk = Desk::new(stage);
    let waits = desk.start("go").await;
    let done = desk.send(&waits.run, "tool_results/a", json!({"content": "filled in"})).await;
    assert_eq!(done.completed().unwrap().last.as_deref(), Some("filled in"));
    assert_eq!(model.calls(), 1);
}

/// Two clients at once, who answer in the other order; the run is suspended meanwhile.
#[tokio::test]
async fn a_tool_step_waits_for_a_client_if_nobody_here_has_the_tool() {
    let branches = json!([echo("left", json!({"v": "${input}"})), echo("right", json!({"v": 2}))]);
    let pack = of(json!([parallel("barrier", branches)]));
    let desk = Desk::new(PackStage::new(Arc::new(valid(&pack)), Toolset::new(), None));
    let waits = desk.start("go").await;
    assert_eq!(waits.status, RunStatus::Suspended);
    // What is no result is passed over.
    let waits = desk.send(&waits.run, "tool_results/right", json!("second")).await;
    let waits = desk.send(&waits.run, "tool_results/right", json!({"content": "second"})).await;
    assert_eq!(waits.status, RunStatus::Suspended);
    let done = desk.send(&waits.run, "tool_results/left", json!({"content": r#"{"n": 1}"#})).await;
    let done = done.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some(r#"{"all":{"left":{"n":1},"right":"second"}}"#));
    // A client that could not do it fails the step.
    let waits = desk.start("go").await;
    let on_fire = || json!({"content": "the printer is on fire", "is_error": true});
    let waits = desk.send(&waits.run, "tool_results/left", on_fire()).await;
    let failed = desk.send(&waits.run, "tool_results/right", on_fire()).await;
    assert!(failed.error.unwrap().to_string().contains("the printer is on fire"));
    // Whoever goes on with a run makes again what it failed by: both clients are asked once more.
    let waits = desk.runtime().resume(&desk.workflow, waits.run).await.unwrap();
    assert_eq!(waits.status, RunStatus::Suspended);
    let waits = desk.send(&waits.run, "tool_results/left", json!({"content": "first"})).await;
    let done = desk.send(&waits.run, "tool_results/right", json!({"content": "second"})).await;
    let done = done.completed().unwrap();
    assert_eq!(done.last.as_deref(), Some(r#"{"all":{"left":"first","right":"second"}}"#));
}

#[tokio::test]
async fn a_composition_that_failed_is_run_again_with_other_words() {
    let mut pack = of(json!([
        branch("x", Some("y")),
        after(json!({"id": "x", "kind": "tool", "tool": "broken"}), json!(["b"])),
        after(echo("y", json!({"event": "Done"})), json!(["b"])),
    ]));
    pack["workflow"] = json!({"version": 2, "entry": "work", "states": {
        "work": {"orchestration": "composition", "composition": "c", "on_event": {"Done": "end"}},
        "end": {"prompt_task": "chat", "terminal": true}}});
    let desk = Desk::new(World::default().stage(&pack, &model()));
    let state = MachineState::saying(r#"{"go": true}"#);
    let failed = desk.runtime().start(&desk.workflow, state.clone()).await.unwrap();
    assert_eq!(failed.status, RunStatus::Suspended);
    let open = desk.store.questions(Some(&failed.run)).await.unwrap().remove(0);
    assert!(open.question.details.contains("it is broken"), "{open:?}");
    let again = convoke_core::Answer::text(r#"{"go": false}"#);
    desk.store.answer(&failed.run, &open.id, again).await.unwrap();
    let done = desk.runtime().resume(&desk.workflow, failed.run).await.unwrap().completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("said")));
    // A function has nobody to say something else.
    let call = MachineState::calling("c", r#"{"go": true}"#);
    let failed = desk.runtime().start(&desk.workflow, call).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
}

/// Every kind of step: a model, a branch, side by side, tried again, an agent with a tool.
fn everything() -> Value {
    let flaky = json!({"id": "f", "kind": "tool", "tool": "flaky", "args": {"v": "${a.output}"},
        "modifiers": {"retry": {"max_attempts": 3}}});
    let agent = json!({"id": "g", "kind": "agent", "prompt_task": "other", "tools": ["look_up"], "input": "research",
        "termination": {"max_steps": 3}});
    let mut split = branch("x", Some("y"));
    split["depends_on"] = json!(["a"]);
    of(json!([
        ask("a", json!("classify")),
        split,
        after(ask("x", json!("write x")), json!(["b"])),
        after(ask("y", json!("write y")), json!(["b"])),
        after(parallel("barrier", json!([flaky, agent])), json!(["a"])),
        after(echo("e", json!({"p": "${p.output.all}", "x": "${x.output}"})), json!(["p", "x"])),
    ]))
}

fn everything_model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::has_tool_result(), "researched")
        .when(Match::last_contains("research"), Reply::tool("look_up", json!({"q": 1})))
        .when(Match::last_contains("classify"), "kind")
        .otherwise("written")
        .build()
}

#[tokio::test(start_paused = true)]
async fn a_composition_that_is_killed_anywhere_comes_to_the_same_end_and_pays_for_nothing_twice() {
    let world = World::default();
    let model = everything_model();
    let workflow = world.stage(&everything(), &model).machine().unwrap().workflow();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).build();
    let state = MachineState::saying(r#"{"go": true}"#).talk(Talk::Once);
    let whole = runtime().start(&workflow, state).await.unwrap();
    let run = whole.run.clone();
    let whole = whole.completed().unwrap();
    let given: Value = serde_json::from_str(whole.last.as_deref().unwrap()).unwrap();
    assert_eq!(given, json!({"p": {"f": {"v": "kind"}, "g": "researched"}, "x": "written"}));
    assert_eq!(model.requests().len(), 4, "a, x, and the agent twice");
    let counts = |world: &World| -> BTreeMap<String, usize> {
        ["echo", "flaky", "look_up"].map(|name| (name.to_owned(), world.called(name))).into()
    };
    assert_eq!(
        counts(&world),
        BTreeMap::from([("echo".into(), 1), ("flaky".into(), 3), ("look_up".into(), 1)])
    );
    let entries = store.entries(&run, 1, usize::MAX).await.unwrap();
    let finished = |kind, before: u64| {
        let is_over = |entry: &&convoke_core::Entry| {
            entry.effect == kind && entry.phase == convoke_core::Phase::Finished && entry.seq < before
        };
        entries.iter().filter(is_over).count()
    };
    assert!(entries.len() > 15, "{}", entries.len());
    for cut in 1..=entries.len() as u64 {
        let (asked, called) = (model.requests().len(), world.calls.lock().unwrap().len());
        // A retry begins with the failures that are on record.
        let flaky = entries.iter().filter(|entry| {
            entry.seq < cut
                && entry.phase == convoke_core::Phase::Finished
                && entry.effect == convoke_core::EffectKind::Tool
                && entry.path.as_str().contains("/f")
        });
        world.failures.store(u32::try_from(flaky.count()).unwrap(), Ordering::SeqCst);
        let killed = Fork::new(run.clone(), cut).create(&store).await.unwrap();
        let ended = runtime().resume(&workflow, killed.clone()).await.unwrap().completed().unwrap();
        assert_eq!(ended.last, whole.last, "killed before entry {cut}");
        let asked = model.requests().len() - asked + finished(convoke_core::EffectKind::Model, cut);
        let called =
            world.calls.lock().unwrap().len() - called + finished(convoke_core::EffectKind::Tool, cut);
        assert_eq!((asked, called), (4, 5), "killed before entry {cut}");
        let replay = runtime().replay(&workflow, &killed).await.unwrap();
        assert!(replay.error.is_none(), "killed before entry {cut}: {:?}", replay.error);
    }
}
