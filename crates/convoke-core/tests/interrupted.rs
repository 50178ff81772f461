//! Calls that were interrupted or failed, in a resumed run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::stored::{Home, asks, echo};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, BoxFuture, Canceller, EffectKind, Entry, Error, Invocation, ModelError, ModelRequest, Outcome,
    Repeat, RunStatus, Tool, ToolCall, ToolEffect, ToolSpec, Toolset, Visibility, Workflow,
};
use convoke_history::History;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, OnError, StepExt, ToolStep, task_boxed};
use serde_json::{Value, json};

/// A tool that takes a minute, and must not be repeated blindly.
fn slow_payment() -> TestTool {
    let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
    TestTool::new(spec, Ok("paid".into())).slow(Duration::from_secs(60))
}

fn pays(tool: &TestTool) -> ToolStep<Trail, Value> {
    let tools = Toolset::new().with(tool.clone()).unwrap();
    ToolStep::new("pay", &tools, "pay", |_: &Trail| Ok::<_, Error>(json!({"to": "ann"}))).discard()
}

/// A run that ends in the middle of its call.
async fn interrupted(home: &Home, workflow: &Workflow<Trail>) -> Outcome<Trail> {
    let canceller = Canceller::new();
    let start = home.runtime().start(workflow, Trail::default()).canceller(&canceller);
    let cancel = async {
        tokio::time::sleep(millis(10)).await;
        canceller.cancel("enough");
    };
    tokio::join!(start.into_future(), cancel).0.unwrap()
}

/// Answers the one question that is open.
async fn answer(home: &Home, outcome: &Outcome<Trail>, answer: Answer) {
    assert_eq!(outcome.status, RunStatus::Suspended, "{:?}", outcome.error);
    let [title] = &home.asked(&outcome.run).await[..] else { panic!("one question is expected") };
    assert!(title.contains("may have acted already"), "{title}");
    home.answer(&outcome.run, title, answer).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_as_often_as_it_was_begun() {
    let (home, tool) = (Home::new(echo()), slow_payment());
    let workflow = Workflow::new(Chain::new("main").then(pays(&tool)).then(asks("well?")));
    let run = interrupted(&home, &workflow).await.run;
    answer(&home, &home.resume(&workflow, &run).await, Answer::choose("again")).await;
    let paid = home.resume(&workflow, &run).await;
    assert_eq!((paid.totals.tool_calls, tool.calls()), (2, 2), "interrupted once, and made once");
    home.answer(&run, "well?", Answer::text("well")).await;
    assert_eq!(home.resume(&workflow, &run).await.totals.tool_calls, 2, "told again, it counts as much");
}

#[tokio::test(start_paused = true)]
async fn stop_as_the_answer_to_a_call_in_doubt_ends_the_run_without_another_call() {
    let (home, tool) = (Home::new(echo()), slow_payment());
    let workflow = Workflow::new(Chain::new("main").then(pays(&tool)));
    let run = interrupted(&home, &workflow).await.run;
    answer(&home, &home.resume(&workflow, &run).await, Answer::choose("stop")).await;
    let stopped = home.resume(&workflow, &run).await;
    assert!(
        matches!(stopped.error.as_ref().map(Error::root), Some(Error::InDoubt(_))),
        "{:?}",
        stopped.error
    );
    assert_eq!(tool.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_out_of_time_twice_is_asked_about_twice() {
    let (home, tool) = (Home::new(echo()), slow_payment());
    let workflow = Workflow::new(Chain::new("main").then(pays(&tool)).timeout(millis(50)));
    let run = home.start(&workflow, Trail::default()).await.run;
    answer(&home, &home.resume(&workflow, &run).await, Answer::choose("again")).await;
    // That the first attempt was to be made again says nothing about what became of the second.
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::TimedOut);
    assert_eq!(tool.calls(), 2);
    answer(&home, &home.resume(&workflow, &run).await, Answer::choose("done")).await;
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Completed);
    assert_eq!(tool.calls(), 2);
}

/// A tool that must not be repeated blindly, and fails the first time.
#[derive(Clone)]
struct FailsOnce(ToolSpec, Arc<AtomicUsize>);

impl FailsOnce {
    fn new(is_fatal: bool) -> Self {
        let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
        Self(if is_fatal { spec.fatal() } else { spec }, Arc::default())
    }
}

impl Tool for FailsOnce {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let earlier = self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { if earlier == 0 { Err(Error::failed("no")) } else { Ok("paid".to_owned()) } })
    }
}

#[tokio::test]
async fn a_call_that_failed_the_run_is_made_again_when_the_run_is_resumed_and_nobody_is_asked() {
    for is_fatal in [false, true] {
        let (home, tool) = (Home::new(echo()), FailsOnce::new(is_fatal));
        let tools = Toolset::new().with(tool.clone()).unwrap();
        let pays = ToolStep::new("pay", &tools, "pay", |_: &Trail| Ok::<_, Error>(json!({"to": "ann"})));
        let workflow = Workflow::new(Chain::new("main").then(pays.discard()).then(asks("well?")));
        let failed = home.start(&workflow, Trail::default()).await;
        assert_eq!(failed.status, RunStatus::Failed);
        let resumed = home.resume(&workflow, &failed.run).await;
        assert_eq!(resumed.status, RunStatus::Suspended, "{:?}", resumed.error);
        assert_eq!((tool.1.load(Ordering::Relaxed), resumed.totals.tool_calls), (2, 2));
        home.answer(&failed.run, "well?", Answer::text("well")).await;
        let done = home.resume(&workflow, &failed.run).await;
        assert_eq!((tool.1.load(Ordering::Relaxed), done.totals.tool_calls), (2, 2));
    }
}

#[tokio::test]
async fn a_call_that_failed_a_run_of_one_step_is_made_again_when_the_run_is_resumed() {
    for is_fatal in [false, true] {
        let (home, tool) = (Home::new(echo()), FailsOnce::new(is_fatal));
        let tools = Toolset::new().with(tool.clone()).unwrap();
        let pays = ToolStep::new("pay", &tools, "pay", |_: &Trail| Ok::<_, Error>(json!({"to": "ann"})));
        let workflow = Workflow::new(pays.discard());
        let failed = home.start(&workflow, Trail::default()).await;
        assert_eq!(failed.status, RunStatus::Failed);
        home.resume(&workflow, &failed.run).await.completed().unwrap();
        assert_eq!(tool.1.load(Ordering::Relaxed), 2);
    }
}

/// A tool's failure is something to read, for whoever goes on by it.
#[tokio::test]
async fn a_call_that_failed_and_that_the_step_coped_with_is_not_made_again() {
    let tool = FailsOnce::new(false);
    let shared: Arc<dyn Tool> = Arc::new(tool.clone());
    let refused = || Reply::error(ModelError::of_status(400, "no"));
    let model = ScriptedModel::builder().when(Match::any(), [refused(), Reply::text("yes")]).build();
    let step = task_boxed("cope", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&shared);
        Box::pin(async move {
            let call = ToolCall { id: "c".to_owned(), name: "pay".to_owned(), arguments: json!({}) };
            trail.steps.push(scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content);
            let model = scope.default_model()?;
            trail.steps.push(scope.model(&model, ModelRequest::new("?"), Visibility::Hidden).await?.text());
            Ok(())
        })
    });
    let (home, workflow) = (Home::new(model), Workflow::new(step));
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!(failed.status, RunStatus::Failed);
    let done = home.resume(&workflow, &failed.run).await;
    assert_eq!(
        (done.state.steps, tool.1.load(Ordering::Relaxed)),
        (vec!["no".to_owned(), "yes".to_owned()], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_model_call_had_used_when_it_was_cancelled_counts_when_the_run_goes_on() {
    let reply = Reply::text("a long answer").delay(Duration::from_secs(60));
    let model = ScriptedModel::builder().when(Match::any(), [reply, Reply::text("yes")]).build();
    let step = task_boxed("ask", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let reply = scope.model(&model, ModelRequest::new("well?"), Visibility::Hidden).await?;
            trail.steps.push(reply.text());
            Ok(())
        })
    });
    let (home, workflow) = (Home::new(model), Workflow::new(step));
    let cancelled = interrupted(&home, &workflow).await;
    assert_eq!((cancelled.status, cancelled.totals.model_calls), (RunStatus::Cancelled, 1));
    let done = home.resume(&workflow, &cancelled.run).await;
    assert_eq!((done.status, home.model.calls()), (RunStatus::Completed, 2));
    assert_eq!(done.totals.model_calls, 2, "both were made");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_begun_when_there_is_no_time_left_for_it_also_when_the_run_is_resumed() {
    let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
    let tool = TestTool::new(spec, Ok("paid".into()));
    let shared: Arc<dyn Tool> = Arc::new(tool.clone());
    let late = task_boxed("late", move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&shared);
        Box::pin(async move {
            let limited = scope.composing().child_with_timeout("limited", millis(10));
            tokio::time::sleep(millis(20)).await;
            let call = ToolCall { id: "c".to_owned(), name: "pay".to_owned(), arguments: json!({}) };
            let result = limited.tool_scope(&*tool, None).tool(&tool, &call).await;
            let custom =
                limited.custom("act").request(&1).perform(|_| async { Ok::<_, Error>("acted".to_owned()) });
            let custom = custom.await;
            for outcome in [result.map(|result| result.content), custom] {
                trail.steps.push(match outcome {
                    Err(Error::TimedOut(_)) => "no time".to_owned(),
                    other => other?,
                });
            }
            Ok(())
        })
    });
    let (home, workflow) =
        (Home::new(echo()), Workflow::new(Chain::new("main").then(late).then(asks("well?"))));
    let suspended = home.start(&workflow, Trail::default()).await;
    assert_eq!(suspended.status, RunStatus::Suspended, "{:?}", suspended.error);
    home.answer(&suspended.run, "well?", Answer::text("well")).await;
    let done = home.resume(&workflow, &suspended.run).await;
    assert_eq!(done.state.steps, ["no time", "no time", "well"]);
    let entries = home.entries(&suspended.run).await;
    let acts = |entry: &&Entry| matches!(entry.effect, EffectKind::Tool | EffectKind::Custom);
    assert!(
        entries.iter().filter(acts).all(|entry| entry.request.is_some()),
        "what it was is kept: {entries:?}"
    );
    assert_eq!(tool.calls(), 0);
}

/// Each way to run out of time before a call: of a model, of a tool that may be repeated, of one that may not.
#[tokio::test(start_paused = true)]
async fn a_call_for_which_there_was_no_time_does_not_count_as_made_when_its_run_is_resumed() {
    let reads = TestTool::gives("look", "sunny");
    let tools: [Arc<dyn Tool>; 2] = [Arc::new(reads.clone()), Arc::new(slow_payment())];
    let late = task_boxed("late", move |scope, trail: &mut Trail| {
        let tools = tools.clone();
        Box::pin(async move {
            let limited = scope.composing().child_with_timeout("limited", millis(10));
            tokio::time::sleep(millis(20)).await;
            let model = scope.default_model()?;
            let reply = limited.model(&model, ModelRequest::new("well?"), Visibility::Hidden).await;
            trail.count += u64::from(matches!(reply, Err(Error::TimedOut(_))));
            for tool in tools {
                let name = tool.spec().name().to_owned();
                let call = ToolCall { id: "c".to_owned(), name, arguments: json!({}) };
                let result = limited.tool_scope(&*tool, None).tool(&tool, &call).await;
                trail.count += u64::from(matches!(result, Err(Error::TimedOut(_))));
            }
            Ok(())
        })
    });
    let (home, workflow) =
        (Home::new(echo()), Workflow::new(Chain::new("main").then(late).then(asks("well?"))));
    let before = home.start(&workflow, Trail::default()).await;
    assert_eq!((before.status, before.state.count), (RunStatus::Suspended, 3), "{:?}", before.error);
    home.answer(&before.run, "well?", Answer::text("well")).await;
    let after = home.resume(&workflow, &before.run).await;
    assert_eq!((after.status, after.state.count), (RunStatus::Completed, 3), "{:?}", after.error);
    for totals in [before.totals, after.totals] {
        assert_eq!((totals.model_calls, totals.tool_calls), (0, 0));
    }
    let spent = History::load(&**home.store(), &before.run).await.unwrap().spent();
    assert_eq!((spent.model_calls, spent.tool_calls), (0, 0));
    assert_eq!((home.model.calls(), reads.calls()), (0, 0));
}

#[tokio::test]
async fn a_divergence_shows_both_requests_and_cuts_long_ones() {
    let asking = |words: String| {
        task_boxed("ask", move |scope, _: &mut Trail| {
            let words = words.clone();
            Box::pin(async move {
                let model = scope.default_model()?;
                scope.model(&model, ModelRequest::new(words), Visibility::Hidden).await?;
                scope.ask(convoke_core::Question::text("well?")).await?;
                Ok(())
            })
        })
    };
    let home = Home::new(echo());
    let run = home.start(&Workflow::new(asking("How much?".to_owned())), Trail::default()).await.run;
    for (words, shown) in [("How many?".to_owned(), "How many?"), ("x".repeat(2_000), "bytes in all")] {
        let other = home.resume(&Workflow::new(asking(words)), &run).await;
        let Some(Error::Diverged(divergence)) = other.error.as_ref().map(Error::root) else {
            panic!("{:?}", other.error)
        };
        assert!(divergence.recorded.contains("How much?"), "{divergence:?}");
        assert!(divergence.asked.contains(shown), "{divergence:?}");
        assert!(divergence.asked.len() < 700, "{divergence:?}");
    }
}

/// Asks the model twice: copes with what becomes of the first, and ends by the second.
fn asks_twice() -> AsyncFunc<Trail> {
    task_boxed("twice", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let first = scope.model(&model, ModelRequest::new("first?"), Visibility::Hidden).await;
            trail.steps.push(first.map_or_else(|_| "failed".to_owned(), |reply| reply.text()));
            let second = scope.model(&model, ModelRequest::new("second?"), Visibility::Hidden).await?;
            trail.steps.push(second.text());
            Ok(())
        })
    })
}

#[tokio::test]
async fn a_failed_run_that_is_resumed_repeats_its_last_failure_and_keeps_those_it_had_coped_with() {
    let refused = || Reply::error(ModelError::of_status(400, "no"));
    let model =
        ScriptedModel::builder().when(Match::any(), [refused(), refused(), Reply::text("yes")]).build();
    let (home, workflow) = (Home::new(model), Workflow::new(asks_twice()));
    let failed = home.start(&workflow, Trail::default()).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 2));
    let resumed = home.resume(&workflow, &failed.run).await;
    assert_eq!(resumed.completed().unwrap().steps, ["failed", "yes"]);
    assert_eq!(home.model.calls(), 3);
}

/// Does the same to the world at the same place by two kinds of effect, then asks.
fn does(by_tool: bool) -> AsyncFunc<Trail> {
    task_boxed("act", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            let arguments = json!({"to": "ann"});
            if by_tool {
                let tool: Arc<dyn Tool> = Arc::new(TestTool::gives("pay", "paid"));
                let call = ToolCall { id: "c".into(), name: "pay".into(), arguments };
                trail.text = scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content;
            } else {
                let place = scope.child("pay");
                let paid = place.custom("pay").request(&arguments).repeatable();
                // What the journal keeps of a tool's call looks like this, too.
                let paid: Value =
                    paid.perform(|_| async { Ok::<_, Error>(json!({"content": "sent"})) }).await?;
                trail.text = paid["content"].as_str().unwrap_or_default().to_owned();
            }
            scope.ask(convoke_core::Question::text("well?")).await.map(drop)
        })
    })
}

#[tokio::test]
async fn another_kind_of_effect_with_the_same_request_is_a_divergence() {
    let home = Home::new(echo());
    let before = home.start(&Workflow::new(does(false)), Trail::default()).await;
    assert_eq!((before.status, before.state.text.as_str()), (RunStatus::Suspended, "sent"));
    let after = home.resume(&Workflow::new(does(true)), &before.run).await;
    let Some(Error::Diverged(divergence)) = after.error.as_ref().map(Error::root) else {
        panic!("{:?}", after.error)
    };
    assert!(divergence.recorded.starts_with("custom"), "{divergence}");
    assert!(divergence.asked.starts_with("tool"), "{divergence}");
}

/// A tool that takes notes, of one kind only.
struct Particular(TestTool, &'static str);

impl Tool for Particular {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        if self.1.is_empty() || arguments["to"] == self.1 {
            Ok(())
        } else {
            Err(format!("not for {}", arguments["to"]))
        }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        self.0.call(call)
    }
}

fn notes(tool: &TestTool, accepts: &'static str) -> Workflow<Trail> {
    let tools = Toolset::new().with(Particular(tool.clone(), accepts)).unwrap();
    let note =
        ToolStep::new("note", &tools, "note", |_: &Trail| Ok::<_, Error>(json!({"to": "ann"}))).discard();
    Workflow::new(Chain::new("main").then_or(note, OnError::Continue).then(asks("well?")))
}

#[tokio::test]
async fn a_call_that_was_refused_is_not_made_by_a_run_that_goes_on_with_a_laxer_tool() {
    let (home, tool) = (Home::new(echo()), TestTool::gives("note", "noted"));
    let before = home.start(&notes(&tool, "bob"), Trail::default()).await;
    assert_eq!((before.status, before.totals.tool_calls), (RunStatus::Suspended, 0));
    home.answer(&before.run, "well?", Answer::text("well")).await;
    let after = home.resume(&notes(&tool, ""), &before.run).await;
    assert_eq!((after.status, tool.calls(), after.totals.tool_calls), (RunStatus::Completed, 0, 0));
    let history = History::load(&**home.store(), &before.run).await.unwrap();
    assert_eq!(history.spent().tool_calls, 0);
}
