//! An agent as a step of a workflow.

use convoke_agent::{Agent, AgentResult, AgentStop, Approval, ClientTool, FunctionTool};
use convoke_core::{Error, EventKind, Responder, Runtime, ToolEffect, Usage, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AgentStep, Chain};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Case {
    question: String,
    result: Option<AgentResult>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Yes;

impl Responder for Yes {
    fn respond<'a>(
        &'a self,
        _: &'a convoke_core::PendingQuestion,
    ) -> convoke_core::BoxFuture<'a, Option<convoke_core::Answer>> {
        Box::pin(async { Some(convoke_core::Answer::approve()) })
    }
}

fn case() -> Case {
    Case { question: "Please.".to_owned(), result: None }
}

#[tokio::test]
async fn gains_189_an_agent_step_forwards_everything_and_exposes_usage_and_pending_calls() {
    let state = FunctionTool::with_context(
        "count",
        "Counts.",
        |context: convoke_agent::ToolContext, _: Nothing| async move {
            context.scope.publish(&json!({"count": 1})).await?;
            Ok::<_, Error>("one")
        },
    )
    .effects([ToolEffect::Reads]);
    let client = ClientTool::typed::<Nothing>("show", "Shows it.");
    let agent = Agent::builder("agent")
        .tool(state)
        .tool(client)
        .approval(Approval::of(["count"]))
        .build()
        .expect("a valid agent");
    let step = AgentStep::new("agent", agent, |case: &Case| case.question.clone())
        .store(|case: &mut Case, result| case.result = Some(result));
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::tool("show", json!({})).usage(Usage::tokens(10, 20)))
        .otherwise(Reply::tool("count", json!({})).usage(Usage::tokens(1, 2)))
        .build();
    let runtime = Runtime::builder().model(model).responder(Yes).build();
    let workflow = Workflow::new(Chain::new("main").then(step));

    let (events, outcome) = runtime.start(&workflow, case()).stream().collect().await;

    let heard = |wanted: fn(&EventKind) -> bool| events.iter().any(|event| wanted(&event.kind));
    assert!(heard(|kind| matches!(kind, EventKind::QuestionAsked { .. })), "the approval reaches listeners");
    assert!(heard(|kind| matches!(kind, EventKind::QuestionAnswered { .. })));
    assert!(heard(|kind| matches!(kind, EventKind::StateSnapshot { .. })), "so does a tool's state");
    let result = outcome.unwrap().completed().unwrap().result.expect("it was stored");
    assert_eq!(result.stop, AgentStop::ClientToolCalls);
    assert_eq!(result.usage, Usage::tokens(11, 22));
    assert_eq!(result.pending_calls.len(), 1);
    assert_eq!(result.pending_calls[0].name, "show");
}
