//! Idempotency: a later attempt does not do again what an earlier one has done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::stored::{Home, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, millis};
use convoke_core::{
    Answer, EffectKind, Error, ModelError, Repeat, RunStatus, Scope, Tool, ToolCall, ToolEffect, ToolSpec,
    Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{AsyncFunc, Chain, Join, Parallel, Retry, RetryPolicy, task_boxed};
use serde_json::json;

fn payment(repeat: Repeat) -> TestTool {
    tool_that(ToolEffect::Writes, repeat)
}

fn tool_that(does: ToolEffect, repeat: Repeat) -> TestTool {
    TestTool::new(ToolSpec::new("pay", "", does.into()).repeat(repeat), Ok("paid".into()))
}

async fn pay(scope: &Scope, tool: &TestTool, to: &str) -> Result<String, Error> {
    let tool: Arc<dyn Tool> = Arc::new(tool.clone());
    let call = ToolCall { id: "c".into(), name: "pay".into(), arguments: json!({"to": to}) };
    Ok(scope.tool_scope(&*tool, None).tool(&tool, &call).await?.content)
}

/// Pays the first when it is tried first and the second when it is tried again, then the last; the first attempt fails in the end.
fn pays(tool: &TestTool, first: &'static str, second: &'static str, last: &'static str) -> AsyncFunc<Trail> {
    let tool = tool.clone();
    task_boxed("pay", move |scope, trail: &mut Trail| {
        let tool = tool.clone();
        Box::pin(async move {
            trail.count += 1;
            let who = if trail.count == 1 { first } else { second };
            trail.text = pay(scope, &tool, who).await? + &pay(scope, &tool, last).await?;
            if trail.count == 1 { Err(overloaded()) } else { Ok(()) }
        })
    })
}

fn overloaded() -> Error {
    Error::from(ModelError::of_status(500, "overloaded"))
}

fn twice() -> RetryPolicy {
    RetryPolicy::attempts(2).unwrap().initial(millis(10)).jitter(0.0)
}

fn paid(tool: &TestTool) -> Vec<String> {
    tool.heard().iter().map(|call| call["to"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_not_done_again_and_its_result_is_what_it_was() {
    let (home, tool) = (Home::new(echo()), payment(Repeat::Never));
    let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "ann", "bob"), twice()));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!((outcome.status, &*outcome.state.text), (RunStatus::Completed, "paidpaid"));
    assert_eq!(paid(&tool), ["ann", "bob"]);
    let replay = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!((replay.error.is_none(), replay.state), (true, outcome.state));
}

#[tokio::test(start_paused = true)]
async fn what_makes_changes_is_taken_over_also_if_it_may_be_repeated_and_what_only_looks_is_not() {
    use ToolEffect::{Irreversible, Network, Reads, Spawns, Writes};
    let all = [(Writes, true), (Spawns, true), (Irreversible, true), (Reads, false), (Network, false)];
    for (does, is_taken_over) in all {
        let (home, tool) = (Home::new(echo()), tool_that(does, Repeat::Safe));
        let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "ann", "bob"), twice()));
        let outcome = home.start(&workflow, Trail::default()).await;
        assert_eq!((outcome.status, &*outcome.state.text), (RunStatus::Completed, "paidpaid"));
        let made: &[&str] = if is_taken_over { &["ann", "bob"] } else { &["ann", "bob", "ann", "bob"] };
        assert_eq!(paid(&tool), made, "{does:?}");
        // What was not made does not count, neither then nor by the journal.
        let ends: Vec<_> = home.entries(&outcome.run).await;
        let ends = ends.iter().filter(|entry| entry.effect == EffectKind::Tool && entry.was_made());
        assert_eq!((outcome.totals.tool_calls, ends.count()), (made.len() as u64, made.len()), "{does:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_step_that_went_another_way_is_done_anew() {
    let anew = ["ann", "bob", "cat", "bob"];
    for (second, made) in [("cat", &anew[..]), ("ann", &anew[..2])] {
        let (home, tool) = (Home::new(echo()), payment(Repeat::Never));
        let paying = tool.clone();
        let first = task_boxed("first", move |scope, trail: &mut Trail| {
            let tool = paying.clone();
            Box::pin(async move {
                trail.count += 1;
                pay(scope, &tool, if trail.count == 1 { "ann" } else { second }).await.map(drop)
            })
        });
        let inner = Chain::new("inner").then(first);
        let outer = tool.clone();
        let last = task_boxed("last", move |scope, trail: &mut Trail| {
            let tool = outer.clone();
            Box::pin(async move {
                trail.text = pay(scope, &tool, "bob").await?;
                if trail.count == 1 { Err(overloaded()) } else { Ok(()) }
            })
        });
        let workflow = Workflow::new(Retry::new(Chain::new("both").then(inner).then(last), twice()));
        assert_eq!(home.start(&workflow, Trail::default()).await.status, RunStatus::Completed);
        assert_eq!(paid(&tool), made);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_goes_another_way_acts_for_itself_from_there_on() {
    let (home, tool) = (Home::new(echo()), payment(Repeat::Never));
    let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "cat", "bob"), twice()));
    assert_eq!(home.start(&workflow, Trail::default()).await.status, RunStatus::Completed);
    assert_eq!(paid(&tool), ["ann", "bob", "cat", "bob"]);
}

#[tokio::test(start_paused = true)]
async fn what_another_branch_cut_off_is_asked_about_before_it_is_done_again() {
    let tool = payment(Repeat::Never).slow(Duration::from_secs(60));
    let busy = Reply::error(ModelError::of_status(500, "overloaded"));
    let home = Home::new(ScriptedModel::builder().otherwise([busy, Reply::text("fine")]).build());
    let paying = tool.clone();
    let pays = task_boxed("pay", move |scope, trail: &mut Trail| {
        let tool = paying.clone();
        Box::pin(async move {
            trail.text = pay(scope, &tool, "ann").await?;
            Ok(())
        })
    });
    let take = |trail: &mut Trail, done: Trail| *trail = done;
    let both = Parallel::builder("both", Join::all().cancel_rest())
        .branch(pays, take)
        .branch(says("fail once"), |_, _| {})
        .build()
        .unwrap();
    let workflow = Workflow::new(Retry::new(both, twice()));
    let outcome = home.start(&workflow, Trail::default()).await;
    assert_eq!(outcome.status, RunStatus::Suspended, "{:?}", outcome.error);
    assert_eq!(paid(&tool), ["ann"]);
    let asked = home.asked(&outcome.run).await;
    assert!(asked.len() == 1 && asked[0].contains("may have acted already"), "{asked:?}");
    home.answer(&outcome.run, &asked[0], Answer::choose("done")).await;
    let resumed = home.resume(&workflow, &outcome.run).await;
    assert_eq!(paid(&tool), ["ann"], "a person has said that it was done: {:?}", resumed.error);
    assert_eq!(resumed.status, RunStatus::Completed, "{:?}", resumed.error);
}

#[tokio::test(start_paused = true)]
async fn what_ended_so_that_nobody_knows_whether_it_took_effect_is_asked_about_by_the_next_attempt() {
    let spec = || ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never);
    let late = TestTool::new(spec().timeout(millis(10)), Ok("paid".into())).slow(Duration::from_secs(60));
    let lost = TestTool::new(spec(), Err("the line went dead".into())).in_doubt();
    let failed = TestTool::new(spec(), Err("there is no such account".into()));
    for (tool, told, is_known) in [(late, "10ms", false), (lost, "dead", false), (failed, "account", true)] {
        let home = Home::new(echo());
        let workflow = Workflow::new(Retry::new(pays(&tool, "ann", "ann", "bob"), twice()));
        let outcome = home.start(&workflow, Trail::default()).await;
        if is_known {
            assert_eq!((outcome.status, &*paid(&tool).join(" ")), (RunStatus::Completed, "ann bob ann bob"));
            continue;
        }
        let suspended = (outcome.status, paid(&tool).len());
        assert_eq!(suspended, (RunStatus::Suspended, 2), "{told}: {:?}", outcome.error);
        let ended = home.entries(&outcome.run).await;
        let said = ended.iter().filter_map(|entry| entry.outcome.as_deref());
        let said: String = said.map(String::from_utf8_lossy).collect();
        assert!(said.contains(told), "the first attempt is told what it was always told: {said}");
        let open = home.store().questions(Some(&outcome.run)).await.unwrap();
        let details = &open[0].question.details;
        assert!(details.contains("in an earlier attempt, which did not hear how it ended"), "{details}");
        // It did take effect; the second did not, and is made again.
        home.answer(&outcome.run, &open[0].question.title, Answer::choose("done")).await;
        let next = home.resume(&workflow, &outcome.run).await;
        assert_eq!((next.status, paid(&tool).len()), (RunStatus::Suspended, 2), "{:?}", next.error);
        let asked = home.asked(&outcome.run).await;
        home.answer(&outcome.run, &asked[0], Answer::choose("again")).await;
        let done = home.resume(&workflow, &outcome.run).await;
        assert_eq!((done.status, paid(&tool).len()), (RunStatus::Completed, 3), "{:?}", done.error);
    }
}

#[tokio::test]
async fn a_run_that_failed_by_a_call_of_which_nobody_knows_more_asks_about_it_when_it_is_resumed() {
    let spec = ToolSpec::new("pay", "", ToolEffect::Writes.into()).repeat(Repeat::Never).fatal();
    for is_in_doubt in [true, false] {
        let tool = TestTool::new(spec.clone(), Err("the line went dead".into()));
        let tool = if is_in_doubt { tool.in_doubt() } else { tool };
        let (home, paying) = (Home::new(echo()), tool.clone());
        let pays = task_boxed("pay", move |scope, _: &mut Trail| {
            let tool = paying.clone();
            Box::pin(async move { pay(scope, &tool, "ann").await.map(drop) })
        });
        let workflow = Workflow::new(Chain::new("main").then(pays));
        let failed = home.start(&workflow, Trail::default()).await;
        assert_eq!(failed.status, RunStatus::Failed);
        let resumed = home.resume(&workflow, &failed.run).await;
        let (status, calls) = if is_in_doubt { (RunStatus::Suspended, 1) } else { (RunStatus::Failed, 2) };
        assert_eq!((resumed.status, paid(&tool).len()), (status, calls), "{:?}", resumed.error);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_users_own_code_did_is_taken_over_unless_it_may_be_repeated() {
    for (is_repeatable, times) in [(false, 1), (true, 2)] {
        let (home, acted) = (Home::new(echo()), Arc::new(AtomicUsize::new(0)));
        let acts = Arc::clone(&acted);
        let works = task_boxed("work", move |scope, trail: &mut Trail| {
            let acted = Arc::clone(&acts);
            Box::pin(async move {
                let effect = scope.custom("charge").request(&30);
                let effect = if is_repeatable { effect.repeatable() } else { effect };
                let act = |_| async move { Ok::<_, Error>(acted.fetch_add(1, Ordering::Relaxed)) };
                trail.steps.push(effect.perform(act).await?.to_string());
                if trail.steps.len() == 1 { Err(overloaded()) } else { Ok(()) }
            })
        });
        let workflow = Workflow::new(Retry::new(works, twice()));
        let outcome = home.start(&workflow, Trail::default()).await;
        assert_eq!((outcome.status, acted.load(Ordering::Relaxed)), (RunStatus::Completed, times));
        assert_eq!(outcome.state.steps, ["0", if is_repeatable { "1" } else { "0" }]);
        let replay = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
        assert_eq!((replay.error.is_none(), replay.state), (true, outcome.state));
    }
}
