//! Workflows for tests that have everything in them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses what it needs")]

use convoke_agent::{Agent, AgentTool, FunctionTool};
use convoke_core::{Error, Money, Price, Usage, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AgentStep, Chain, Join, Parallel, func};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    pub topic: String,
    pub found: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Query {
    pub query: String,
}

pub const PROMPT: &str = "what is a heddle, dear machine";
pub const REPLY: &str = "a heddle is a loop of cord";
pub const ARGUMENT: &str = "heddle-query-text";
pub const RESULT: &str = "heddle-result-text";

/// Calls the tools it is offered, all at once, and then answers.
pub fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .name("anthropic/claude-test")
        .price(Price::new(Money::from_dollars(3), Money::from_dollars(15)))
        .when(
            Match::has_tool_result(),
            Reply::text(REPLY).usage(Usage { cached_input_tokens: 40, ..Usage::tokens(100, 20) }),
        )
        .when(
            Match::offers_tool("search"),
            Reply::tool("search", json!({"query": ARGUMENT}))
                .and_tool("search", json!({"query": "again"}))
                .usage(Usage::tokens(50, 10)),
        )
        .when(Match::offers_tool("inner"), Reply::tool("inner", json!({"query": "help"})))
        .otherwise(REPLY)
        .build()
}

pub fn search() -> FunctionTool {
    FunctionTool::new("search", "Looks things up", |query: Query| async move {
        Ok::<_, Error>(format!("{RESULT} for {}", query.query.len()))
    })
}

pub fn researcher(name: &str) -> AgentStep<Notes> {
    let agent = Agent::builder(name).system("You look things up.").tool(search()).build().unwrap();
    AgentStep::new(name, agent, |notes: &Notes| notes.topic.clone())
        .store(|notes: &mut Notes, result| notes.found.push(result.text()))
}

/// An agent whose tool is an agent.
pub fn manager() -> AgentStep<Notes> {
    let inner = Agent::builder("inner").build().unwrap();
    let helper = AgentTool::new(inner);
    let agent = Agent::builder("manager").tool(helper).build().unwrap();
    AgentStep::new("manager", agent, |notes: &Notes| notes.topic.clone()).discard()
}

/// A chain of a function and a fan-out over agents with tools, one of which has an agent for a tool.
pub fn fan_out() -> Workflow<Notes> {
    let join = |notes: &mut Notes, own: Notes| notes.found.extend(own.found);
    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(researcher("left"), join)
        .branch(researcher("right"), join)
        .branch(manager(), |_, _| {})
        .build()
        .unwrap();
    let tidy = func("tidy", |notes: &mut Notes| {
        notes.found.sort();
        Ok::<_, Error>(())
    });
    Workflow::new(Chain::new("research").then(fan).then(tidy))
}

pub fn notes() -> Notes {
    Notes { topic: PROMPT.to_owned(), ..Notes::default() }
}
