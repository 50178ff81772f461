//! Results of tool calls that were allowed, or were not.

use std::sync::Arc;
use std::time::Duration;

use crate::common::stored::{Home, echo};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, BoxFuture, EffectRequest, Error, InterceptedEffect, Interceptor, Question, Repeat, RunStatus,
    Tool, ToolCall, ToolEffect, ToolSpec, Verdict, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, task_boxed};
use serde_json::json;

/// Calls a tool as often as the state says, and leaves what came of it.
fn calls(tool: &TestTool) -> AsyncFunc<Trail> {
    let tool: Arc<dyn Tool> = Arc::new(tool.clone());
    task_boxed("calls", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            for number in 0..trail.count {
                let (id, name) = (format!("c{number}"), tool.spec().name().to_owned());
                let call = ToolCall { id, name, arguments: json!({"n": number}) };
                let own = scope.tool_scope(&*tool, None);
                let result = own.tool(&tool, &call).await?;
                trail.steps.push(format!("{}{}", if result.is_error { "!" } else { "" }, result.content));
            }
            Ok(())
        })
    })
}

fn state(count: u64) -> Trail {
    Trail { count, ..Trail::default() }
}

fn one(tool: &TestTool) -> Workflow<Trail> {
    Workflow::new(Chain::new("main").then(calls(tool)))
}

#[tokio::test]
async fn an_output_may_be_as_long_as_the_tool_says_and_no_longer() {
    for (length, fits) in [(9, true), (10, true), (11, false)] {
        let spec = ToolSpec::new("look", "", ToolEffect::Reads.into()).max_output(10);
        let tool = TestTool::new(spec, Ok("x".repeat(length)));
        let told = Home::new(echo()).start(&one(&tool), state(1)).await.completed().unwrap().steps;
        let too_long = format!("!`look` gave {length} bytes, more than the 10 it may give");
        let is_right = if fits { told[0] == "x".repeat(length) } else { told[0].starts_with(&too_long) };
        assert!(is_right, "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_of_a_call_that_may_have_acted_it_is_said_that_nobody_knows() {
    for (repeat, unknown) in [(Repeat::Never, true), (Repeat::Reenter, false), (Repeat::Safe, false)] {
        let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(repeat).timeout(millis(10));
        let tool = TestTool::new(spec, Ok("paid".into())).slow(Duration::from_secs(60));
        let told = Home::new(echo()).start(&one(&tool), state(1)).await.completed().unwrap().steps;
        assert!(told[0].starts_with('!') && told[0].contains("10ms"), "{told:?}");
        assert_eq!(told[0].contains("Nobody knows whether it took effect"), unknown, "{repeat:?}: {told:?}");
    }
}

/// Asks about every call; approvals may cover all of them.
struct Asks;

impl Interceptor for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let question = Question::approval("May it?").covers("looking");
        let is_call = matches!(about.request, EffectRequest::Tool { .. });
        Box::pin(async move { Ok(if is_call { Verdict::ask(question) } else { Verdict::Allow }) })
    }
}

/// What came of two calls, each answered like this if it is asked about; and how often that was.
async fn asked(answer: impl Fn() -> Answer) -> (Vec<String>, usize) {
    let (home, tool) = (Home::new(echo()), TestTool::gives("look", "seen"));
    let (workflow, runtime) = (one(&tool), home.builder().interceptor(Asks).build());
    let mut outcome = runtime.start(&workflow, state(2)).await.unwrap();
    let mut questions = 0;
    while outcome.status == RunStatus::Suspended {
        home.answer(&outcome.run, "May it?", answer()).await;
        questions += 1;
        outcome = runtime.resume(&workflow, outcome.run).await.unwrap();
    }
    (outcome.completed().unwrap().steps, questions)
}

#[tokio::test]
async fn an_approval_is_for_one_call_unless_it_is_for_the_run_and_a_refusal_never_is() {
    assert_eq!(asked(Answer::approve).await, (vec!["seen".to_owned(); 2], 2));
    assert_eq!(asked(|| Answer::approve().for_run()).await, (vec!["seen".to_owned(); 2], 1));
    let refused = |reason: &str| vec![format!("!`look` was not called: {reason}"); 2];
    assert_eq!(asked(|| Answer::reject("too late").for_run()).await, (refused("too late"), 2));
    assert_eq!(asked(|| Answer::reject("")).await, (refused("a person said no"), 2));
    assert_eq!(asked(|| Answer::revise("look elsewhere")).await, (refused("look elsewhere"), 2));
}
