//! Contract: runs that continue with another state.

use bytes::Bytes;
use convoke_core::store::{Batch, Generation, NewRun, NextGeneration, OnBusy, RunRecord};
use convoke_core::{Question, RunStatus, Store, StoreError};

use super::Backend;
use super::samples::{batch, change, entry, finish, fresh, id, make, new_run, question, refused, seqs};

fn next(number: u32, begins_at: u64) -> NextGeneration {
    let carried = (number != 2).then(|| Bytes::from(format!("{{\"from\":{number}}}")));
    let input = Bytes::from(format!("{{\"n\":{}}}", number * 10));
    let generation = Generation { number, begins_at, carried };
    NextGeneration { generation, version: 3 + number, seed: u64::MAX - u64::from(number), input }
}

async fn record(store: &dyn Store, run: &str) -> RunRecord {
    store.run(&id(run)).await.expect("readable").expect("the run is there")
}

/// A run that continues has the state, the version and the seed it continues with, together with what else is in the batch; what it
/// did before stays.
pub async fn a_run_continues_with_its_next_generation<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let lease = make(&*store, "run").await;
    assert_eq!(record(&*store, "run").await.generation, Generation::default());
    let asked = question("run", "main/ask", 1, Question::confirm("?"));
    store.append(&lease, Batch { opened: vec![asked.clone()], ..batch([1, 2]) }).await.expect("writable");
    let ends = Batch { entries: vec![entry(3)], closed: vec![asked.id], ..change(RunStatus::Running) };
    store.append(&lease, Batch { next: Some(next(1, 4)), ..ends }).await.expect("it may continue");
    store.append(&lease, batch([4])).await.expect("numbers go on");
    drop(store);
    let store = backend.open(&place).await;
    let now = record(&*store, "run").await;
    assert_eq!(now.generation, next(1, 4).generation);
    assert_eq!((now.version, now.latest, now.seed, &now.input[..]), (4, 4, u64::MAX - 1, &b"{\"n\":10}"[..]));
    assert_eq!((now.workflow.as_str(), now.status), ("sample", RunStatus::Running));
    assert_eq!(seqs(&*store, &id("run")).await, [1, 2, 3, 4], "what was done before stays");
    let current = store.entries(&id("run"), now.generation.begins_at, 9).await.expect("readable");
    assert_eq!(current, [entry(4)], "and need not be read");
    assert!(store.questions(None).await.expect("readable").is_empty());
    let lease = store.claim(&id("run"), OnBusy::TakeOver).await.expect("it is there");
    assert_eq!(lease.next_seq, 5);
    // Without a word of what it has from those before, it has nothing from them.
    store.append(&lease, Batch { next: Some(next(2, 5)), ..Batch::default() }).await.expect("and again");
    assert_eq!(record(&*store, "run").await.generation, next(2, 5).generation);
    finish(&*store, &lease, RunStatus::Completed).await;
    assert_eq!(store.delete(&id("run")).await, Ok(true));
    let anew = store.create(new_run("run")).await.expect("the id is free again");
    assert_eq!(record(&*store, &anew.run.to_string()).await.generation, Generation::default());
}

/// A generation begins where the journal ends, and not without the rest of its batch.
pub async fn a_generation_that_is_refused_changes_nothing<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for (run, begins_at, entries) in [("late", 3, 1), ("zero", 0, 1), ("gap", 2, 2)] {
        let lease = make(&*store, run).await;
        let before = record(&*store, run).await;
        let bad = Batch { next: Some(next(1, begins_at)), ..batch([entries]) };
        refused(store.append(&lease, bad).await, "a generation begins where the journal ends", |error| {
            matches!(error, StoreError::Failed(_) | StoreError::Gap { .. })
        });
        assert_eq!(record(&*store, run).await, before, "a refused batch changed the record");
        assert_eq!(seqs(&*store, &lease.run).await, [0; 0]);
    }
    let old = make(&*store, "fenced").await;
    store.claim(&old.run, OnBusy::TakeOver).await.expect("it is there");
    let late = Batch { next: Some(next(1, 1)), ..Batch::default() };
    refused(store.append(&old, late).await, "whoever lost a run cannot continue it", |error| {
        matches!(error, StoreError::Fenced { .. })
    });
    assert_eq!(record(&*store, "fenced").await.generation, Generation::default());
}

/// What a run is made with may be the state of a generation of another one.
pub async fn a_fork_may_begin_with_what_another_run_carried<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let begins = next(0, 1);
    let past = Batch { next: Some(begins.clone()), ..batch([1, 2]) };
    store.create(NewRun { past, ..new_run("fork") }).await.expect("fresh id");
    let fork = record(&*store, "fork").await;
    assert_eq!((fork.generation, fork.input, fork.seed), (begins.generation, begins.input, begins.seed));
    assert_eq!(seqs(&*store, &id("fork")).await, [1, 2]);
}
