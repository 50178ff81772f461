//! Budgets shared by several steps.

use std::time::Duration;

use crate::common::stored::{Home, asks};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis, run_on, with_model};
use convoke_agent::Agent;
use convoke_core::{
    Answer, Canceller, Error, Limits, ModelRequest, Money, Resource, RunStatus, Step, Usage, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AgentStep, Chain, Join, OnError, Parallel, Prompt, StepExt, prompt};
use serde_json::json;

fn ask(name: &str) -> Prompt<Trail> {
    prompt(name, |_: &Trail| "?").text(|trail| &mut trail.text)
}

/// A model whose replies use this much.
fn using(usage: Usage) -> ScriptedModel {
    ScriptedModel::builder().when(Match::any(), Reply::text("yes").usage(usage)).build()
}

#[tokio::test(start_paused = true)]
async fn what_an_inner_budget_sets_aside_and_does_not_use_is_given_back_to_the_outer_one() {
    // Each call sets more than 4,000 tokens aside and uses 100: both budgets have room for one such call at a time.
    let model = using(Usage::tokens(50, 50));
    let inner = Chain::new("inner").then(ask("a")).then(ask("b")).then(ask("c"));
    let outer = Chain::new("outer").then(inner.limits(Limits::default().tokens(5_000))).then(ask("d"));
    let outer = outer.timeout(Duration::from_secs(60));
    let outcome =
        run_on(&with_model(&model), outer.limits(Limits::default().tokens(5_000)), Trail::default()).await;
    assert_eq!((outcome.status, model.calls()), (RunStatus::Completed, 4));
    let cut: Vec<_> = model.requests().iter().filter_map(|request| request.params.max_tokens).collect();
    assert!(cut.is_empty(), "no answer needs to be cut short: {cut:?}");
}

#[tokio::test]
async fn money_that_is_used_up_exactly_lets_no_call_be_made_whose_price_nobody_knows() {
    let cent = Money::from_cents(1);
    let model = using(Usage { cost: Some(cent), ..Usage::tokens(50, 50) });
    let chain = Chain::new("main").then(ask("a")).then(ask("b")).limits(Limits::default().cost(cent));
    let outcome = run_on(&with_model(&model), chain, Trail::default()).await;
    assert_eq!((outcome.status, model.calls()), (RunStatus::BudgetExhausted, 1));
    let error = outcome.error.unwrap();
    let Error::Budget(exhausted) = error.root() else { panic!("{error}") };
    assert_eq!((&exhausted.resource, exhausted.limit, exhausted.used), (&Resource::Cost, 10_000, 10_000));
}

/// Prompts side by side.
fn side_by_side(prompts: usize) -> Parallel<Trail> {
    let builder = Parallel::builder("fan", Join::all().cancel_rest());
    let take = |trail: &mut Trail, branch: Trail| trail.steps.push(branch.text);
    (0..prompts).fold(builder, |fan, n| fan.branch(ask(&format!("p{n}")), take)).build().unwrap()
}

/// A model that takes a second, and uses 300 tokens.
fn busy() -> ScriptedModel {
    let reply = Reply::text("yes").usage(Usage::tokens(150, 150)).delay(Duration::from_secs(1));
    ScriptedModel::builder().when(Match::any(), reply).build()
}

#[tokio::test(start_paused = true)]
async fn what_is_only_set_aside_for_others_does_not_use_a_budget_up() {
    let model = busy();
    let fan = side_by_side(20).limits(Limits::default().tokens(50_000));
    let outcome = run_on(&with_model(&model), fan, Trail::default()).await;
    assert_eq!((outcome.status, model.calls()), (RunStatus::Completed, 20), "{:?}", outcome.error);
    assert_eq!(outcome.totals.usage.total_tokens(), 6_000);
    let cut: Vec<_> = model.requests().iter().filter_map(|request| request.params.max_tokens).collect();
    assert!(cut.is_empty(), "no answer needs to be cut short: {cut:?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_really_used_up_ends_those_who_wait_for_it() {
    let model = busy();
    let fan = side_by_side(20).limits(Limits::default().tokens(5_000));
    let outcome = run_on(&with_model(&model), fan, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::BudgetExhausted);
    let used = outcome.totals.usage.total_tokens();
    assert!(used >= 4_500, "what was only set aside ended it: {used} used");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_budget_can_be_cancelled_and_runs_out_of_time() {
    let hangs = ScriptedModel::builder().when(Match::any(), Reply::text("late").hangs()).build();
    let limits = Limits::default().tokens(5_000);
    let workflow = Workflow::new(side_by_side(3).limits(limits.clone()));
    let canceller = Canceller::new();
    let start = with_model(&hangs).start(&workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    let cancelled = tokio::join!(start.into_future(), cancel).0.unwrap();
    assert_eq!((cancelled.status, hangs.calls()), (RunStatus::Cancelled, 1));

    let fan = Parallel::builder("fan", Join::all().finish_rest())
        .branch(Chain::new("a").then(ask("first")), |_, _| {})
        .branch(
            Chain::new("b").then_or(ask("second").timeout(millis(10)), OnError::Continue),
            |trail: &mut Trail, _| {
                trail.text = "gave up".to_owned();
            },
        )
        .build()
        .unwrap();
    let model = ScriptedModel::builder()
        .when(Match::any(), Reply::text("yes").usage(Usage::tokens(50, 50)).delay(Duration::from_secs(1)))
        .build();
    let outcome = run_on(&with_model(&model), fan.limits(limits), Trail::default()).await;
    assert_eq!((outcome.status, model.calls()), (RunStatus::Completed, 1), "{:?}", outcome.error);
    assert_eq!(outcome.state.text, "gave up");
}

/// An agent that looks twice if it may, and is done.
fn looks_twice(name: &str, tool: &TestTool) -> impl Step<Trail> + use<> {
    let agent = Agent::builder(name).tool(tool.clone()).build().unwrap();
    AgentStep::new(name, agent, |_: &Trail| "go")
        .store(|trail: &mut Trail, result| trail.steps.push(result.text()))
}

#[tokio::test]
async fn turns_taken_before_a_resume_count_further_out_even_if_they_are_too_many_further_in() {
    let results =
        |request: &ModelRequest| request.messages.iter().map(|message| message.results().count()).sum();
    let model = ScriptedModel::builder()
        .when(
            Match::request_where(move |request| {
                let seen: usize = results(request);
                seen >= 2
            }),
            "done",
        )
        .when(Match::offers_tool("look"), Reply::tool("look", json!({})))
        .otherwise("done")
        .build();
    let (home, tool) = (Home::new(model), TestTool::gives("look", "seen"));
    let two = |turns| {
        let first = looks_twice("first", &tool).limits(Limits::default().turns(turns));
        Workflow::new(Chain::new("main").then(first).then(asks("well?")).then(looks_twice("second", &tool)))
    };
    let run = home.start(&two(9), Trail::default()).await.run;
    assert_eq!(tool.calls(), 2);
    home.answer(&run, "well?", Answer::text("well")).await;
    let resumed = home.runtime().resume(&two(1), run).limits(Limits::default().turns(4)).await.unwrap();
    assert_eq!(resumed.completed().unwrap().steps, ["done", "well", "done"]);
    assert_eq!(tool.calls(), 2, "three turns were taken, and the fourth is the last");
}
