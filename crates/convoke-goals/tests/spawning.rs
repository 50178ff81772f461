//! Agents that are spawned at run time.
use crate::run_support::{Echo, Rig, prompts, systems, text};
use convoke_core::{ModelError, ModelErrorKind, ModelRequest};
use convoke_goals::{Agent, Goal, Overrides, Sequence, Spawning, Tools, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

fn tree() -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Do it")))
}

fn rig(model: &ScriptedModel, echo: &Echo, depth: u32) -> Rig {
    Rig::new(model).with(|equipment| {
        equipment.tools = echo.tools();
        equipment.spawning = Spawning::Allowed { depth, at_once: 3 };
    })
}

fn is_main() -> Match {
    Match::any_contains("<current-goal id=\"g\">")
}

fn is(role: &str) -> Match {
    Match::any_contains(format!("<task role=\"{role}\""))
}

/// A main model that makes one call and then answers.
fn main_calls(call: Reply) -> convoke_models::scripted::ScriptedModelBuilder {
    ScriptedModel::builder().when(is_main().and(Match::has_tool_result()), "done").when(is_main(), call)
}

/// What the tools of a request gave back.
fn results(request: &ModelRequest) -> Vec<(String, bool)> {
    let results = request.messages.iter().flat_map(|message| message.results());
    results.map(|result| (result.content.clone(), result.is_error)).collect()
}

/// What the first call of the main model gave back.
fn given_back(model: &ScriptedModel) -> (String, bool) {
    let last = model.requests().into_iter().rev().find(|request| !results(request).is_empty()).unwrap();
    results(&last).remove(0)
}

fn spawn(agents: Value) -> Reply {
    Reply::tool("spawn_agents", json!({"agents": agents}))
}

#[tokio::test]
async fn agent_081_085_those_called_in_have_the_tools_but_cannot_call_in_others() {
    let echo = Echo::default();
    let model = main_calls(Reply::tool("spawn_agent", json!({"role": "scout", "task": "look north"})))
        .when(is("scout").and(Match::has_tool_result()), "snow")
        .when(is("scout"), echo.call("north"))
        .build();
    let ran = rig(&model, &echo, 1).run(tree()).await;
    assert_eq!(text(&ran.completed(), "g"), "done");
    assert_eq!(given_back(&model), ("snow".to_owned(), false));
    let names = |request: &ModelRequest| request.tools.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    let requests = model.requests();
    assert_eq!(names(&requests[0]), ["echo", "spawn_agent", "spawn_agents"]);
    assert_eq!(names(&requests[1]), ["echo"]);
    assert!(systems(&model)[0].contains("spawn sub-agents"));
    assert!(
        systems(&model)[1].contains("You are a scout") && !systems(&model)[1].contains("spawn sub-agents")
    );
    assert!(prompts(&model)[1].contains("look north") && prompts(&model)[1].contains("parent-goal=\"g\""));
    assert_eq!(ran.customs("subagent_spawned"), [json!({"goal": "g", "agent": "scout", "dynamic": true})]);
    assert_eq!(
        ran.customs("subagent_completed"),
        [json!({"goal": "g", "agent": "scout", "output_bytes": 4})]
    );
}

#[tokio::test]
async fn agent_086_whoever_is_too_deep_is_refused() {
    let echo = Echo::default();
    let deeper = Reply::tool("spawn_agent", json!({"role": "third", "task": "x"}));
    let model = main_calls(Reply::tool("spawn_agent", json!({"role": "scout", "task": "x"})))
        .when(is("scout").and(Match::has_tool_result()), "alone")
        .when(is("scout"), deeper.clone())
        .build();
    rig(&model, &echo, 1).run(tree()).await.completed();
    let refused = model.requests().iter().flat_map(results).find(|(_, is_error)| *is_error).unwrap();
    assert!(refused.0.contains("spawn_agent"), "{refused:?}");
    assert!(prompts(&model).iter().all(|prompt| !prompt.contains("role=\"third\"")));

    let model = main_calls(Reply::tool("spawn_agent", json!({"role": "scout", "task": "x"})))
        .when(is("scout").and(Match::has_tool_result()), "together")
        .when(is("scout"), deeper)
        .when(is("third"), "here")
        .build();
    rig(&model, &echo, 2).run(tree()).await.completed();
    assert_eq!(given_back(&model), ("together".to_owned(), false));
}

#[tokio::test]
async fn agent_087_arguments_that_make_no_sense_call_nobody_in() {
    let echo = Echo::default();
    for (call, why) in [
        (Reply::tool("spawn_agent", json!({"task": "x"})), "`role` is required"),
        (Reply::tool("spawn_agent", json!({"role": "scout"})), "`task` is required"),
        (Reply::tool("spawn_agents", json!({})), "agents array is required"),
        (spawn(json!([{"role": "a", "task": "x"}, {"role": "b"}])), "agent[1]: `task` is required"),
        (spawn(json!([1, 2, 3, 4])), "at most 3"),
    ] {
        let model = main_calls(call).build();
        let ran = rig(&model, &echo, 1).run(tree()).await;
        ran.completed();
        let (said, is_error) = given_back(&model);
        assert!(is_error && said.contains(why), "{said}");
        assert!(ran.customs("subagent_spawned").is_empty());
        assert_eq!(model.calls(), 2, "nobody but the main model is asked");
    }
}

#[tokio::test]
async fn agent_087_where_nobody_may_be_called_in_the_call_is_an_error() {
    let echo = Echo::default();
    let model = main_calls(Reply::tool("spawn_agent", json!({"role": "scout", "task": "x"}))).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    let ran = rig.run(tree()).await;
    assert_eq!(text(&ran.completed(), "g"), "done");
    let expected = "tool `spawn_agent` not found; the tools are: echo".to_owned();
    assert_eq!(given_back(&model), (expected, true));
    assert!(ran.customs("subagent_spawned").is_empty());
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agent_088_outputs_are_asked_for() {
    let echo = Echo::default();
    let call = json!({"role": "scout", "task": "look", "outputs": ["a", "b"]});
    let model =
        main_calls(Reply::tool("spawn_agent", call)).when(is("scout"), "{\"a\": 1, \"b\": 2}").build();
    rig(&model, &echo, 1).run(tree()).await.completed();
    let task = &prompts(&model)[1];
    assert!(task.contains("JSON object") && task.contains("`a`") && task.contains("`b`"), "{task}");
    assert_eq!(given_back(&model).0, "{\"a\": 1, \"b\": 2}");
}

#[tokio::test(start_paused = true)]
async fn agent_089_answers_come_in_the_order_they_were_asked_for_and_failures_in_their_place() {
    let echo = Echo::default();
    let down = Reply::error(ModelError::new(ModelErrorKind::InvalidRequest, "model down"));
    let agents = json!([
        {"role": "slow", "task": "1"}, {"role": "bad", "task": "2"}, {"role": "slow", "task": "3"},
    ]);
    let model = main_calls(spawn(agents))
        .when(is("bad"), down)
        .when(Match::user_contains("\n1\n"), Reply::text("one").delay(std::time::Duration::from_millis(30)))
        .when(is("slow"), "three")
        .build();
    rig(&model, &echo, 1).run(tree()).await.completed();
    let (said, is_error) = given_back(&model);
    assert!(!is_error);
    let answers: Vec<String> = serde_json::from_str(&said).unwrap();
    assert_eq!(answers.len(), 3);
    assert_eq!((answers[0].as_str(), answers[2].as_str()), ("one", "three"));
    assert!(answers[1].starts_with("Error: ") && answers[1].contains("model down"), "{answers:?}");

    let model = main_calls(spawn(json!([]))).build();
    rig(&model, &echo, 1).run(tree()).await.completed();
    assert_eq!(given_back(&model), ("[]".to_owned(), false));
}

#[tokio::test]
async fn agent_090_whoever_comes_to_a_limit_is_incomplete_and_no_success() {
    let echo = Echo::default();
    let busy = {
        let echo = echo.clone();
        Reply::with(move |request| echo.call(&request.messages.len().to_string()))
    };
    let model = main_calls(Reply::tool("spawn_agent", json!({"role": "scout", "task": "look"})))
        .when(is("scout").and(!Match::offers_tools()), "half of it")
        .when(is("scout"), busy)
        .build();
    rig(&model, &echo, 1).run(tree()).await.completed();
    let (said, is_error) = given_back_to_main(&model);
    assert!(is_error, "{said}");
    assert!(said.contains("incomplete: it reached its limit of 30 turns"), "{said}");
    assert!(said.contains("half of it"), "{said}");
    let turns = prompts(&model).iter().filter(|prompt| prompt.contains("<task role=\"scout\"")).count();
    assert_eq!(turns, 30);
}

fn given_back_to_main(model: &ScriptedModel) -> (String, bool) {
    results(model.requests().last().unwrap()).remove(0)
}

#[tokio::test]
async fn agents_of_a_goal_are_as_deep_as_those_called_in() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().otherwise("x").build();
    let tree = Workflow::new("w")
        .sequence(Sequence::new("s").goal(Goal::new("g", "Do it").using(Agent::new("a", "You are a."))));
    rig(&model, &echo, 1).run(tree.clone()).await.completed();
    assert_eq!(model.requests()[0].tools.len(), 1);
    rig(&model, &echo, 2).run(tree).await.completed();
    assert_eq!(model.requests()[1].tools.len(), 3);
}

#[tokio::test]
async fn nobody_is_called_in_where_that_is_not_allowed_or_there_are_no_tools() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().otherwise("x").build();
    let never = Rig::new(&model).with(|equipment| equipment.tools = echo.tools());
    never.run(tree()).await.completed();
    assert_eq!(model.requests()[0].tools.len(), 1);
    let without = Rig::new(&model).with(|equipment| equipment.spawning = Spawning::default());
    without.run(tree()).await.completed();
    assert!(model.requests()[1].tools.is_empty());
}

#[tokio::test]
async fn a_list_that_names_either_tool_for_calling_in_others_allows_both() {
    for name in ["spawn_agent", "spawn_agents"] {
        let (model, echo) = (ScriptedModel::replies(["done"]), Echo::default());
        let tools = convoke_goals::Tools::Named(vec![name.to_owned()]);
        let tree = tree().customize(convoke_goals::Overrides::new().allowed_tools(tools));
        rig(&model, &echo, 1).run(tree).await.completed();
        let offered: Vec<String> = model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(offered, ["spawn_agent", "spawn_agents"], "{name}");
    }
}

#[tokio::test]
async fn a_list_of_tools_decides_about_calling_in_others_too() {
    let echo = Echo::default();
    let model = ScriptedModel::builder().otherwise("x").build();
    let offered = async |tools: Tools| {
        let goal = Goal::new("g", "Do it").customize(Overrides::new().allowed_tools(tools));
        let tree = Workflow::new("w").sequence(Sequence::new("s").goal(goal));
        rig(&model, &echo, 1).run(tree).await.completed();
        let last = model.last_request().unwrap();
        last.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    assert_eq!(offered(Tools::Named(vec!["echo".into()])).await, ["echo"]);
    assert_eq!(offered(Tools::Named(vec!["spawn_*".into()])).await, ["spawn_agent", "spawn_agents"]);
    assert!(offered(Tools::None).await.is_empty());
}
