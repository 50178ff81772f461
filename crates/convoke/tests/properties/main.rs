//! What holds for every workflow, whatever it is made of.
//!
//! Random trees of steps (nesting, failures, panics, time-outs, questions) are run on virtual time. Their event streams
//! must be well formed, running and streaming must agree, and resuming from any prefix of the journal must give the same
//! state and the same events as the first run, also of runs that continue generation after generation.

mod interceptors;
mod recorded;
mod tree;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use convoke::core::store::{NewMail, StoreError};
use convoke::core::{Observer, QuestionKind, Timestamp};
use convoke::prelude::*;
use proptest::prelude::*;

use interceptors::{Asking, Labelling};
use recorded::Recorded;
use tree::{Log, Tree, any_tree, echo, in_generations, killable_tree, steady_tree};
use verify::{normalised, well_formed};

/// Runs on virtual time: a minute of waiting takes no time at all.
fn on_virtual_time<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// How a run ended, as far as two runs can be compared.
#[derive(Debug, PartialEq)]
struct Ended {
    status: RunStatus,
    state: Log,
    error: Option<String>,
}

impl From<Outcome<Log>> for Ended {
    fn from(outcome: Outcome<Log>) -> Self {
        Self {
            status: outcome.status,
            state: outcome.state,
            error: outcome.error.map(|error| error.to_string()),
        }
    }
}

fn runtime<T: Store>(store: &Arc<T>) -> Runtime {
    let builder = Runtime::builder().shared_store(Arc::clone(store) as Arc<dyn Store>).model(echo());
    // Longer than any sleep in the trees, shorter than any limit.
    builder.patience(Duration::from_secs(50)).interceptor(Labelling).interceptor(Asking).build()
}

/// Runs, and answers questions, until the run is over. Gives the events of the last start, which tells everything from
/// the beginning.
async fn to_the_end<T: Store>(store: &Arc<T>, workflow: &Workflow<Log>, run: &RunId) -> (Vec<Event>, Ended) {
    loop {
        // All at once, before it goes on: what is decided without an answer must not depend on who was quicker.
        for pending in store.questions(Some(run)).await.expect("questions can be listed") {
            let answer = match pending.question.kind {
                // It was interrupted; nothing in the trees minds being done again.
                QuestionKind::Choice { .. } => Answer::choose("again"),
                _ => Answer::approve(),
            };
            let answered = store.answer(run, &pending.id, answer).await;
            // It may have been answered just before the run was killed.
            assert!(matches!(answered, Ok(()) | Err(StoreError::Answered { .. })), "{answered:?}");
        }
        let record = store.run(run).await.expect("it can be read").expect("it is there");
        // One that was killed may have been sent a letter already: a second one would be for somebody else.
        let due = store.due(Timestamp::now(), 9).await.expect("what is due can be asked");
        let has_letter = due.iter().any(|due| due.run == *run);
        for channel in record.channels.into_iter().filter(|_| !has_letter) {
            let letter = NewMail::json(channel, "a letter").expect("words are JSON").sender("ann");
            store.post(run, letter).await.expect("mail is taken");
        }
        let (events, outcome) = runtime(store).resume(workflow, run.clone()).stream().collect().await;
        let outcome = outcome.expect("the run can be resumed");
        well_formed(&events);
        if outcome.status != RunStatus::Suspended {
            return (events, outcome.into());
        }
        let record = store.run(run).await.expect("it can be read").expect("it is there");
        let waits = !outcome.questions().is_empty() || !record.channels.is_empty();
        assert!(waits, "a suspended run says what it waits for");
    }
}

/// An event that has a place in the account of its run, as far as two accounts can be compared. The pieces of a message come in passing.
fn placed(event: Event) -> Option<(Position, EventKind)> {
    // What interceptors asked is told by the account, and not once more by a run that goes on.
    if event.path.segments().any(|segment| segment.starts_with("interceptors")) {
        return None;
    }
    let kind = match event.kind {
        EventKind::RunStarted { workflow, .. } => EventKind::RunStarted { workflow, resumed: false },
        EventKind::ModelCallStarted(_)
        | EventKind::MessageStarted { .. }
        | EventKind::MessageDelta { .. } => return None,
        other => other,
    };
    event.position.map(|position| (position, kind))
}

/// What somebody else reads of a run, as far as it has come.
async fn account(
    store: &Arc<MemoryStore>,
    registry: &Registry,
    run: &RunId,
    after: Option<Position>,
) -> Vec<(Position, EventKind)> {
    let mut events = runtime(store).subscribe(registry, run.clone(), after);
    let mut read = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.expect("it can be read");
        let waits = matches!(&event.kind, EventKind::RunEnded(end) if end.status == RunStatus::Suspended);
        read.extend(placed(event));
        if waits {
            break;
        }
    }
    read
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_event_stream_is_well_formed_even_when_the_run_is_cancelled(
        tree in any_tree(),
        cancel_after in proptest::option::of(0_u64..400),
        timeout in proptest::option::of(1_u64..400),
    ) {
        on_virtual_time(async {
            let canceller = Canceller::new();
            let runtime = Runtime::builder().model(echo()).build();
            let mut start = runtime.start(&Workflow::new(tree.step("root")), Log::default()).canceller(&canceller);
            if let Some(seconds) = timeout {
                start = start.timeout(Duration::from_secs(seconds));
            }
            let run = start.stream();
            let collected = run.collect();
            tokio::pin!(collected);
            let (events, outcome) = match cancel_after {
                Some(seconds) => tokio::select! {
                    all = &mut collected => all,
                    () = tokio::time::sleep(Duration::from_secs(seconds)) => {
                        canceller.cancel("enough");
                        collected.await
                    }
                },
                None => collected.await,
            };
            well_formed(&events);
            prop_assert!(outcome.is_ok());
            Ok(())
        })?;
    }

    #[test]
    fn gains_055_running_and_streaming_come_to_the_same_end(tree in steady_tree()) {
        on_virtual_time(async {
            let workflow = Workflow::new(tree.step("root"));
            let runtime = Runtime::builder().model(echo()).build();
            let run: Ended = runtime.start(&workflow, Log::default()).await.expect("it starts").into();
            let (_, streamed) = runtime.start(&workflow, Log::default()).stream().collect().await;
            prop_assert_eq!(run, Ended::from(streamed.expect("it starts")));
            Ok(())
        })?;
    }

    #[test]
    fn resuming_from_any_prefix_of_the_journal_gives_the_same_state_and_events(tree in steady_tree()) {
        on_virtual_time(async {
            let store = Arc::new(MemoryStore::new());
            let workflow = Workflow::new(tree.step("root"));
            let run: RunId = "first".parse().expect("a valid id");
            let first = runtime(&store).start(&workflow, Log::default()).id(run.clone()).stream().collect().await;
            let (events, ended) = match first.1.expect("it starts") {
                suspended if suspended.status == RunStatus::Suspended => to_the_end(&store, &workflow, &run).await,
                ended => (first.0, ended.into()),
            };
            let entries = store.entries(&run, 1, 10_000).await.expect("entries can be read").len() as u64;
            let store_object: Arc<dyn Store> = store.clone();
            for at in 1..=entries + 1 {
                let fork = Fork::new(run.clone(), at).create(&store_object).await.expect("it forks");
                let (fork_events, fork_ended) = to_the_end(&store, &workflow, &fork).await;
                prop_assert_eq!(&fork_ended, &ended, "forked at {}", at);
                prop_assert_eq!(normalised(&fork_events), normalised(&events), "forked at {}", at);
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_read_of_a_run_is_what_was_heard_at_the_same_positions(tree in steady_tree()) {
        on_virtual_time(async {
            let store = Arc::new(MemoryStore::new());
            let workflow = Workflow::new(tree.step("root"));
            let registry = Registry::new();
            registry.register(Runner::new(&workflow));
            let run: RunId = "first".parse().expect("a valid id");
            let (mut events, outcome) =
                runtime(&store).start(&workflow, Log::default()).id(run.clone()).stream().collect().await;
            if outcome.expect("it starts").status == RunStatus::Suspended {
                let so_far = account(&store, &registry, &run, None).await;
                events = to_the_end(&store, &workflow, &run).await.0;
                let whole = account(&store, &registry, &run, None).await;
                prop_assert_eq!(&so_far[..], &whole[..so_far.len()], "what was read stays as it was");
            }
            let mut heard: Vec<_> = events.into_iter().filter_map(placed).collect();
            heard.sort_by(|one, other| one.0.cmp(&other.0));
            let read = account(&store, &registry, &run, None).await;
            prop_assert_eq!(&read, &heard);
            for at in 0..read.len() {
                let rest = account(&store, &registry, &run, Some(read[at].0.clone())).await;
                prop_assert_eq!(&rest[..], &read[at + 1..], "after {}", read[at].0);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_replay_touches_nothing_and_comes_to_the_same_end(tree in steady_tree()) {
        on_virtual_time(async {
            let store = Arc::new(MemoryStore::new());
            let workflow = Workflow::new(tree.step("root"));
            let outcome = runtime(&store).start(&workflow, Log::default()).await.expect("it starts");
            let before = store.entries(&outcome.run, 1, 10_000).await.expect("entries can be read");
            let untouchable = Runtime::builder().shared_store(store.clone() as Arc<dyn Store>).build();
            let replay = untouchable.replay(&workflow, &outcome.run).await.expect("it replays");
            if outcome.status == RunStatus::Completed {
                prop_assert_eq!(&replay.state, &outcome.state);
                prop_assert!(replay.error.is_none(), "{:?}", replay.error);
                prop_assert_eq!(replay.unused, 0);
            }
            prop_assert_eq!(store.entries(&outcome.run, 1, 10_000).await.expect("entries can be read"), before);
            Ok(())
        })?;
    }
}

/// The events of the last generation, without questions about what was interrupted.
fn last_generation(events: &[Event]) -> Vec<Event> {
    let continued = |event: &Event| matches!(event.kind, EventKind::RunContinued { .. });
    let begins = events.iter().rposition(continued).map_or(0, |index| index + 1);
    events[begins..].iter().filter(|event| !event.path.as_str().contains("in doubt")).cloned().collect()
}

proptest! {
    // Every case is resumed from every moment of three generations.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_run_of_several_generations_that_is_killed_at_any_moment_comes_to_the_same_end(tree in killable_tree()) {
        on_virtual_time(async {
            let store = Arc::new(Recorded::default());
            let workflow = in_generations(&tree, 3);
            let run: RunId = "first".parse().expect("a valid id");
            let first = runtime(&store).start(&workflow, Log::default()).id(run.clone()).stream().collect().await;
            well_formed(&first.0);
            let (events, ended) = match first.1.expect("it starts") {
                suspended if suspended.status == RunStatus::Suspended => to_the_end(&store, &workflow, &run).await,
                ended => (first.0, ended.into()),
            };
            for moments in 1..=store.moments() {
                let left = store.killed_after(moments).await;
                if left.run(&run).await.expect("readable").is_some_and(|record| record.status.is_final()) {
                    break;
                }
                let (again, ended_again) = to_the_end(&left, &workflow, &run).await;
                prop_assert_eq!(&ended_again, &ended, "killed after {}", moments);
                let (again, events) = (last_generation(&again), last_generation(&events));
                prop_assert_eq!(normalised(&again), normalised(&events), "killed after {}", moments);
            }
            Ok(())
        })?;
    }
}

/// The tests above are only worth something if the trees are varied.
#[test]
fn the_trees_contain_every_kind_of_step() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let tree = any_tree().new_tree(&mut runner).expect("a tree").current();
        tree.kinds(&mut seen);
    }
    assert_eq!(seen.len(), Tree::KINDS, "{seen:?}");
}

/// Observers and stream readers see the same.
#[test]
fn an_observer_hears_what_a_reader_hears() {
    on_virtual_time(async {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        let observer = move |event: &Event| listener.lock().expect("not poisoned").push(event.clone());
        let observer: Box<dyn Observer> = Box::new(observer);
        let runtime =
            Runtime::builder().model(echo()).observer(move |event: &Event| observer.observe(event)).build();
        let workflow = Workflow::new(Tree::Chain(vec![Tree::Model, Tree::Fail]).step("root"));
        let (events, _) = runtime.start(&workflow, Log::default()).stream().collect().await;
        assert_eq!(*heard.lock().expect("not poisoned"), events);
    });
}
