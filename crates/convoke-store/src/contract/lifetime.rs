//! Contract: creation, forking, ending and deletion of runs.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use convoke_core::store::{Batch, ForkPoint, NewMail, NewRun, Retention, RunQuery};
use convoke_core::{Answer, Question, RunStatus, Store, StoreError};

use super::Backend;
use super::samples::{batch, blob, change, entry, finish, fresh, id, make, new_run, question, refused, seqs};

/// A fork has the entries, content and questions it was given, and goes on after them by itself.
pub async fn a_fork_begins_with_its_past<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let original = make(&*store, "original").await;
    store.append(&original, batch(1..=5)).await.expect("writable");
    let mut fork = new_run("fork");
    let asked = question("fork", "main/ask", 1, Question::confirm("?"));
    let past =
        Batch { blobs: vec![blob(b"shared")], opened: vec![asked.clone()], ..change(RunStatus::Suspended) };
    fork.past = Batch { entries: (1..=3).map(entry).collect(), ..past };
    fork.forked_from = Some(ForkPoint { run: original.run.clone(), at: 4 });
    let lease = store.create(fork).await.expect("a run may begin with a past");
    assert_eq!((lease.epoch, lease.next_seq), (1, 4), "a fork goes on after its past");
    assert_eq!(store.entries(&lease.run, 1, 9).await, Ok((1..=3).map(entry).collect()));
    assert_eq!(store.blob_digests(&lease.run).await, Ok(vec![blob(b"shared").digest]));
    assert_eq!(store.questions(Some(&lease.run)).await, Ok(vec![asked]));
    let record = store.run(&lease.run).await.expect("readable").expect("the run is there");
    assert_eq!(record.forked_from, Some(ForkPoint { run: id("original"), at: 4 }));
    assert_eq!(record.status, RunStatus::Suspended, "a past may change the record");
    store.append(&lease, batch([4])).await.expect("a fork can be written");
    store.append(&original, batch([6])).await.expect("the original can still be written");
    assert_eq!(seqs(&*store, &original.run).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(seqs(&*store, &lease.run).await, [1, 2, 3, 4]);
}

/// Runs have the outline they were made with, or the last one they were given; those of others are their own.
pub async fn an_outline_is_kept_until_there_is_another<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let (one, other) = (make(&*store, "one").await, make(&*store, "other").await);
    let none =
        store.create(NewRun { outline: None, ..new_run("none") }).await.expect("an outline may be missing");
    let outlines = async |store: &dyn Store| {
        let newest_first = store.runs(&RunQuery::default()).await.expect("readable");
        newest_first.into_iter().rev().map(|run| run.outline).collect::<Vec<_>>()
    };
    let (first, second) = (new_run("one").outline, Some(Bytes::from_static(b"{\"name\":\"other\"}")));
    assert_eq!(outlines(&*store).await, [first.clone(), first.clone(), None]);
    store.append(&one, Batch { outline: second.clone(), ..Batch::default() }).await.expect("writable");
    store.append(&other, batch([1])).await.expect("writable");
    assert_eq!(
        outlines(&*store).await,
        [second.clone(), first.clone(), None],
        "nothing said changes nothing"
    );
    for lease in [&one, &none] {
        finish(&*store, lease, RunStatus::Completed).await;
    }
    let retention = Retention { max_age: Some(Duration::ZERO), keep_per_workflow: None };
    assert_eq!(store.purge(&retention).await, Ok(2));
    drop(store);
    let store = backend.open(&place).await;
    assert_eq!(outlines(&*store).await, [first], "what is still needed stays");
}

/// Finished runs go when they are old, or too many, or both if both are limited; running, suspended and held ones stay.
pub async fn old_finished_runs_are_purged_and_others_stay<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for workflow in ["one", "two"] {
        for status in RunStatus::ALL {
            let mut run = new_run(&format!("{workflow}-{status}"));
            run.workflow = workflow.to_owned();
            run.past = batch(1..=3);
            let lease = store.create(run).await.expect("fresh id");
            finish(&*store, &lease, status).await;
        }
    }
    let held = make(&*store, "held").await;
    store.append(&held, change(RunStatus::Completed)).await.expect("writable");
    let purge = |max_age: Option<u64>, keep_per_workflow| {
        let retention = Retention { max_age: max_age.map(Duration::from_secs), keep_per_workflow };
        let store = &store;
        async move {
            let outdated = store.outdated(&retention).await.expect("readable");
            let deleted = store.purge(&retention).await.expect("purging works");
            assert_eq!(outdated.len() as u64, deleted, "what is said to be outdated is what is deleted");
            for run in &outdated {
                assert_eq!(store.run(run).await, Ok(None), "{run} is deleted");
            }
            deleted
        }
    };
    assert_eq!(purge(None, None).await, 0, "without limits everything is kept");
    assert_eq!(purge(Some(3_600), None).await, 0, "what ended a moment ago is not an hour old");
    assert_eq!(purge(None, Some(7)).await, 0, "there are seven finished runs of each workflow");
    assert_eq!(purge(Some(3_600), Some(5)).await, 0, "too many, but none of them is an hour old");
    assert_eq!(purge(Some(0), Some(7)).await, 0, "old enough, but not too many");
    assert_eq!(purge(Some(0), Some(5)).await, 4, "the two oldest of each workflow are both");
    let left = list(&*store).await;
    for gone in ["one-completed", "one-failed", "two-completed", "two-failed"] {
        assert!(!left.contains(&gone.to_owned()), "`{gone}` is the oldest of its workflow: {left:?}");
    }
    assert_eq!(purge(Some(0), None).await, 10, "everything that ended is older than no time at all");
    let mut left = list(&*store).await;
    left.sort();
    assert_eq!(left, ["held", "one-running", "one-suspended", "two-running", "two-suspended"]);
    assert_eq!(seqs(&*store, &id("one-suspended")).await, [1, 2, 3]);
    assert_eq!(seqs(&*store, &id("one-completed")).await, [0; 0], "a purged run leaves nothing");
    store.release(&held);
    assert_eq!(store.delete(&held.run).await, Ok(true));
}

/// A deleted run leaves nothing behind, and its id is free; a held one is not deleted.
pub async fn a_deleted_run_leaves_nothing<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "deleted").await;
    let asked = question("deleted", "main/ask", 1, Question::confirm("?"));
    let batch = Batch {
        entries: vec![entry(1)],
        blobs: vec![blob(b"content")],
        opened: vec![asked.clone()],
        ..change(RunStatus::Failed)
    };
    store.append(&lease, batch).await.expect("writable");
    let mail = || NewMail::json("a", &1).expect("a number is JSON").key("k");
    store.post(&lease.run, mail()).await.expect("it can go on");
    store.answer(&lease.run, &asked.id, Answer::approve()).await.expect("it fits");
    refused(store.delete(&lease.run).await, "a held run is not deleted", |error| {
        matches!(error, StoreError::Busy { .. })
    });
    store.release(&lease);
    assert_eq!(store.delete(&lease.run).await, Ok(true));
    assert_eq!(store.delete(&lease.run).await, Ok(false), "a run is deleted once");
    assert_eq!(store.run(&lease.run).await, Ok(None));
    for _ in 0..2 {
        assert_eq!(seqs(&*store, &lease.run).await, [0; 0], "entries of a deleted run");
        assert_eq!(store.blobs(&lease.run, &[blob(b"content").digest]).await, Ok(HashMap::new()));
        assert_eq!(store.questions(None).await, Ok(vec![]));
        assert_eq!(store.answers(&lease.run, &asked.id).await, Ok(vec![]));
        assert_eq!(store.mail(&lease.run, "a", 0, 9).await, Ok(vec![]));
        // A new run with the same id must not inherit anything either.
        let _ = store.create(new_run("deleted")).await;
    }
    let record = store.run(&lease.run).await.expect("readable").expect("the new run is there");
    assert_eq!((record.status, record.outcome), (RunStatus::Running, None));
    assert!(store.post(&lease.run, mail()).await.is_ok_and(|posted| posted.is_new));
}

async fn list(store: &dyn Store) -> Vec<String> {
    let runs = store.runs(&RunQuery::default()).await.expect("readable");
    runs.into_iter().map(|run| run.id.to_string()).collect()
}
