//! Budgets and records where a model does not say what it used.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    Error, Limits, ModelError, ModelErrorKind, ModelRequest, Money, Price, Resource, RunStatus, Runtime,
    ToolEffects, ToolSpec, Usage, Visibility, Workflow,
};
use convoke_models::resilience::{Attempts, Retrying};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{Chain, Prompt, StepExt, prompt, task_boxed};
use serde_json::json;

use crate::common::stored::Home;
use crate::common::{Trail, run_on, with_model};

/// Answers, and says nothing of what that took.
fn reticent(price: Option<Price>) -> ScriptedModel {
    let reply = Reply::text("word ".repeat(40)).usage(Usage::default());
    let model = ScriptedModel::builder().when(Match::any(), reply);
    match price {
        Some(price) => model.price(price).build(),
        None => model.build(),
    }
}

fn ask(name: &str) -> Prompt<Trail> {
    prompt(name, |_: &Trail| "?".repeat(200)).text(|trail| &mut trail.text)
}

fn sixty() -> Chain<Trail> {
    (0..60).fold(Chain::new("main"), |chain, number| chain.then(ask(&format!("p{number}"))))
}

#[tokio::test]
async fn a_limit_on_tokens_ends_a_run_whose_model_never_says_what_it_used() {
    let model = reticent(None);
    let runtime = Home::new(model.clone()).runtime();
    let workflow = Workflow::new(sixty());
    let limits = Limits::default().tokens(3_000);
    let stopped = runtime.start(&workflow, Trail::default()).limits(limits).await.unwrap();
    let calls = model.calls();
    assert_eq!(stopped.status, RunStatus::BudgetExhausted, "{:?}", stopped.error);
    assert!((10..40).contains(&calls), "{calls}");
    let usage = stopped.totals.usage;
    assert!(usage.is_estimated && usage.input_tokens > 500 && usage.output_tokens > 400, "{usage:?}");
    assert_eq!(
        (usage.cost, stopped.totals.unpriced_calls),
        (None, calls as u64),
        "what it cost is not known"
    );

    // Replayed, every reply counts as much as it did.
    let limits = Limits::default().tokens(3_000);
    let again = runtime.resume(&workflow, stopped.run).limits(limits).await.unwrap();
    assert_eq!((again.status, model.calls()), (RunStatus::BudgetExhausted, calls));
    assert_eq!(again.totals.usage, usage);
}

#[tokio::test]
async fn a_limit_on_money_ends_such_a_run_too_if_there_is_a_price() {
    let price = Some(Price::new(Money::from_dollars(10), Money::from_dollars(10)));
    let model = reticent(price);
    let runtime = Home::new(model.clone()).runtime();
    let workflow = Workflow::new(sixty());
    let limits = || Limits::default().cost(Money::from_cents(3));
    let stopped = runtime.start(&workflow, Trail::default()).limits(limits()).await.unwrap();
    let calls = model.calls();
    assert_eq!(stopped.status, RunStatus::BudgetExhausted, "{:?}", stopped.error);
    assert!((10..40).contains(&calls), "{calls}");
    assert_eq!(stopped.totals.whole_cost(), None, "an estimate is no cost");
    let again = runtime.resume(&workflow, stopped.run).limits(limits()).await.unwrap();
    assert_eq!((again.status, model.calls()), (RunStatus::BudgetExhausted, calls));
}

#[tokio::test]
async fn what_costs_nothing_costs_nothing_however_much_of_it_is_used() {
    let model = reticent(Some(Price::FREE));
    let runtime = with_model(&model);
    let outcome = run_on(&runtime, ask("once"), Trail::default()).await;
    assert!(outcome.totals.usage.is_estimated);
    assert_eq!(outcome.totals.whole_cost(), Some(Money::ZERO));
}

#[tokio::test]
async fn a_budget_with_too_little_left_for_a_call_is_not_said_to_be_used_up() {
    let model = ScriptedModel::builder().when(Match::any(), Reply::text("yes")).build();
    let limits = Limits::default().tokens(20);
    let outcome = run_on(&with_model(&model), ask("long").limits(limits), Trail::default()).await;
    assert_eq!((outcome.status, model.calls()), (RunStatus::BudgetExhausted, 0));
    let error = outcome.error.unwrap();
    let Error::Budget(exhausted) = error.root() else { panic!("{error}") };
    assert_eq!((&exhausted.resource, exhausted.used), (&Resource::Tokens, 0));
    let needed = exhausted.needed.unwrap();
    let told = exhausted.to_string();
    assert!(needed > 20, "{needed}");
    assert!(
        told.contains(&format!("20 of 20 tokens, and the call takes at least {needed}; raise the limit")),
        "{told}"
    );
    assert!(told.starts_with("too little of the budget of ") && !told.contains("used up"), "{told}");
}

/// A model whose replies break off after a while.
fn breaking() -> ScriptedModel {
    let reply = Reply::text("word ".repeat(400)).usage(Usage::default());
    let broken = reply.fail_after(200, ModelError::new(ModelErrorKind::Interrupted, "the line is dead"));
    ScriptedModel::builder().when(Match::any(), broken).build()
}

#[tokio::test]
async fn calls_that_failed_count_however_often_the_run_is_gone_on_with() {
    let model = breaking();
    let (home, workflow) = (Home::new(model.clone()), Workflow::new(Chain::new("main").then(ask("p"))));
    let limits = Limits::default().model_calls(2);
    let run = home.runtime().start(&workflow, Trail::default()).limits(limits).await.unwrap().run;
    let again = home.resume(&workflow, &run).await;
    assert_eq!((again.status, again.totals.model_calls), (RunStatus::Failed, 2));
    for _ in 0..2 {
        let spent = home.resume(&workflow, &run).await;
        assert_eq!((spent.status, spent.totals.model_calls), (RunStatus::BudgetExhausted, 2));
    }
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn what_a_reply_brought_before_it_broke_off_is_estimated() {
    let model = breaking();
    let (home, workflow) = (Home::new(model.clone()), Workflow::new(Chain::new("main").then(ask("p"))));
    let limits = Limits::default().tokens(900);
    let failed = home.runtime().start(&workflow, Trail::default()).limits(limits).await.unwrap();
    let usage = failed.totals.usage;
    assert!(usage.is_estimated && usage.input_tokens > 40 && usage.output_tokens > 200, "{usage:?}");
    assert_eq!((usage.cost, failed.totals.unpriced_calls), (None, 1));
    let mut last = failed;
    for _ in 0..5 {
        last = home.resume(&workflow, &last.run).await;
    }
    assert_eq!(last.status, RunStatus::BudgetExhausted, "a limit on tokens ends it in the end");
    assert!(model.calls() < 5, "{}", model.calls());
}

#[tokio::test]
async fn attempts_that_broke_off_before_the_one_that_came_to_its_end_are_used_up_too() {
    let whole = Reply::text("yes").usage(Usage::tokens(60, 2));
    let long = Reply::text("word ".repeat(4_000)).usage(Usage::default());
    let broken = long.fail_after(2_000, ModelError::new(ModelErrorKind::Interrupted, "the line is dead"));
    let script = ScriptedModel::replies([broken.clone(), broken, whole]);
    let model = Retrying::new(Arc::new(script), Attempts::default().first_wait(Duration::ZERO));
    let limits = Limits::default().tokens(2_000);
    let steps = Chain::new("main").then(ask("first")).then(ask("second"));
    let runtime = Runtime::builder().model(model).build();
    let outcome = run_on(&runtime, steps.limits(limits), Trail::default()).await;
    let usage = outcome.totals.usage;
    assert!(usage.is_estimated && usage.input_tokens > 3 * 50 && usage.output_tokens > 4_000, "{usage:?}");
    assert_eq!((outcome.status, outcome.totals.whole_cost()), (RunStatus::BudgetExhausted, None));
}

#[tokio::test]
async fn tools_that_a_model_was_told_of_are_part_of_what_it_read() {
    let read = async |tools: usize| {
        let parameters = json!({"type": "object", "description": "x".repeat(800)});
        let step = task_boxed("ask", move |scope, _: &mut Trail| {
            let parameters = parameters.clone();
            Box::pin(async move {
                let mut request = ModelRequest::new("?".repeat(200));
                for number in 0..tools {
                    let tool = ToolSpec::new(format!("t{number}"), "Does it.", ToolEffects::NONE);
                    request.tools.push(tool.parameters(parameters.clone()).definition);
                }
                let model = scope.default_model()?;
                scope.model(&model, request, Visibility::Streamed).await.map(drop)
            })
        });
        Home::new(reticent(None))
            .start(&Workflow::new(step), Trail::default())
            .await
            .totals
            .usage
            .input_tokens
    };
    let (none, five) = (read(0).await, read(5).await);
    assert!((none + 1_000..none + 1_200).contains(&five), "{none}, {five}");
}
