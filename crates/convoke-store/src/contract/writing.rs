//! Contract: appends are atomic, ordered, and give back what was put in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use convoke_core::store::{Batch, OnBusy, RunChange, Totals, WaitConditions};
use convoke_core::{Digest, Money, Path, Question, RunStatus, Store, StoreError, Usage};

use super::Backend;
use super::samples::{batch, blob, change, entry, fresh, id, make, new_run, question, refused, seqs};

/// A batch with one bad entry writes nothing: no entry, no content, no question, no change.
pub async fn a_batch_is_written_whole_or_not_at_all<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "atomic").await;
    let bad = Batch {
        blobs: vec![blob(b"content")],
        opened: vec![question("atomic", "main/ask", 1, Question::confirm("?"))],
        ..change(RunStatus::Failed)
    };
    let bad = Batch { entries: vec![entry(1), entry(2), entry(4)], ..bad };
    refused(store.append(&lease, bad).await, "an entry that skips a number is a gap", |error| {
        matches!(error, StoreError::Gap { expected: 3, found: 4, .. })
    });
    assert_eq!(seqs(&*store, &lease.run).await, [0; 0], "a refused batch must not leave entries");
    assert!(
        store.blob_digests(&lease.run).await.expect("readable").is_empty(),
        "a refused batch left content"
    );
    assert!(store.questions(None).await.expect("readable").is_empty(), "a refused batch left a question");
    let record = store.run(&lease.run).await.expect("readable").expect("the run is there");
    assert_eq!(record.status, RunStatus::Running, "a refused batch changed the record");

    let mut bad = new_run("bad-past");
    bad.past = batch([1, 3]);
    refused(store.create(bad).await, "a past with a gap is refused", |error| {
        matches!(error, StoreError::Gap { expected: 2, found: 3, .. })
    });
    assert_eq!(store.run(&id("bad-past")).await, Ok(None), "a refused run must not exist");
}

/// The first entry is 1, each next one is one more; anything else is a gap.
pub async fn entries_are_numbered_without_gaps<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    for (number, first) in [0, 2, u64::MAX].into_iter().enumerate() {
        let lease = make(&*store, &format!("first-{number}")).await;
        assert_eq!(lease.next_seq, 1, "a new run begins with entry 1");
        refused(
            store.append(&lease, batch([first])).await,
            "the first entry must be 1",
            |error| matches!(error, StoreError::Gap { expected: 1, found, .. } if *found == first),
        );
    }
    let lease = make(&*store, "second").await;
    store.append(&lease, batch([1, 2])).await.expect("two entries in one batch");
    refused(store.append(&lease, batch([2])).await, "a number is used once", |error| {
        matches!(error, StoreError::Gap { expected: 3, found: 2, .. })
    });
}

/// After a batch of a lease failed all later ones fail, even if they would fit; a new claim goes on after what is there.
pub async fn nothing_follows_a_failed_batch<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "gap").await;
    let tickets = [batch([1]), batch([3]), batch([2]), change(RunStatus::Completed)]
        .map(|batch| store.append(&lease, batch));
    let results = futures_util::future::join_all(tickets).await;
    assert_eq!(results[0], Ok(()), "a batch before the failing one is written");
    assert!(results[1..].iter().all(Result::is_err), "what follows a failed batch must fail: {results:?}");
    assert_eq!(seqs(&*store, &lease.run).await, [1]);
    let record = store.run(&lease.run).await.expect("readable").expect("the run is there");
    assert_eq!(record.status, RunStatus::Running, "a change after a failed batch must not be written");

    let lease = store.claim(&lease.run, OnBusy::TakeOver).await.expect("a run can be taken over");
    assert_eq!(lease.next_seq, 2, "a claim goes on after what is there");
    store.append(&lease, batch([2])).await.expect("a new lease can write");
}

/// The order of calls is the order of the journal, and the last ticket stands for all.
pub async fn appends_keep_their_order_without_being_awaited<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "order").await;
    let mut last = None;
    for seq in 1..=300 {
        last = Some(store.append(&lease, batch([seq])));
    }
    last.expect("there was an append").await.expect("the last of many appends is written");
    assert_eq!(seqs(&*store, &lease.run).await, (1..=300).collect::<Vec<_>>());
    let ticket = store.append(&lease, batch([301]));
    let (one, other) = futures_util::future::join(ticket.clone(), ticket).await;
    assert_eq!((one, other), (Ok(()), Ok(())), "several may await one ticket");
    drop(store.append(&lease, batch([302])));
    store.append(&lease, batch([303])).await.expect("dropping a ticket does not undo its batch");
}

/// Eight megabytes in every place that takes bytes.
pub async fn large_payloads_come_back_as_they_were<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let large: Bytes =
        (0..8_u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut run = new_run("large");
    run.input = large.clone();
    let lease = store.create(run).await.expect("a large input is taken");
    let mut batch = Batch { entries: vec![entry(1)], blobs: vec![blob(&large)], ..Batch::default() };
    batch.entries[0].request = Some(large.clone());
    batch.entries[0].outcome = Some(large.clone());
    let outcome = Some(large.clone());
    batch.change = Some(RunChange {
        waits: WaitConditions::default(),
        worked: Duration::ZERO,
        status: RunStatus::Completed,
        outcome,
        totals: Totals::default(),
    });
    store.append(&lease, batch).await.expect("large content is taken");

    let entries = store.entries(&lease.run, 1, 10).await.expect("readable");
    let is_large = |bytes: &Option<Bytes>| bytes.as_ref() == Some(&large);
    assert!(
        is_large(&entries[0].request) && is_large(&entries[0].outcome),
        "a large entry came back changed"
    );
    let digest = Digest::of_parts(&[&large]);
    let blobs = store.blobs(&lease.run, &[digest]).await.expect("readable");
    assert!(blobs.get(&digest) == Some(&large), "large content came back changed");
    let record = store.run(&lease.run).await.expect("readable").expect("the run is there");
    assert!(record.input == large && is_large(&record.outcome), "a large record came back changed");
}

/// Any text and any bytes, empty ones included.
pub async fn any_text_comes_back_as_it_was<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let texts = ["", "Grüße, 世界 🌍", "'; DROP TABLE runs; --", "a\nb\t\"c\"\\", "e\u{301}\u{202e}x"];
    for (number, text) in texts.into_iter().enumerate() {
        let name = format!("text-{number}");
        let mut run = new_run(&name);
        run.workflow = text.to_owned();
        let lease = store.create(run).await.expect("any name will do for a workflow");
        let mut first = entry(1);
        first.path = Path::from(text);
        first.request = Some(Bytes::copy_from_slice(text.as_bytes()));
        first.outcome = Some(Bytes::from_static(b"\x00\xff\x00"));
        let asked =
            question(&name, text, 5, Question::text(text).about(serde_json::json!({ text: [text, null] })));
        let batch = Batch {
            entries: vec![first.clone()],
            blobs: vec![blob(b"")],
            opened: vec![asked.clone()],
            ..Batch::default()
        };
        store.append(&lease, batch).await.expect("any text is taken");
        let record = store.run(&lease.run).await.expect("readable").expect("the run is there");
        assert_eq!(record.workflow, text);
        assert_eq!(store.entries(&lease.run, 1, 9).await, Ok(vec![first]));
        assert_eq!(store.questions(Some(&lease.run)).await, Ok(vec![asked]));
        let empty = Digest::of_parts(&[b""]);
        let content = store.blobs(&lease.run, &[empty]).await.expect("readable");
        assert_eq!(content.get(&empty), Some(&Bytes::new()), "empty content is content");
    }
}

/// Status, outcome and totals are those of the last change; the rest of the record stays.
pub async fn a_change_replaces_what_the_record_says<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let lease = make(&*store, "record").await;
    let record = |store: Arc<dyn Store>| async move {
        store.run(&id("record")).await.expect("readable").expect("the run is there")
    };
    let new = record(Arc::clone(&store)).await;
    assert_eq!((new.version, new.seed, &new.input[..]), (3, u64::MAX - 7, &b"{\"n\":1}"[..]));
    assert_eq!((new.status, new.outcome, new.totals), (RunStatus::Running, None, Totals::default()));
    assert_eq!((new.epoch, new.created), (1, new.updated));
    assert!(new.holder.is_some(), "a run that was just made is held");

    let usage = Usage { cost: Some(Money::from_cents(7)), reasoning_tokens: 9, ..Usage::tokens(10, 20) };
    let totals = Totals { model_calls: 3, unpriced_calls: 1, tool_calls: 2, usage };
    for status in RunStatus::ALL {
        let outcome = Some(Bytes::from(format!("\"{status}\"")));
        let change = RunChange {
            worked: Duration::ZERO,
            status,
            outcome: outcome.clone(),
            totals,
            waits: WaitConditions::default(),
        };
        store
            .append(&lease, Batch { change: Some(change), ..Batch::default() })
            .await
            .expect("any status can follow any other");
        let now = record(Arc::clone(&store)).await;
        assert_eq!((now.status, now.outcome, now.totals), (status, outcome, totals));
        assert!(now.updated >= new.updated && now.created == new.created);
    }
    store.append(&lease, change(RunStatus::Running)).await.expect("writable");
    assert_eq!(record(store).await.outcome, None, "a change without an outcome takes the old one away");
}

/// The same content may be given twice, and belongs to its run alone.
pub async fn content_is_kept_once_per_run<B: Backend>(backend: &B) {
    let (_place, store) = fresh(backend).await;
    let (one, other) = (make(&*store, "one").await, make(&*store, "other").await);
    for _ in 0..2 {
        let batch = Batch { blobs: vec![blob(b"a"), blob(b"b"), blob(b"a")], ..Batch::default() };
        store.append(&one, batch).await.expect("the same content twice is no error");
    }
    let (a, b, c) = (blob(b"a").digest, blob(b"b").digest, blob(b"c").digest);
    let mut digests = store.blob_digests(&one.run).await.expect("readable");
    digests.sort();
    let mut expected = [a, b];
    expected.sort();
    assert_eq!(digests, expected);
    let found = store.blobs(&one.run, &[a, c, a]).await.expect("readable");
    assert_eq!(
        (found.len(), found.get(&a)),
        (1, Some(&Bytes::from_static(b"a"))),
        "what is missing is left out"
    );
    assert_eq!(store.blob_digests(&other.run).await, Ok(vec![]), "content belongs to one run");
}
