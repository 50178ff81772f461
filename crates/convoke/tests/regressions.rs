//! Regressions: faults that were there once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use convoke::core::{ModelRequest, Usage};
use convoke::prelude::*;

type Log = Vec<String>;

async fn ask(scope: &Scope, log: &mut Log) -> Result<(), Error> {
    scope.ask(Question::approval("go on?")).await?;
    log.push("answered".to_owned());
    Ok(())
}

/// Runs until a question, answers it, and runs to the end.
async fn suspended_and_resumed(workflow: &Workflow<Log>) -> (Outcome<Log>, Outcome<Log>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let first = runtime.start(workflow, Log::new()).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended, "{:?}", first.error);
    for pending in store.questions(None).await.unwrap() {
        store.answer(&pending.run, &pending.id, Answer::approve()).await.unwrap();
    }
    let second = runtime.resume(workflow, first.run.clone()).await.unwrap();
    (first, second)
}

#[tokio::test]
async fn an_effect_that_panicked_and_was_coped_with_is_not_performed_again() {
    let performed = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&performed);
    let panics = task_boxed("panics", move |scope, _: &mut Log| {
        let counter = Arc::clone(&counter);
        Box::pin(async move {
            let code = |_| async move {
                counter.fetch_add(1, Ordering::Relaxed);
                if true { panic!("the shuttle broke") } else { Ok::<u32, Error>(0) }
            };
            scope.custom("fragile").perform(code).await.map(drop)
        })
    });
    let chain = Chain::new("main").then_or(panics, OnError::Continue).then(task("ask", ask));
    let (_, resumed) = suspended_and_resumed(&Workflow::new(chain)).await;
    assert_eq!(resumed.completed().unwrap(), ["answered"]);
    assert_eq!(performed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn branches_side_by_side_do_not_overdraw_a_budget_of_tokens() {
    let long_winded = Reply::with(|request: &ModelRequest| {
        let tokens = u64::from(request.params.max_tokens.unwrap_or(100_000));
        Reply::text("as much as it may").usage(Usage::tokens(10, tokens))
    });
    let model = ScriptedModel::builder().otherwise(long_winded).build();
    let each = Map::new(
        "each",
        Join::keep_succeeded(),
        |_: &Log| vec![String::new(); 8],
        prompt("say", |_: &String| "Say a lot.")
            .params(ModelParams::default().max_tokens(4_096))
            .text(|said: &mut String| said),
        |log, mapped| log.extend(mapped.into_iter().filter_map(|item| item.result.ok())),
    );
    let runtime = Runtime::builder().model(model).build();
    let limits = Limits::default().tokens(10_000);
    let outcome = runtime.start(&Workflow::new(each), Log::new()).limits(limits).await.unwrap();
    assert!(outcome.totals.usage.total_tokens() <= 10_000, "{:?}", outcome.totals);
    assert!(outcome.totals.model_calls > 0, "what there is room for is done");
}

#[tokio::test(start_paused = true)]
async fn replaying_a_step_that_ran_out_of_time_does_not_wait_for_it_again() {
    async fn hang(_: &Scope, _: &mut Log) -> Result<(), Error> {
        std::future::pending().await
    }
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(store).build();
    let workflow = Workflow::new(task("hang", hang));
    let outcome = runtime.start(&workflow, Log::new()).timeout(Duration::from_secs(1)).await.unwrap();
    assert_eq!(outcome.status, RunStatus::TimedOut);
    let replay = tokio::time::timeout(Duration::from_secs(60), runtime.replay(&workflow, &outcome.run)).await;
    assert!(matches!(replay.unwrap().unwrap().error, Some(Error::TimedOut(_))));
}

#[tokio::test]
async fn an_outcome_json_cannot_hold_fails_at_once_instead_of_on_resume() {
    async fn measure(scope: &Scope, log: &mut Log) -> Result<(), Error> {
        let measured: Result<f64, Error> =
            scope.custom("measure").repeatable().perform(|_| async { Ok::<_, Error>(f64::NAN) }).await;
        log.push(measured.unwrap_err().to_string());
        Ok(())
    }
    let chain = Chain::new("main").then(task("measure", measure)).then(task("ask", ask));
    let (first, resumed) = suspended_and_resumed(&Workflow::new(chain)).await;
    assert!(first.state[0].contains("NaN is not a JSON number"), "{:?}", first.state);
    assert_eq!(resumed.completed().unwrap()[0], first.state[0]);
}

#[tokio::test]
async fn an_empty_name_and_an_underscore_are_two_places() {
    fn remember(name: &'static str, number: u32) -> impl Step<Log> {
        task_boxed(name, move |scope, log: &mut Log| {
            Box::pin(async move {
                let effect = scope.custom("number").repeatable();
                log.push(effect.perform(|_| async move { Ok::<_, Error>(number) }).await?.to_string());
                Ok(())
            })
        })
    }
    let chain = Chain::new("main").then(remember("", 1)).then(remember("_", 2)).then(task("ask", ask));
    let (_, resumed) = suspended_and_resumed(&Workflow::new(chain)).await;
    assert_eq!(resumed.completed().unwrap(), ["1", "2", "answered"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_cut_short_by_a_limit_around_it_is_not_in_doubt_once_the_run_has_coped() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let slow = FunctionTool::with_context(
        "slow",
        "Takes its time.",
        |context: convoke::agent::ToolContext, _: Nothing| async move {
            context.scope.sleep(Duration::from_secs(60)).await?;
            Ok::<_, Error>("done")
        },
    )
    .effects([ToolEffect::Writes]);
    let tools = Toolset::new().with(slow).unwrap();
    let call =
        ToolStep::new("call", &tools, "slow", |_: &Log| Ok::<_, Error>(serde_json::json!({}))).discard();
    let hurried = Chain::new("hurried").then(call).timeout(Duration::from_secs(1));
    let chain = Chain::new("main").then_or(hurried, OnError::Continue).then(task("ask", ask));
    let (_, resumed) = suspended_and_resumed(&Workflow::new(chain)).await;
    assert_eq!(resumed.completed().unwrap(), ["answered"]);
}
