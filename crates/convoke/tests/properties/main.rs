//! What holds for every workflow, whatever it is made of.
//!
//! Random trees of steps (nesting, failures, panics, time-outs, questions) are run on virtual time. Their event streams
//! must be well formed, running and streaming must agree, and resuming from any prefix of the journal must give the same
//! state and the same events as the first run.

mod interceptors;
mod tree;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use convoke::core::Observer;
use convoke::core::store::NewMail;
use convoke::prelude::*;
use proptest::prelude::*;

use interceptors::{Asking, Labelling};
use tree::{Log, Tree, any_tree, echo, steady_tree};
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

fn runtime(store: &Arc<MemoryStore>) -> Runtime {
    let builder = Runtime::builder().shared_store(Arc::clone(store) as Arc<dyn Store>).model(echo());
    // Longer than any sleep in the trees, shorter than any limit.
    builder.patience(Duration::from_secs(50)).interceptor(Labelling).interceptor(Asking).build()
}

/// Runs, and answers questions, until the run is over. Gives the events of the last start, which tells everything from
/// the beginning.
async fn to_the_end(store: &Arc<MemoryStore>, workflow: &Workflow<Log>, run: &RunId) -> (Vec<Event>, Ended) {
    loop {
        // All at once, before it goes on: what is decided without an answer must not depend on who was quicker.
        for pending in store.questions(Some(run)).await.expect("questions can be listed") {
            store.answer(run, &pending.id, Answer::approve()).await.expect("an answer is taken");
        }
        let record = store.run(run).await.expect("it can be read").expect("it is there");
        for channel in record.channels {
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
