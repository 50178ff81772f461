//! Contract: reading and listing runs.

use std::collections::HashMap;
use std::sync::Arc;

use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, ForkPoint, RunQuery, RunRecord};
use convoke_core::{Answer, Digest, Entry, Question, RunStatus, Store};

use super::Backend;
use super::samples::{batch, blob, change, entry, fresh, id, make, new_run, question};

/// Newest first, by workflow, status and beginning of the id, and no more than asked for.
pub async fn runs_are_listed_newest_first<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for (number, name) in ["b-1", "a-1", "B-2", "b-2", "a_2", "b-10"].into_iter().enumerate() {
        let mut run = new_run(name);
        run.workflow = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
        let lease = store.create(run).await.expect("fresh ids");
        if number < 3 {
            store.append(&lease, change(RunStatus::Completed)).await.expect("writable");
        }
    }
    let list = |query: RunQuery| {
        let store = Arc::clone(&store);
        async move {
            let runs = store.runs(&query).await.expect("readable");
            runs.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>()
        }
    };
    let all = RunQuery::default();
    assert_eq!(list(all.clone()).await, ["b-10", "a_2", "b-2", "B-2", "a-1", "b-1"]);
    assert_eq!(list(RunQuery { limit: Some(2), ..all.clone() }).await, ["b-10", "a_2"]);
    assert_eq!(list(RunQuery { limit: Some(0), ..all.clone() }).await, [""; 0]);
    assert_eq!(list(RunQuery { limit: Some(usize::MAX), ..all.clone() }).await.len(), 6);
    assert_eq!(
        list(RunQuery { workflow: Some("even".to_owned()), ..all.clone() }).await,
        ["a_2", "B-2", "b-1"]
    );
    assert_eq!(
        list(RunQuery { status: Some(RunStatus::Completed), ..all.clone() }).await,
        ["B-2", "a-1", "b-1"]
    );
    for (prefix, expected) in [
        ("b-1", &["b-10", "b-1"][..]),
        ("a_", &["a_2"]),
        ("", &["b-10", "a_2", "b-2", "B-2", "a-1", "b-1"]),
        ("%", &[]),
    ] {
        assert_eq!(list(RunQuery { id_prefix: Some(prefix.to_owned()), ..all.clone() }).await, expected);
    }
    let narrow = RunQuery {
        workflow: Some("even".to_owned()),
        status: Some(RunStatus::Completed),
        id_prefix: Some("b".to_owned()),
        limit: Some(5),
        ..all.clone()
    };
    assert_eq!(list(narrow).await, ["b-1"], "all conditions hold together");
}

/// From a number on, at most so many, in order.
pub async fn entries_are_read_in_pages<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "pages").await;
    store.append(&lease, batch(1..=10)).await.expect("writable");
    make(&*store, "neighbour").await;
    for (from, limit, expected) in [
        (1, usize::MAX, 1..11),
        (0, 3, 1..4),
        (4, 3, 4..7),
        (9, 5, 9..11),
        (11, 5, 0..0),
        (u64::MAX, 5, 0..0),
        (1, 0, 0..0),
    ] {
        let page = store.entries(&lease.run, from, limit).await.expect("readable");
        let expected: Vec<Entry> = expected.map(entry).collect();
        assert_eq!(page, expected, "entries from {from}, at most {limit}");
    }
}

/// Reading about a run that is not there is no error.
pub async fn unknown_runs_have_nothing<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let missing = id("missing");
    let question = question("missing", "main", 1, Question::confirm("?")).id;
    assert_eq!(store.run(&missing).await, Ok(None));
    assert_eq!(store.entries(&missing, 1, 9).await, Ok(vec![]));
    assert_eq!(store.blob_digests(&missing).await, Ok(vec![]));
    assert_eq!(store.blobs(&missing, &[Digest::default()]).await, Ok(HashMap::new()));
    assert_eq!(store.questions(Some(&missing)).await, Ok(vec![]));
    assert_eq!(store.answers(&missing, &question).await, Ok(vec![]));
    assert_eq!(store.runs(&RunQuery::default()).await, Ok(vec![]));
    assert_eq!(store.delete(&missing).await, Ok(false));
}

/// What one handle wrote the next one finds, to the last field.
pub async fn a_store_opened_again_has_everything<B: Backend>(backend: &B) {
    let (place, store) = fresh(backend).await;
    let mut run = new_run("again");
    run.forked_from = Some(ForkPoint { run: id("elsewhere"), at: 17 });
    let lease = store.create(run).await.expect("fresh id");
    let asked =
        question("again", "main/ask", 9, Question::choice("which?", ["red", "blue"]).audience(["ann"]));
    let batch =
        Batch { blobs: vec![blob(b"content")], opened: vec![asked.clone()], ..change(RunStatus::Suspended) };
    store.append(&lease, Batch { entries: (1..=5).map(entry).collect(), ..batch }).await.expect("writable");
    store.answer(&lease.run, &asked.id, Answer::choose("red").by("ann")).await.expect("it fits");
    store.release(&lease);
    // Written after the release, so the release is written too.
    let other = make(&*store, "other").await;
    store.append(&other, change(RunStatus::Completed)).await.expect("writable");
    let before = everything(&*store).await;
    drop(store);
    let store = backend.open(&place).await;
    assert_eq!(everything(&*store).await, before);
}

type Everything =
    Vec<(RunRecord, Vec<Entry>, HashMap<Digest, bytes::Bytes>, Vec<(PendingQuestion, Vec<Answer>)>)>;

async fn everything(store: &dyn Store) -> Everything {
    let mut found = Vec::new();
    for mut record in store.runs(&RunQuery::default()).await.expect("readable") {
        let run = record.id.clone();
        // Who holds a run may change when a handle is dropped.
        record.holder = None;
        let entries = store.entries(&run, 1, usize::MAX).await.expect("readable");
        let digests = store.blob_digests(&run).await.expect("readable");
        let blobs = store.blobs(&run, &digests).await.expect("readable");
        let mut questions = Vec::new();
        for question in store.questions(Some(&run)).await.expect("readable") {
            let answers = store.answers(&run, &question.id).await.expect("readable");
            questions.push((question, answers));
        }
        found.push((record, entries, blobs, questions));
    }
    found
}
