//! Reading what a run does, from any position, by any number of readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use convoke_core::{
    Answer, Canceller, Event, EventKind, ModelCallEnd, Position, Question, Registry, RunId, RunStatus,
    Runner, Runtime, StepEnd, Subscription, Verdict, Visibility, Workflow,
};
use convoke_models::{Reply, ScriptedModel};
use convoke_steps::{Chain, Join, Loop, Parallel, task_boxed};
use convoke_store::SqliteStore;

use crate::common::meddling::Meddler;
use crate::common::stored::{Home, asks, echo, says};
use crate::common::tools::TestTool;
use crate::common::{Trail, add, at_once, millis, slow};

fn registry(workflow: &Workflow<Trail>) -> Registry {
    let registry = Registry::new();
    registry.register(Runner::new(workflow));
    registry
}

/// Steps one after another, side by side and again and again.
fn everything() -> Workflow<Trail> {
    let take = |trail: &mut Trail, done: Trail| trail.steps.extend(done.steps);
    let branches = Parallel::builder("side by side", Join::all().finish_rest())
        .branch(Chain::new("left").then(says("a")).then(says("b")), take)
        .branch(Chain::new("right").then(slow("dawdles", 5)).then(says("c")), take)
        .branch(says("d"), take)
        .concurrency(at_once(2))
        .build()
        .unwrap();
    let rounds = Loop::times("rounds", 2, add("round"));
    Workflow::new(Chain::new("main").then(add("first")).then(branches).then(rounds).then(says("last")))
}

/// The events that have a place in the account of the run, in its order, but for the pieces of messages: those come in passing.
fn placed(events: &[Event]) -> Vec<(Position, EventKind)> {
    let is_piece = |event: &&Event| {
        matches!(
            event.kind,
            EventKind::ModelCallStarted(_)
                | EventKind::MessageStarted { .. }
                | EventKind::MessageDelta { .. }
                | EventKind::ToolCallExecuting { .. }
        )
    };
    let whole = events.iter().filter(|event| !is_piece(event));
    let placed = whole.filter_map(|event| Some((event.position.clone()?, event.kind.clone())));
    let mut placed: Vec<_> = placed.collect();
    placed.sort_by(|one, other| one.0.cmp(&other.0));
    placed
}

async fn read_to_the_end(mut events: Subscription) -> Vec<Event> {
    let mut read = Vec::new();
    while let Some(event) = events.next().await {
        read.push(event.unwrap());
    }
    read
}

/// Reads until something is told.
async fn read_until(events: &mut Subscription, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut read = Vec::new();
    loop {
        let event = events.next().await.expect("there is more to come").unwrap();
        let found = is_it(&event);
        read.push(event);
        if found {
            return read;
        }
    }
}

fn ends_as(status: RunStatus) -> impl Fn(&Event) -> bool {
    move |event| matches!(&event.kind, EventKind::RunEnded(end) if end.status == status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_heard_is_read_again_at_the_same_positions_whoever_was_quicker() {
    let (home, workflow) = (Home::new(echo()), everything());
    for _ in 0..10 {
        let (heard, outcome) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
        let run = outcome.unwrap().run;
        let read = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, None)).await;
        assert!(read.iter().all(|event| event.position.is_some()), "nothing is under way any more");
        assert_eq!(placed(&read), placed(&heard));
        assert!(read.is_sorted_by(|one, other| one.position < other.position));
        assert!(ends_as(RunStatus::Completed)(read.last().unwrap()));
    }
}

#[tokio::test]
async fn whoever_comes_back_misses_nothing_and_is_told_nothing_twice() {
    let (home, workflow) = (Home::new(echo()), everything());
    let run = home.start(&workflow, Trail::default()).await.run;
    let (runtime, registry) = (home.runtime(), registry(&workflow));
    let whole = read_to_the_end(runtime.subscribe(&registry, run.clone(), None)).await;
    assert!(whole.len() > 40, "{}", whole.len());
    for (at, event) in whole.iter().enumerate() {
        // Positions are for others to keep, as texts.
        let after: Position = event.position.as_ref().unwrap().to_string().parse().unwrap();
        let rest = read_to_the_end(runtime.subscribe(&registry, run.clone(), Some(after))).await;
        assert_eq!(placed(&rest), placed(&whole[at + 1..]));
    }
}

#[tokio::test]
async fn what_is_heard_of_a_run_that_is_gone_on_with_stands_where_everybody_reads_it() {
    let chain = Chain::new("main").then(says("a")).then(asks("Which?")).then(says("b"));
    let (home, workflow) = (Home::new(echo()), Workflow::new(chain));
    let run = home.start(&workflow, Trail::default()).await.run;
    home.answer(&run, "Which?", Answer::text("red")).await;
    let (heard, outcome) = home.runtime().resume(&workflow, run.clone()).stream().collect().await;
    assert_eq!(outcome.unwrap().status, RunStatus::Completed);
    let read = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, None)).await;
    let steps = |events: &[Event]| {
        let begun = |(_, kind): &(Position, EventKind)| matches!(kind, EventKind::StepStarted { .. });
        placed(events).into_iter().filter(begun).collect::<Vec<_>>()
    };
    assert_eq!((steps(&heard).len(), steps(&heard)), (4, steps(&read)));
}

/// A model that says a few words, one after the other.
fn slow_speaker() -> ScriptedModel {
    let reply = Reply::text("one two three four").delay_per_chunk(millis(20));
    ScriptedModel::builder().otherwise(reply).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_are_told_as_they_come_and_the_end_has_all_of_them() {
    let home = Home::new(slow_speaker());
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(says("b")));
    let (runtime, run) = (home.runtime(), RunId::mint());
    let stream = runtime.start(&workflow, Trail::default()).id(run.clone()).stream();
    let work = tokio::spawn(stream.outcome());
    while home.store().run(&run).await.unwrap().is_none() {
        tokio::time::sleep(millis(1)).await;
    }
    let readers = (0..3).map(|_| read_to_the_end(runtime.subscribe(&registry(&workflow), run.clone(), None)));
    let all = futures_util::future::join_all(readers).await;
    assert_eq!(work.await.unwrap().unwrap().status, RunStatus::Completed);
    for read in all {
        let of = |path: &'static str| read.iter().filter(move |event| event.path.as_str() == path);
        for path in ["main/a", "main/b"] {
            let words = of(path).filter_map(|event| match &event.kind {
                EventKind::MessageDelta { text, .. } => Some((text.as_str(), event.position.is_some())),
                _ => None,
            });
            let words: Vec<_> = words.collect();
            assert!(words.len() == 4 || path == "main/a", "one by one: {words:?}");
            assert!(words.iter().all(|(_, is_placed)| !is_placed) || words.len() == 1, "{words:?}");
            let begun = of(path).filter(|event| matches!(event.kind, EventKind::MessageStarted { .. }));
            assert_eq!(begun.count(), 1, "it begins once");
            let calls = of(path).filter(|event| matches!(event.kind, EventKind::ModelCallStarted(_)));
            assert_eq!(calls.count(), 1, "it is called once");
            let ends = of(path).filter_map(|event| match &event.kind {
                EventKind::MessageEnded { text, .. } => Some(text.as_str()),
                _ => None,
            });
            assert_eq!(ends.collect::<Vec<_>>(), ["one two three four"]);
        }
        let started = read.iter().position(|event| {
            matches!(event.kind, EventKind::StepStarted { .. }) && event.path.as_str() == "main/b"
        });
        let called = read.iter().position(|event| {
            matches!(event.kind, EventKind::ModelCallStarted(_)) && event.path.as_str() == "main/b"
        });
        assert!(started < called, "what happened before it is told before it");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_nothing_and_one_that_does_not_read_holds_nothing_up() {
    let home = Home::new(echo());
    let many = (0..400).fold(Chain::new("main"), |chain, number| chain.then(says(&format!("step {number}"))));
    let workflow = Workflow::new(many);
    let (runtime, run) = (home.runtime(), RunId::mint());
    let mut slow = runtime.subscribe(&registry(&workflow), run.clone(), None);
    let gone = runtime.subscribe(&registry(&workflow), run.clone(), None);
    drop(gone);
    let outcome = runtime.start(&workflow, Trail::default()).id(run.clone()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let first = slow.next().await.unwrap().unwrap();
    assert!(matches!(first.kind, EventKind::RunStarted { .. }));
    let rest = read_to_the_end(slow).await;
    let ended = rest.iter().filter(|event| matches!(event.kind, EventKind::StepEnded(_))).count();
    assert_eq!(ended, 401, "nothing is lost");
}

#[tokio::test]
async fn a_suspended_run_is_waited_for_and_told_on_from_where_it_was() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(asks("well?")).then(says("b")));
    let run = home.start(&workflow, Trail::default()).await.run;
    let mut events = home.runtime().subscribe(&registry(&workflow), run.clone(), None);
    let read = read_until(&mut events, ends_as(RunStatus::Suspended)).await;
    let asked = read.iter().find(|event| matches!(event.kind, EventKind::QuestionAsked { .. })).unwrap();
    assert!(asked.position.is_some(), "whoever comes back need not be told again");
    assert!(!read.iter().any(|event| matches!(event.kind, EventKind::StepEnded(_))), "nothing is over");
    home.answer(&run, "well?", Answer::text("well")).await;
    let (outcome, rest) = tokio::join!(home.resume(&workflow, &run), read_to_the_end(events));
    assert_eq!(outcome.status, RunStatus::Completed);
    assert!(matches!(&rest[0].kind, EventKind::QuestionAnswered { .. }), "{:?}", rest[0]);
    assert!(ends_as(RunStatus::Completed)(rest.last().unwrap()));
    let whole = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, None)).await;
    assert_eq!(read.len() - 1 + rest.len(), whole.len(), "but for its rest, it is told once");
}

#[tokio::test]
async fn a_run_of_another_process_is_read_through_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(folder.path().join("runs.db")).unwrap();
    let (here, there) = (Home::in_store(open(), echo()), Home::in_store(open(), echo()));
    let pauses =
        task_boxed("pauses", |scope, _: &mut Trail| Box::pin(async move { scope.sleep(millis(600)).await }));
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(pauses).then(says("b")));
    let run = RunId::mint();
    let work = here.runtime().start(&workflow, Trail::default()).id(run.clone());
    let reader = async {
        while there.store().run(&run).await.unwrap().is_none() {
            tokio::time::sleep(millis(5)).await;
        }
        let mut events = there.runtime().subscribe(&registry(&workflow), run.clone(), None);
        let first = |event: &Event| {
            event.path.as_str() == "main/pauses" && matches!(event.kind, EventKind::StepStarted { .. })
        };
        read_until(&mut events, first).await;
        assert_eq!(there.store().run(&run).await.unwrap().unwrap().status, RunStatus::Running, "as it goes");
        read_to_the_end(events).await
    };
    let (outcome, rest) = tokio::join!(work, reader);
    assert_eq!(outcome.unwrap().status, RunStatus::Completed);
    assert!(ends_as(RunStatus::Completed)(rest.last().unwrap()));
}

#[tokio::test]
async fn what_a_cancelled_run_has_left_open_is_told_to_be_over() {
    let home = Home::new(echo());
    let hangs = task_boxed("hangs", |scope, _: &mut Trail| {
        Box::pin(async move { scope.sleep(Duration::from_secs(3_600)).await })
    });
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(hangs));
    let (canceller, run) = (Canceller::new(), RunId::mint());
    let runtime = home.builder().patience(Duration::MAX).build();
    let work = runtime.start(&workflow, Trail::default()).id(run.clone()).canceller(&canceller);
    let mut events = home.runtime().subscribe(&registry(&workflow), run.clone(), None);
    let stop = async {
        tokio::time::sleep(millis(30)).await;
        canceller.cancel("enough");
    };
    let (outcome, ()) = tokio::join!(work, stop);
    assert_eq!(outcome.unwrap().status, RunStatus::Cancelled);
    let read = read_until(&mut events, ends_as(RunStatus::Cancelled)).await;
    let started = read.iter().filter(|event| matches!(event.kind, EventKind::StepStarted { .. })).count();
    let ended = read.iter().filter(|event| matches!(event.kind, EventKind::StepEnded(_))).count();
    assert_eq!((started, ended), (3, 3));
    let is_cut = |event: &&Event| matches!(event.kind, EventKind::StepEnded(StepEnd::Interrupted { .. }));
    assert_eq!(read.iter().filter(is_cut).count(), 2);
    assert!(events.next().await.is_none(), "nothing comes after the end");
}

#[tokio::test]
async fn calls_of_models_are_told_also_if_nobody_is_shown_what_they_say() {
    let home = Home::new(echo());
    let classifies = task_boxed("classifies", |scope, _: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            scope.model(&model, convoke_core::ModelRequest::new("secretly"), Visibility::Hidden).await?;
            Ok(())
        })
    });
    let workflow = Workflow::new(classifies);
    let (heard, outcome) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
    let run = outcome.unwrap().run;
    let read = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, None)).await;
    for events in [&heard, &read] {
        let call = events.iter().find_map(|event| match &event.kind {
            EventKind::ModelCallStarted(call) => Some(call),
            _ => None,
        });
        assert_eq!(call.unwrap().visibility, Visibility::Hidden);
        let end = events.iter().find_map(|event| match &event.kind {
            EventKind::ModelCallEnded { usage, end: ModelCallEnd::Replied { .. }, .. } => *usage,
            _ => None,
        });
        assert!(end.unwrap().total_tokens() > 0);
        assert!(!events.iter().any(|event| matches!(event.kind, EventKind::MessageStarted { .. })));
        let json = serde_json::to_string(events).unwrap();
        assert!(!json.contains("secretly"), "what is said in secret leaves no process: {json}");
    }
}

#[tokio::test]
async fn a_run_that_is_not_there_is_said_to_be_missing() {
    let home = Home::new(echo());
    let mut events = home.runtime().subscribe(&Registry::new(), "nobody".parse().unwrap(), None);
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.to_string().contains("nobody"), "{error}");
    assert!(events.next().await.is_none());
    let without = Runtime::new().subscribe(&Registry::new(), "nobody".parse().unwrap(), None).next().await;
    assert!(without.unwrap().unwrap_err().to_string().contains("needs a store"));
}

/// A step that says a word and continues, until there were so many generations.
fn talks_on(generations: u32) -> Workflow<Trail> {
    let again = task_boxed("again", move |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.count += 1;
            if scope.generation() + 1 < generations { scope.continue_with(trail) } else { Ok(()) }
        })
    });
    Workflow::new(Chain::new("main").then(says("word")).then(again))
}

#[tokio::test]
async fn what_is_read_goes_on_over_generations_for_whoever_is_not_further_behind_than_one() {
    let (home, workflow) = (Home::new(echo()), talks_on(3));
    let (heard, outcome) = home.runtime().start(&workflow, Trail::default()).stream().collect().await;
    let outcome = outcome.unwrap();
    let (run, registry) = (outcome.run, registry(&workflow));
    // Of three generations, the last two can be told; the first is in the record.
    let read = read_to_the_end(home.runtime().subscribe(&registry, run.clone(), None)).await;
    let second =
        heard.iter().position(|event| matches!(event.kind, EventKind::RunContinued { generation: 1 }));
    assert_eq!(placed(&read), placed(&heard[second.unwrap()..]));
    // Whoever is in the middle of the generation before misses nothing.
    for (at, event) in read.iter().enumerate() {
        let rest =
            read_to_the_end(home.runtime().subscribe(&registry, run.clone(), event.position.clone())).await;
        assert_eq!(placed(&rest), placed(&read[at + 1..]), "after {:?}", event.position);
    }
}

#[tokio::test]
async fn what_an_interceptor_asks_is_read_while_it_waits_and_afterwards() {
    let home = Home::new(echo());
    let workflow = Workflow::new(Chain::new("main").then(says("a")));
    let asking =
        Meddler { before: |_| Verdict::ask(Question::approval("may it?")), ..Meddler::called("guard") };
    let runtime = home.builder().interceptor(asking).build();
    let run = runtime.start(&workflow, Trail::default()).await.unwrap().run;
    let mut events = home.runtime().subscribe(&registry(&workflow), run.clone(), None);
    let read = read_until(&mut events, ends_as(RunStatus::Suspended)).await;
    let asked = |event: &Event| match &event.kind {
        EventKind::QuestionAsked { question, .. } => Some((question.title.clone(), event.position.is_some())),
        _ => None,
    };
    assert_eq!(read.iter().filter_map(asked).collect::<Vec<_>>(), [("may it?".to_owned(), true)]);
    home.answer(&run, "may it?", Answer::approve()).await;
    let outcome = runtime.resume(&workflow, run.clone()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let whole = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, None)).await;
    let at = |is_it: fn(&EventKind) -> bool| whole.iter().position(|event| is_it(&event.kind)).unwrap();
    let order = [
        at(|kind| matches!(kind, EventKind::QuestionAsked { .. })),
        at(|kind| matches!(kind, EventKind::QuestionAnswered { .. })),
        at(|kind| matches!(kind, EventKind::ModelCallStarted(_))),
        at(|kind| matches!(kind, EventKind::ModelCallEnded { .. })),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn whoever_comes_back_to_a_run_that_was_cancelled_is_told_how_it_went_on() {
    let home = Home::new(echo());
    let is_first = Arc::new(AtomicBool::new(true));
    let hangs_once = task_boxed("hangs once", move |_, trail: &mut Trail| {
        let hangs = is_first.swap(false, Ordering::SeqCst);
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            trail.count += 1;
            Ok(())
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(hangs_once).then(add("b")));
    let (canceller, run) = (Canceller::new(), RunId::mint());
    let work = home.runtime().start(&workflow, Trail::default()).id(run.clone()).canceller(&canceller);
    let stop = async {
        tokio::time::sleep(millis(50)).await;
        canceller.cancel("enough");
    };
    let (outcome, ()) = tokio::join!(work, stop);
    assert_eq!(outcome.unwrap().status, RunStatus::Cancelled);
    let read = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run.clone(), None)).await;
    assert!(ends_as(RunStatus::Cancelled)(read.last().unwrap()));
    let last = read.iter().rev().find_map(|event| event.position.clone());
    // Nothing is written when it goes on: all that is left is plain code.
    assert_eq!(home.resume(&workflow, &run).await.status, RunStatus::Completed);
    let rest = read_to_the_end(home.runtime().subscribe(&registry(&workflow), run, last)).await;
    let completed = |event: &&Event| matches!(event.kind, EventKind::StepEnded(StepEnd::Completed));
    assert_eq!(read.iter().chain(&rest).filter(completed).count(), 4, "each step once: {rest:?}");
    assert!(ends_as(RunStatus::Completed)(rest.last().unwrap()));
}

#[tokio::test]
async fn what_steps_go_by_is_the_same_in_an_account_labels_and_limits_of_later_generations_too() {
    let home = Home::new(echo());
    let labelling = || Meddler { after: |_, _| "untrusted".parse().unwrap(), ..Meddler::called("labels") };
    let runtime = home.builder().interceptor(labelling()).build();
    let goes_by = task_boxed("goes by", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let left = scope.remaining(&convoke_core::Resource::ModelCalls);
            let words = format!("{} {left:?}", scope.labels());
            let request = convoke_core::ModelRequest::new(words);
            trail.steps.push(scope.model(&model, request, Visibility::Streamed).await?.text());
            if scope.generation() < 2 { scope.continue_with(trail) } else { Ok(()) }
        })
    });
    let workflow = Workflow::new(goes_by);
    let limits = convoke_core::Limits::default().model_calls(9);
    let outcome = runtime.start(&workflow, Trail::default()).limits(limits).await.unwrap();
    assert_eq!(outcome.state.steps[1..], ["untrusted Some(8)!", "untrusted Some(7)!"]);
    let (run, registry) = (outcome.run, registry(&workflow));
    let read = read_to_the_end(runtime.subscribe(&registry, run.clone(), None)).await;
    assert!(ends_as(RunStatus::Completed)(read.last().unwrap()));
    let replay = runtime.replay(&workflow, &run).await.unwrap();
    assert!(replay.error.is_none(), "{:?}", replay.error);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_side_by_side_are_told_alike_whoever_is_quicker() {
    let quick = || TestTool::gives("quick", "q");
    let slow = || TestTool::gives("slow", "s").slow(millis(40));
    let calls = Reply::tool("slow", serde_json::json!({})).and_tool("quick", serde_json::json!({}));
    let model = ScriptedModel::builder()
        .when(convoke_models::Match::has_tool_result(), Reply::text("done"))
        .otherwise(calls)
        .build();
    let home = Home::new(model);
    let agent = convoke_agent::Agent::builder("helper").tool(slow()).tool(quick()).build().unwrap();
    let workflow = Workflow::new(
        convoke_steps::AgentStep::new("agent", agent, |_: &Trail| "go".to_owned())
            .store(|trail: &mut Trail, result| trail.steps.push(result.text())),
    );
    let (runtime, run) = (home.runtime(), RunId::mint());
    let work = tokio::spawn(runtime.start(&workflow, Trail::default()).id(run.clone()).stream().collect());
    tokio::time::sleep(millis(20)).await;
    let live = read_to_the_end(runtime.subscribe(&registry(&workflow), run.clone(), None)).await;
    let (heard, _) = work.await.unwrap();
    let read = read_to_the_end(runtime.subscribe(&registry(&workflow), run, None)).await;
    let told = |events: &[Event]| -> Vec<_> {
        let is_piece = |kind: &EventKind| {
            matches!(kind, EventKind::ToolCallStarted { .. } | EventKind::ToolCallArguments { .. })
        };
        placed(events).into_iter().filter(|(_, kind)| !is_piece(kind)).collect()
    };
    assert_eq!(told(&read), told(&heard));
    assert_eq!(told(&live), told(&heard));
}

#[tokio::test]
async fn a_call_that_takes_long_is_told_to_have_begun_also_to_those_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let open = |model| Home::in_store(SqliteStore::open(folder.path().join("runs.db")).unwrap(), model);
    let model = || {
        let slow = Reply::text("slow").delay(millis(900));
        let is_slow = convoke_models::Match::last_contains("slow");
        ScriptedModel::builder().when(is_slow, slow).otherwise(Reply::text("quick")).build()
    };
    let (here, there) = (open(model()), open(model()));
    let take = |trail: &mut Trail, done: Trail| trail.steps.extend(done.steps);
    let branches = Parallel::builder("branches", Join::all().finish_rest())
        .branch(says("slow"), take)
        .branch(Chain::new("quick").then(says("a")).then(says("b")), take)
        .build()
        .unwrap();
    let workflow = Workflow::new(branches);
    let run = RunId::mint();
    let work = here.runtime().start(&workflow, Trail::default()).id(run.clone());
    let reader = async {
        while there.store().run(&run).await.unwrap().is_none() {
            tokio::time::sleep(millis(5)).await;
        }
        read_to_the_end(there.runtime().subscribe(&registry(&workflow), run.clone(), None)).await
    };
    let (outcome, read) = tokio::join!(work, reader);
    assert_eq!(outcome.unwrap().status, RunStatus::Completed);
    let begun = read.iter().filter(|event| matches!(event.kind, EventKind::ModelCallStarted(_))).count();
    assert_eq!(begun, 3, "{read:#?}");
}
