//! Agents as tools of agents.
use std::time::Duration;

use crate::common::{Diary, agent, call, calls_then_done, echo, result, results, slow, streamed};
use convoke_agent::{Agent, AgentStop, AgentTool, ClientTool, FunctionTool, Specialist, SpecialistRegistry};
use convoke_core::{
    Error, Execution, ModelError, ModelErrorKind, Repeat, Runtime, Timeout, Tool, ToolEffect, Toolset,
    Transcript, Usage,
};
use convoke_models::{Match, Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

fn asks(agent: &str) -> ScriptedModel {
    calls_then_done(Reply::tool(agent, json!({"query": "why?"})).usage(Usage::tokens(1, 1)))
}

#[tokio::test]
async fn gains_185_an_agent_as_a_tool_gives_its_answer_and_its_events_have_their_own_path() {
    let inner = ScriptedModel::builder().otherwise("Because.").build();
    let sage = Agent::builder("sage").model(inner.clone()).build().unwrap();
    let helper = agent(&asks("sage")).tool(AgentTool::new(sage)).build().unwrap();
    let unheard = result(helper.clone()).await;
    let (events, outcome) = streamed(&Runtime::new(), helper).await;
    let result = outcome.completed().unwrap().result.unwrap();
    assert_eq!(results(&result), [("Because.".to_owned(), false)]);
    assert_eq!(unheard, result, "it works without a listener too");
    assert_eq!(inner.last_request().unwrap().messages.last().unwrap().text(), "why?");
    let mut below: Vec<String> = events
        .iter()
        .filter(|event| event.path.as_str().starts_with("helper/turn/sage"))
        .map(|event| format!("{} {}", event.path.as_str(), crate::common::kind(&event.kind)))
        .collect();
    below.dedup();
    let expected = [
        "helper/turn/sage tool_call_executing",
        "helper/turn/sage agent_started",
        "helper/turn/sage/turn step_started",
        "helper/turn/sage/turn/model model_call_started",
        "helper/turn/sage/turn/model message_started",
        "helper/turn/sage/turn/model message_delta",
        "helper/turn/sage/turn/model message_ended",
        "helper/turn/sage/turn/model model_call_ended",
        "helper/turn/sage/turn step_ended",
        "helper/turn/sage custom",
        "helper/turn/sage tool_call_ended",
        "helper/turn/sage tool_call_result",
    ];
    assert_eq!(below, expected);
}

#[tokio::test]
async fn gains_185_the_tools_description_and_limits() {
    let sage = Agent::builder("sage").build().unwrap();
    let tool = AgentTool::new(sage.clone());
    let spec = tool.spec();
    assert_eq!((spec.name(), spec.definition.description.as_str()), ("sage", "Invoke the sage agent"));
    assert_eq!(spec.definition.parameters["required"], json!(["query"]));
    assert_eq!((spec.repeat, spec.timeout), (Repeat::Reenter, Some(Timeout::Unbounded)));
    assert_eq!(spec.execution, Execution::Server);
    assert_eq!(AgentTool::new(sage).description("Knows").spec().definition.description, "Knows");
}

#[tokio::test]
async fn gains_186_what_a_sub_agent_uses_and_says_is_its_own() {
    let inner = calls_then_done(call("echo", "deep").usage(Usage::tokens(1_000, 1_000)));
    let sage = Agent::builder("sage").model(inner).tool(echo("echo", &Diary::default())).build().unwrap();
    let helper = agent(&asks("sage")).tool(AgentTool::new(sage)).build().unwrap();
    let (events, outcome) = streamed(&Runtime::new(), helper).await;
    let with_agent = outcome.completed().unwrap().result.unwrap();
    // To the caller it is as if a function had said the same.
    let function = FunctionTool::new("sage", "Knows", |_: Query| async { Ok::<_, Error>("done") });
    let with_function = result(agent(&asks("sage")).tool(function).build().unwrap()).await;
    assert_eq!(with_agent, with_function);
    assert_eq!(results(&with_agent), [("done".to_owned(), false)]);
    let usage = with_agent.usage.total_tokens();
    assert!(usage < 100, "{usage}");
    // What the sub-agent does is told below the call of it: its own call, and two replies.
    let places = |wanted: &str| -> Vec<&str> {
        let told = events.iter().filter(|event| crate::common::kind(&event.kind) == wanted);
        told.map(|event| event.path.as_str()).collect()
    };
    assert_eq!(places("tool_call_executing"), ["helper/turn/sage", "helper/turn/sage/turn/echo"]);
    assert_eq!(
        places("message_ended"),
        [
            "helper/turn/model",
            "helper/turn/sage/turn/model",
            "helper/turn/sage/turn#2/model",
            "helper/turn#2/model"
        ]
    );
}

/// What an agent is asked as a tool.
#[derive(Deserialize, JsonSchema)]
struct Query {
    #[expect(dead_code, reason = "only its schema matters")]
    query: String,
}

#[tokio::test]
async fn gains_186_a_sub_agents_failure_is_only_a_tool_error() {
    let inner = ScriptedModel::replies([Reply::error(ModelError::new(ModelErrorKind::Overloaded, "busy"))]);
    let sage = Agent::builder("sage").model(inner).build().unwrap();
    let result = result(agent(&asks("sage")).tool(AgentTool::new(sage)).build().unwrap()).await;
    assert_eq!(results(&result), [("agent execution failed: model call failed: busy".to_owned(), true)]);
    assert_eq!(result.stop, AgentStop::Complete);
}

#[tokio::test]
async fn an_agent_has_five_turns_as_a_tool_unless_it_says_otherwise() {
    let busy = || {
        let next = |request: &convoke_core::ModelRequest| call("echo", &request.messages.len().to_string());
        ScriptedModel::builder().when(Match::offers_tools(), Reply::with(next)).otherwise("Enough.").build()
    };
    let calls = |model: ScriptedModel, change: fn(Agent) -> AgentTool, own: Option<u32>| async move {
        let mut builder = Agent::builder("sage").model(model.clone()).tool(echo("echo", &Diary::default()));
        if let Some(own) = own {
            builder = builder.max_turns(own);
        }
        let tool = change(builder.build().unwrap());
        let result = result(agent(&asks("sage")).tool(tool).build().unwrap()).await;
        assert_eq!(results(&result), [("Enough.".to_owned(), false)]);
        model.calls()
    };
    assert_eq!(calls(busy(), AgentTool::new, None).await, 5);
    assert_eq!(calls(busy(), AgentTool::new, Some(7)).await, 7);
    assert_eq!(calls(busy(), |sage| AgentTool::new(sage).max_turns(2), Some(7)).await, 2);
}

#[derive(Deserialize, JsonSchema)]
struct Translation {
    text: String,
    language: String,
}

#[tokio::test]
async fn typed_arguments_become_a_conversation() {
    let inner = ScriptedModel::replies(["Hei"]);
    let translator = Agent::builder("translator").model(inner.clone()).build().unwrap();
    let tool = AgentTool::typed(translator, |job: Translation| -> Transcript {
        format!("{} in {}", job.text, job.language).into()
    });
    let outer = calls_then_done(Reply::tool("translator", json!({"text": "Hi", "language": "Norwegian"})));
    let result = result(agent(&outer).tool(tool).build().unwrap()).await;
    assert_eq!(results(&result), [("Hei".to_owned(), false)]);
    assert_eq!(inner.last_request().unwrap().messages.last().unwrap().text(), "Hi in Norwegian");
}

#[tokio::test]
async fn a_sub_agent_cannot_hand_calls_to_a_client() {
    let inner = ScriptedModel::builder().otherwise(call("show", "x")).build();
    let sage = Agent::builder("sage")
        .model(inner)
        .tool(ClientTool::typed::<crate::common::Text>("show", "Shows"))
        .build()
        .unwrap();
    let result = result(agent(&asks("sage")).tool(AgentTool::new(sage)).build().unwrap()).await;
    let [(content, true)] = &results(&result)[..] else { panic!("one failed result") };
    assert!(content.contains("has no client"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn sub_agents_run_side_by_side_unless_their_tools_write() {
    for (effect, expected) in [(ToolEffect::Network, 4), (ToolEffect::Writes, 2)] {
        let diary = Diary::default();
        let sage = |name: &str| {
            let tool = slow("work", &diary, Duration::from_secs(1)).effects([effect]);
            let model = calls_then_done(call("work", name));
            AgentTool::new(Agent::builder(name).model(model).tool(tool).build().unwrap())
        };
        let outer =
            calls_then_done(Reply::tool("one", json!({"query": "?"})).and_tool("two", json!({"query": "?"})));
        result(agent(&outer).tool(sage("one")).tool(sage("two")).build().unwrap()).await;
        let begun = diary.entries().iter().take_while(|entry| entry.ends_with("begins")).count();
        assert_eq!(begun * 2, expected, "{:?}", diary.entries());
    }
}

#[test]
fn gains_187_the_registry_of_specialists() {
    let made = |name: &str| Specialist::new(Agent::builder(name).build().unwrap());
    let registry = SpecialistRegistry::new()
        .register(made("lawyer").capabilities(["contracts", "patents"]))
        .register(made("engineer").capabilities(["patents"]).description("old"))
        .register(made("engineer").capabilities(["patents"]).description("Knows machines"))
        .register(made("poet"));
    assert_eq!((registry.len(), registry.is_empty()), (3, false));
    assert_eq!(registry.names().collect::<Vec<_>>(), ["lawyer", "engineer", "poet"]);
    assert!(registry.has("poet") && !registry.has("plumber") && registry.get("plumber").is_none());
    assert_eq!(registry.get("lawyer").unwrap().agent().name(), "lawyer");
    let replaced = registry.get("engineer").unwrap().tool();
    assert_eq!(replaced.spec().definition.description, "Knows machines");
    let all: Vec<&str> = registry.iter().map(Specialist::name).collect();
    assert_eq!(all, ["lawyer", "engineer", "poet"]);
    assert_eq!(registry.able_to("patents").map(Specialist::name).collect::<Vec<_>>(), ["lawyer", "engineer"]);
    assert_eq!(registry.able_to("contracts").map(Specialist::name).collect::<Vec<_>>(), ["lawyer"]);
    assert_eq!(registry.able_to("plumbing").count(), 0);

    let tools = registry.add_to(Toolset::new().with(echo("echo", &Diary::default())).unwrap()).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["echo", "lawyer", "engineer", "poet"]);
    let engineer = tools.get("engineer").unwrap();
    assert_eq!(engineer.spec().definition.description, "Knows machines");
    assert!(registry.add_to(registry.tools().unwrap()).is_err());
}
