//! Settings of nodes: inherited, and overridden.

use std::time::Duration;

use crate::run_support::{Rig, systems, text};
use convoke_agent::FunctionTool;
use convoke_core::{Error, Limits, ModelRequest, Runtime, Toolset};
use convoke_goals::{Agent, Goal, Input, Overrides, Retry, Sequence, Tools, Values, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::{Value, json};

fn one(goal: Goal) -> Workflow {
    Workflow::new("w").sequence(Sequence::new("main").goal(goal))
}

fn always(reply: &str) -> ScriptedModel {
    ScriptedModel::builder().when(Match::any(), reply).build()
}

fn tool(name: &str) -> FunctionTool {
    let work = |_, _: Value| async { Ok::<_, Error>("done") };
    FunctionTool::dynamic(name, "Does it.", json!({"type": "object"}), work).unwrap().pure()
}

fn tools(names: &[&str]) -> Toolset {
    names.iter().fold(Toolset::new(), |tools, name| tools.with(tool(name)).unwrap())
}

fn offered(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn agentcore_025_026_030_the_innermost_model_that_is_given_is_asked() {
    let (whole, goals, agents) = (always("whole"), always("goal"), always("agent"));
    let own = Agent::new("own", "x").customize(Overrides::new().model(agents.clone()));
    let goal = Goal::new("g", "x")
        .using(own)
        .using(Agent::new("plain", "x"))
        .customize(Overrides::new().model(goals.clone()));
    let ran = Rig::new(&whole).run(one(goal)).await;
    assert_eq!(text(&ran.completed(), "g"), "goal");
    assert_eq!((whole.calls(), agents.calls()), (0, 1));
    assert_eq!(
        goals.calls(),
        2,
        "for the agent without a model of its own, and to put both answers together"
    );
}

#[tokio::test]
async fn agentcore_023_027_028_contexts_grow_from_the_outside_to_the_inside() {
    let model = always("x");
    let agent = Agent::new("a", "You are a.").customize(Overrides::new().context("L4"));
    let goal = Goal::new("g", "x").using(agent).customize(Overrides::new().context("L3 $topic"));
    let sequence = Sequence::new("main").goal(goal).goal(Goal::new("plain", "x"));
    let tree = Workflow::new("w")
        .input(Input::new("topic"))
        .customize(Overrides::new().context("L1"))
        .sequence(sequence.customize(Overrides::new().context("L2")));
    let rig = Rig::new(&model).with(|equipment| equipment.context = "L0".into());
    rig.run_with(tree, [("topic", "owls")]).await.completed();
    let systems = systems(&model);
    // A context is not looked at for values.
    assert!(systems[0].ends_with("You are a.\n\nL0\n\nL1\n\nL2\n\nL3 $topic\n\nL4"), "{}", systems[0]);
    assert!(systems[1].ends_with("\n\nL0\n\nL1\n\nL2"), "{}", systems[1]);
    assert!(!systems[1].contains("L3") && !systems[1].contains("L4"), "{}", systems[1]);
}

#[tokio::test]
async fn agentcore_021_to_say_nothing_is_to_change_nothing() {
    let model = always("x");
    let sequence = Sequence::new("main")
        .goal(Goal::new("plain", "x"))
        .goal(Goal::new("silent", "x").customize(Overrides::new()));
    let tree = Workflow::new("w").customize(Overrides::new().context("L1")).sequence(sequence);
    let rig = Rig::new(&model).with(|equipment| {
        equipment.context = "L0".into();
        equipment.tools = tools(&["read"]);
    });
    rig.run(tree).await.completed();
    let (requests, systems) = (model.requests(), systems(&model));
    assert_eq!(requests.len(), 2);
    assert!(systems[0].contains("L0\n\nL1"), "{}", systems[0]);
    assert_eq!(systems[0], systems[1]);
    assert_eq!((offered(&requests[0]), offered(&requests[1])), (vec!["read"], vec!["read"]));
}

#[tokio::test]
async fn agentcore_022_what_is_said_where_nothing_was_is_all_there_is() {
    let (model, own) = (always("x"), always("x"));
    let said = Overrides::new()
        .model(own.clone())
        .tools(tools(&["special"]))
        .restrict_calls(["special"])
        .context("Mine alone.");
    let sequence =
        Sequence::new("main").goal(Goal::new("plain", "x")).goal(Goal::new("said", "x").customize(said));
    Rig::new(&model).run(Workflow::new("w").sequence(sequence)).await.completed();
    assert_eq!((model.calls(), own.calls()), (1, 1));
    assert_eq!(offered(&model.requests()[0]), [""; 0]);
    assert_eq!(offered(&own.requests()[0]), ["special"]);
    let (before, system) = (&systems(&model)[0], &systems(&own)[0]);
    let role = before.rsplit("\n\n").next().unwrap();
    assert!(system.ends_with(&format!("{role}\n\nMine alone.")), "{system}");
}

#[tokio::test]
async fn agentcore_029_the_innermost_tools_hold_and_restrictions_hold_together() {
    let named = |names: &[&str]| Tools::Named(names.iter().map(|name| (*name).to_owned()).collect());
    let agent = |name: &str, overrides| Agent::new(name.to_owned(), "x").customize(overrides);
    let goal = Goal::new("g", "x")
        .using(agent("inherits", Overrides::new()))
        .using(agent("chooses", Overrides::new().allowed_tools(named(&["write"]))))
        .using(agent("restricted", Overrides::new().restrict_tools(named(&["re*"]))))
        .using(agent("none", Overrides::new().allowed_tools(Tools::None)))
        .using(agent("given", Overrides::new().tools(tools(&["special"]))))
        .customize(Overrides::new().allowed_tools(named(&["read", "write"])));
    let model = ScriptedModel::builder().when(Match::any(), "x").build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = tools(&["read", "write", "remove"]));
    rig.run(one(goal)).await.completed();
    let requests = model.requests();
    let mut seen: Vec<Vec<&str>> = requests.iter().take(5).map(offered).collect();
    seen.sort();
    assert_eq!(seen, [vec![], vec!["read"], vec!["read", "write"], vec!["special"], vec!["write"]]);
}

#[tokio::test(start_paused = true)]
async fn a_part_never_gets_more_time_or_budget_than_the_whole() {
    let model = always("x");
    let goal = Goal::new("g", "x").customize(Overrides::new().budget(Limits::default().model_calls(5)));
    let tree = one(goal)
        .sequence(Sequence::new("more").goal(Goal::new("second", "x")))
        .customize(Overrides::new().budget(Limits::default().model_calls(1)));
    let ran = Rig::new(&model).run(tree).await;
    assert!(matches!(ran.failed().root(), Error::Budget(_)), "{}", ran.failed());
    assert_eq!(model.calls(), 1);

    let hanging = ScriptedModel::builder().when(Match::any(), Reply::from("x").hangs()).build();
    let goal = Goal::new("g", "x").customize(Overrides::new().timeout(Duration::from_secs(3600)));
    let tree = one(goal).customize(Overrides::new().timeout(Duration::from_millis(20)));
    let ran = Rig::new(&hanging).run(tree).await;
    assert!(matches!(ran.failed().root(), Error::TimedOut(_)), "{}", ran.failed());
}

#[tokio::test(start_paused = true)]
async fn the_innermost_retries_hold() {
    let broken = || convoke_core::ModelError::of_status(503, "overloaded");
    let failing = || ScriptedModel::builder().when(Match::any(), Reply::error(broken())).build();
    let tries = async |goal: Goal, model: &ScriptedModel| {
        let ran = Rig::new(model).run(one(goal).customize(Overrides::new().retry(Retry::times(2)))).await;
        ran.failed();
        model.calls()
    };
    let outer = failing();
    let usual = tries(Goal::new("g", "x").customize(Overrides::new().retry(Retry::times(0))), &outer).await;
    let inherited = failing();
    assert_eq!(tries(Goal::new("g", "x"), &inherited).await, 3 * usual);
    let agents = failing();
    assert_eq!(tries(Goal::new("g", "x").using(Agent::new("a", "x")), &agents).await, 3 * usual);
}

#[tokio::test]
async fn agentcore_037_a_run_does_not_change_what_was_given() {
    let model = always("made");
    // The goal makes a value of the same name as what is given.
    let prepared = Rig::new(&model).prepare(one(Goal::new("a", "x")).input(Input::new("a").default("1")));
    let given: Values = [("a", "2")].into_iter().collect();
    let bound = prepared.bind(given.clone()).unwrap();
    let outcome = Runtime::new().start(&prepared.workflow(), bound.state.clone()).await.unwrap();
    let state = outcome.completed().unwrap();
    assert_eq!((text(&state, "a"), state.inputs.get("a")), ("made".to_owned(), Some(&json!("2"))));
    assert!(bound.state.outputs.is_empty(), "what the next run begins with");

    let mut changed = given.clone();
    changed.set("a", "3");
    assert_eq!(bound.state.inputs, given);
}

#[tokio::test]
async fn a_workflow_that_has_changed_goes_on_and_says_so_or_is_refused() {
    let tree = |second: Goal| {
        Workflow::new("w")
            .sequence(Sequence::new("main").goal(Goal::new("first", "x").supervised_by_human()).goal(second))
    };
    let model = always("x");
    let rig = Rig::new(&model);
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let began = rig.prepare(tree(Goal::new("second", "y")));
    let started =
        runtime.start(&began.workflow(), began.bind(Default::default()).unwrap().state).await.unwrap();
    assert_eq!(started.questions().len(), 1, "{:?}", started.error);
    let changed = async |tree: Workflow| {
        let resumed = runtime.resume(&rig.prepare(tree).workflow(), started.run.clone()).stream();
        let (events, outcome) = resumed.collect().await;
        let told = events.iter().any(|event| format!("{:?}", event.kind).contains("workflow_changed"));
        (told, outcome.map(|outcome| outcome.questions().len()))
    };
    assert!(matches!(changed(tree(Goal::new("second", "y"))).await, (false, Ok(1))));
    assert!(matches!(changed(tree(Goal::new("second", "another text"))).await, (true, Ok(1))));
    let other = Workflow::new("w").sequence(Sequence::new("main").goal(Goal::new("second", "y")));
    let (_, refused) = changed(other).await;
    assert!(refused.unwrap_err().to_string().contains("no longer has: `w/main/first`"));
}
