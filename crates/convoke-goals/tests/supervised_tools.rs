//! The tools that a supervisor is told of, whoever called them.
use std::sync::Arc;

use crate::run_support::{Ran, Rig};
use crate::supervised::{kept, last, promise, promise_with, requests, run_id};
use convoke_agent::FunctionTool;
use convoke_core::{Error, Fork, ModelError, ModelErrorKind, Store, Toolset};
use convoke_goals::{Agent, Goal, Input, Overrides, Sequence, Spawning, Supervision, Tools, Workflow};
use convoke_models::scripted::ScriptedModelBuilder;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::{Value, json};

/// Tools of these names that do nothing.
fn tools(names: &[&str]) -> Toolset {
    names.iter().fold(Toolset::new(), |all, name| {
        let tool = FunctionTool::new(*name, "Does it", |_: serde_json::Map<String, Value>| async {
            Ok::<_, Error>("done")
        });
        all.with(tool).unwrap()
    })
}

/// A model that commits to this and finds nothing to report.
fn committing(commitment: Value) -> ScriptedModelBuilder {
    ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(commitment))
        .when(Match::output("assessment"), Reply::json(kept()))
}

fn rig(model: &ScriptedModel, depth: u32) -> Rig {
    Rig::new(model).with(|equipment| {
        equipment.tools = tools(&["dig", "echo", "look"]);
        equipment.spawning = Spawning::Allowed { depth, at_once: 3 };
    })
}

fn main(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(goal))
}

fn is(role: &str) -> Match {
    Match::any_contains(format!("<task role=\"{role}\""))
}

fn is_main() -> Match {
    Match::any_contains("<current-goal id=\"g\">")
}

/// Whoever it is calls a tool and is done.
fn calls(model: ScriptedModelBuilder, who: impl Fn() -> Match, tool: &str) -> ScriptedModelBuilder {
    model
        .when(who().and(Match::has_tool_result()), Reply::text("seen"))
        .when(who(), Reply::tool(tool, json!({})))
}

/// The main model calls in two at once, who call tools; and one more, who fails after calling one.
fn spawning(commitment: Value) -> ScriptedModel {
    let two = json!({"agents": [{"role": "miner", "task": "m"}, {"role": "scout", "task": "s"}]});
    let turns =
        Reply::tool("spawn_agents", two).and_tool("spawn_agent", json!({"role": "fool", "task": "f"}));
    let down = Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"));
    let model = committing(commitment)
        .when(is_main().and(Match::has_tool_result()), Reply::text("done"))
        .when(is_main(), turns)
        .when(is("fool").and(Match::has_tool_result()), down);
    let model = calls(model, || is("fool"), "echo");
    calls(calls(model, || is("miner"), "look"), || is("scout"), "dig").build()
}

/// What a person is told about tools.
fn shown(ran: &Ran) -> Value {
    ran.outcome.questions()[0].question.subject["tools"].clone()
}

#[tokio::test]
async fn the_tools_of_those_called_in_are_known_whatever_became_of_them() {
    let model = spawning(promise());
    let ran = rig(&model, 1).run(main(Goal::new("g", "Do it").supervised_by_human())).await;
    assert_eq!(shown(&ran), json!(["spawn_agents", "spawn_agent", "dig", "echo", "look"]));
}

#[tokio::test]
async fn a_tool_of_somebody_called_in_that_was_not_planned_is_a_reason_to_look() {
    let planned = ["spawn_agents", "spawn_agent", "look", "echo"];
    let model = spawning(promise_with("tools_planned", json!(planned)));
    let goal = Goal::new("g", "Do it").supervised();
    let ran = rig(&model, 1).run(main(goal)).await;
    let told = ran.customs("supervision").into_iter().find(|told| told["phase"] == "reconcile").unwrap();
    assert_eq!(told["triggers"], json!(["unplanned_tools:dig"]));
}

#[tokio::test]
async fn those_called_in_by_somebody_called_in_count_too() {
    let model = committing(promise())
        .when(is_main().and(Match::has_tool_result()), Reply::text("done"))
        .when(is_main(), Reply::tool("spawn_agent", json!({"role": "scout", "task": "s"})))
        .when(is("scout").and(Match::has_tool_result()), Reply::text("heard"))
        .when(is("scout"), Reply::tool("spawn_agent", json!({"role": "miner", "task": "m"})));
    let model = calls(model, || is("miner"), "look").build();
    let ran = rig(&model, 2).run(main(Goal::new("g", "Do it").supervised_by_human())).await;
    assert_eq!(shown(&ran), json!(["spawn_agent", "look"]));
}

#[tokio::test]
async fn they_are_the_same_wherever_a_run_was_cut() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let commitment = || promise_with("tools_planned", json!(["look"]));
    let prepared = |model: &ScriptedModel| rig(model, 1).prepare(main(Goal::new("g", "Do it").supervised()));
    let judged = |model: &ScriptedModel| requests(model, "assessment").last().map(last);
    let runtime = || convoke_core::Runtime::builder().shared_store(Arc::clone(&store)).build();
    let whole = spawning(commitment());
    let state = prepared(&whole).bind(Default::default()).unwrap().state;
    let outcome = runtime().start(&prepared(&whole).workflow(), state).id(run_id()).await.unwrap();
    let tools = "Tools used:\n- spawn_agents\n- spawn_agent\n- dig\n- echo\n- look";
    assert!(judged(&whole).unwrap().contains(tools), "{:?}", judged(&whole));

    for entry in store.entries(&run_id(), 1, usize::MAX).await.unwrap() {
        let cut = Fork::new(run_id(), entry.seq).create(&store).await.unwrap();
        let model = spawning(commitment());
        let resumed = runtime().resume(&prepared(&model).workflow(), cut).await.unwrap();
        assert_eq!(resumed.status, outcome.status, "cut before {}: {:?}", entry.seq, resumed.error);
        if let Some(told) = judged(&model) {
            assert!(told.contains(tools), "cut before {}: {told}", entry.seq);
        }
    }
}

#[tokio::test]
async fn the_tools_of_everybody_a_goal_uses_are_known() {
    let inner = Workflow::new("inner")
        .input(Input::new("task"))
        .sequence(Sequence::new("only").goal(Goal::new("deep", "Dig: $task")));
    let goal = Goal::new("g", "Do it")
        .using(Agent::new("scout", "You look."))
        .using(Goal::new("half", "Echo it").supervision(Supervision::Off))
        .using(Agent::workflow("digger", inner, "task"))
        .supervised();
    let model = calls(committing(promise()), || is("scout"), "look");
    let model = calls(model, || Match::any_contains("<current-goal id=\"half\">"), "echo");
    let model = calls(model, || Match::any_contains("<current-goal id=\"deep\">"), "dig");
    let model = model.otherwise("together").build();
    rig(&model, 1).run(main(goal)).await.completed();
    let told = last(&requests(&model, "assessment")[0]);
    assert!(told.contains("Tools used:\n- look\n- echo\n- dig\n"), "{told}");
}

#[tokio::test]
async fn who_only_says_that_nothing_is_left_to_improve_may_have_called_tools_for_it() {
    let says = |name: &str| Match::system_contains(format!("You are {name}."));
    let model = committing(promise())
        .when(says("Ann").and(Match::has_tool_result()), Reply::text("CONVERGED"))
        .when(says("Ann"), Reply::tool("look", json!({})))
        .when(says("Bob"), Reply::text("a draft\nCONVERGED"))
        .build();
    let goal = Goal::converging("g", "Improve it", 3)
        .using(Agent::new("ann", "You are Ann."))
        .using(Agent::new("bob", "You are Bob."))
        .supervised_by_human();
    let ran = rig(&model, 1).run(main(goal)).await;
    assert_eq!(shown(&ran), json!(["look"]));
}

/// The tools that whoever commits is told of.
async fn offered(goal: Goal, depth: u32) -> String {
    let model = committing(promise()).otherwise("x").build();
    rig(&model, depth).run(main(goal.supervised())).await.completed();
    let told = last(&requests(&model, "commitment")[0]);
    let (_, list) = told.split_once("TOOLS THAT WILL BE AVAILABLE\n").unwrap_or_default();
    list.trim_end().to_owned()
}

#[tokio::test]
async fn who_commits_knows_what_those_who_do_it_may_use() {
    let both = "spawn_agent, spawn_agents";
    assert_eq!(offered(Goal::new("g", "Do it"), 1).await, format!("dig, echo, look, {both}"));
    assert_eq!(offered(Goal::new("g", "Do it"), 0).await, "dig, echo, look");

    let only = |name: &str| Overrides::new().allowed_tools(Tools::Named(vec![name.to_owned()]));
    let scout = Agent::new("scout", "You look.").customize(only("look"));
    let miner = Agent::new("miner", "You dig.").customize(only("dig"));
    let goal = || Goal::new("g", "Do it").using(scout.clone()).using(miner.clone());
    assert_eq!(offered(goal(), 1).await, "look, dig", "not what the goal has and nobody uses");
    let agent = || Goal::new("g", "Do it").using(Agent::new("a", "You are a."));
    assert_eq!(
        offered(agent(), 1).await,
        "dig, echo, look",
        "an agent of a goal is as deep as one called in"
    );
    assert_eq!(offered(agent(), 2).await, format!("dig, echo, look, {both}"));

    let inner = Workflow::new("inner").input(Input::new("task")).sequence(
        Sequence::new("only")
            .goal(Goal::new("deep", "Dig: $task").customize(only("dig")))
            .agent(Agent::new("teller", "You tell.").task("Tell it").customize(only("echo"))),
    );
    let goal = Goal::new("g", "Do it").using(Agent::workflow("digger", inner, "task"));
    assert_eq!(offered(goal, 1).await, "dig, echo");
}
