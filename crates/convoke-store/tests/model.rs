//! Any sequence of operations gives the same answers on both stores.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use bytes::Bytes;
use common::{entry, id};
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{
    AwaitedChannel, Batch, Generation, Lease, NewMail, NewRun, NextGeneration, OnBusy, Retention, RunChange,
    RunQuery, Totals, WaitConditions,
};
use convoke_core::{
    Answer, Blob, Digest, IdempotencyKey, Path, Question, RunId, RunStatus, Store, Timestamp,
};
use convoke_store::{MemoryStore, SqliteStore};
use proptest::prelude::*;

/// Runs, questions and leases are few, so that operations meet.
#[derive(Debug, Clone)]
enum Operation {
    Create { run: u8, past: u8, gap: bool },
    Claim { run: u8, take_over: bool },
    Append { lease: u8, batch: SomeBatch },
    Release { lease: u8 },
    Answer { run: u8, question: u8, fits: bool },
    Post { run: u8, mail: SomeMail },
    Delete { run: u8 },
    Purge { keep: usize },
}

#[derive(Debug, Clone, Copy)]
enum SomeMail {
    On { channel: u8, key: Option<u8> },
    Reply { question: u8 },
    Cancel,
}

#[derive(Debug, Clone)]
struct SomeBatch {
    entries: u8,
    /// How far the first entry's number is off.
    off: u8,
    blob: Option<u8>,
    opened: Option<(u8, u8)>,
    closed: Option<u8>,
    status: Option<u8>,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let batch = (
        0..3_u8,
        prop_oneof![9 => Just(0_u8), 1 => 1..3_u8],
        optional(0..4),
        questions(),
        optional(0..3),
        prop::option::weighted(0.3, prop_oneof![2 => 0..9_u8, 1 => Just(1)]),
    )
        .prop_map(|(entries, off, blob, opened, closed, status)| SomeBatch {
            entries,
            off,
            blob,
            opened,
            closed,
            status,
        });
    let operation = prop_oneof![
        2 => (0..4_u8, 0..3_u8, prop::bool::weighted(0.1)).prop_map(|(run, past, gap)| Operation::Create { run, past, gap }),
        2 => (0..4_u8, any::<bool>()).prop_map(|(run, take_over)| Operation::Claim { run, take_over }),
        8 => (any::<u8>(), batch).prop_map(|(lease, batch)| Operation::Append { lease, batch }),
        2 => any::<u8>().prop_map(|lease| Operation::Release { lease }),
        3 => (0..4_u8, 0..3_u8, prop::bool::weighted(0.8)).prop_map(|(run, question, fits)| Operation::Answer { run, question, fits }),
        3 => (0..4_u8, mail()).prop_map(|(run, mail)| Operation::Post { run, mail }),
        1 => (0..4_u8).prop_map(|run| Operation::Delete { run }),
        1 => (0..3_usize).prop_map(|keep| Operation::Purge { keep }),
    ];
    prop::collection::vec(operation, 1..40)
}

fn mail() -> impl Strategy<Value = SomeMail> {
    prop_oneof![
        6 => (0..2_u8, optional(0..2)).prop_map(|(channel, key)| SomeMail::On { channel, key }),
        2 => (0..3_u8).prop_map(|question| SomeMail::Reply { question }),
        1 => Just(SomeMail::Cancel),
    ]
}

fn optional(range: std::ops::Range<u8>) -> impl Strategy<Value = Option<u8>> {
    prop::option::weighted(0.3, range)
}

fn questions() -> impl Strategy<Value = Option<(u8, u8)>> {
    prop::option::weighted(0.4, (0..3_u8, 0..5_u8))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_give_the_same_answers(operations in operations()) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let sqlite: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.path().join("runs.db")).unwrap());
        runtime.block_on(async {
            let mut leases = Vec::new();
            for operation in &operations {
                let expected = perform(&*memory, operation, &leases).await;
                let found = perform(&*sqlite, operation, &leases).await;
                assert_eq!(found.0, expected.0, "after {operation:?}");
                assert_eq!(found.1, expected.1);
                leases.extend(expected.1);
            }
            assert_eq!(everything(&*sqlite).await, everything(&*memory).await);
        });
    }
}

/// What an operation answers, and the lease it gave.
async fn perform(store: &dyn Store, operation: &Operation, leases: &[Lease]) -> (String, Option<Lease>) {
    let given = |result: Result<Lease, _>| (format!("{result:?}"), result.ok());
    let lease = |index: u8| (!leases.is_empty()).then(|| &leases[usize::from(index) % leases.len()]);
    match operation {
        Operation::Create { run, past, gap } => {
            let run = new_run(*run, *past, *gap);
            given(store.create(run).await)
        }
        Operation::Claim { run, take_over } => {
            let busy = if *take_over { OnBusy::TakeOver } else { OnBusy::Refuse };
            given(store.claim(&run_id(*run), busy).await)
        }
        Operation::Append { lease: index, batch } => {
            let Some(lease) = lease(*index) else { return (String::new(), None) };
            // What fits the lease depends on what was appended under it; both stores must agree on that too.
            let there = store.entries(&lease.run, 1, usize::MAX).await.unwrap().len() as u64;
            (format!("{:?}", store.append(lease, some_batch(&lease.run, there + 1, batch)).await), None)
        }
        Operation::Release { lease: index } => {
            if let Some(lease) = lease(*index) {
                store.release(lease);
                // Nobody can await a release, but what is written after it comes after it.
                store.delete(&id("nothing")).await.unwrap();
            }
            (String::new(), None)
        }
        Operation::Answer { run, question, fits } => {
            let decision = if *fits { Answer::approve() } else { Answer::text("no idea") };
            let answer = Answer { at: Timestamp::from_micros(5), ..decision };
            let run = run_id(*run);
            let question = pending(&run, *question, 0).id;
            (format!("{:?}", store.answer(&run, &question, answer).await), None)
        }
        Operation::Post { run, mail } => {
            let run = run_id(*run);
            let mut new = match mail {
                SomeMail::On { channel, .. } => NewMail::json(channel_name(*channel), channel),
                SomeMail::Reply { question } => {
                    let answer = Answer { at: Timestamp::from_micros(7), ..Answer::approve() };
                    NewMail::reply(&pending(&run, *question, 0).id, &answer)
                }
                SomeMail::Cancel => NewMail::cancel("enough"),
            }
            .unwrap();
            new.at = Timestamp::from_micros(7);
            if let SomeMail::On { key, .. } = mail {
                new.key = key.map(|key| key.to_string());
            }
            (format!("{:?}", store.post(&run, new).await), None)
        }
        Operation::Delete { run } => (format!("{:?}", store.delete(&run_id(*run)).await), None),
        Operation::Purge { keep } => {
            let retention = Retention { keep_per_workflow: Some(*keep), ..Retention::default() };
            (format!("{:?}", store.purge(&retention).await), None)
        }
    }
}

/// All that can be read, without what depends on the clock.
async fn everything(store: &dyn Store) -> Vec<String> {
    let mut found = Vec::new();
    for mut record in store.runs(&RunQuery::default()).await.unwrap() {
        (record.created, record.updated) = (Timestamp::default(), Timestamp::default());
        // One that is due now is so from some moment on.
        record.wake = record.wake.map(|wake| wake.min(Timestamp::from_micros(1_000)));
        let run = record.id.clone();
        let mut digests = store.blob_digests(&run).await.unwrap();
        digests.sort();
        let blobs = store.blobs(&run, &digests).await.unwrap();
        let blobs: Vec<_> = digests.iter().map(|digest| &blobs[digest]).collect();
        found.push(format!("{record:?} {:?} {blobs:?}", store.entries(&run, 1, usize::MAX).await));
        for question in 0..3 {
            found.push(format!("{:?}", store.answers(&run, &pending(&run, question, 0).id).await));
        }
        for channel in 0..2 {
            found.push(format!("{:?}", store.mail(&run, &channel_name(channel), 0, 99).await));
        }
    }
    found.push(format!("{:?}", store.questions(None).await));
    let mut due: Vec<_> =
        store.due(Timestamp::now(), 99).await.unwrap().into_iter().map(|due| due.run).collect();
    due.sort();
    found.push(format!("{due:?}"));
    for status in RunStatus::ALL {
        let query = RunQuery { status: Some(status), limit: Some(2), ..RunQuery::default() };
        let runs = store.runs(&query).await.unwrap();
        found.push(format!("{status} {:?}", runs.iter().map(|run| &run.id).collect::<Vec<_>>()));
    }
    found
}

fn channel_name(number: u8) -> String {
    format!("channel {number}")
}

fn run_id(number: u8) -> RunId {
    id(&format!("run-{number}"))
}

fn new_run(number: u8, past: u8, gap: bool) -> NewRun {
    let mut run = common::new_run(&format!("run-{number}"));
    run.workflow = format!("workflow-{}", number % 2);
    run.past.entries = (1..=u64::from(past)).map(|seq| entry(seq + u64::from(gap))).collect();
    run
}

fn some_batch(run: &RunId, next_seq: u64, batch: &SomeBatch) -> Batch {
    let first = next_seq + u64::from(batch.off);
    Batch {
        launch: None,
        version: None,
        entries: (first..first + u64::from(batch.entries)).map(entry).collect(),
        blobs: batch.blob.iter().map(|content| blob(*content)).collect(),
        opened: batch.opened.iter().map(|(question, asked)| pending(run, *question, *asked)).collect(),
        closed: batch.closed.iter().map(|question| pending(run, *question, 0).id).collect(),
        change: batch.status.map(|status| RunChange {
            waits: WaitConditions {
                until: (status % 3 == 0).then(|| Timestamp::from_micros(9)),
                channels: vec![AwaitedChannel {
                    name: channel_name(status % 2),
                    after: u64::from(batch.off),
                }],
            },
            worked: std::time::Duration::ZERO,
            status: RunStatus::ALL[usize::from(status)],
            outcome: (status % 2 == 0).then(|| Bytes::from(vec![status])),
            totals: Totals { tool_calls: u64::from(status), ..Totals::default() },
        }),
        next: batch.closed.filter(|closed| *closed > 0).map(|closed| next(closed, first, batch)),
        outline: batch.blob.filter(|content| content % 2 == 0).map(|content| Bytes::from(vec![content; 5])),
    }
}

/// It begins after the batch, unless something is off.
fn next(closed: u8, first: u64, batch: &SomeBatch) -> NextGeneration {
    let begins_at = first + u64::from(batch.entries) + u64::from(batch.off);
    let carried = (closed == 1).then(|| Bytes::from(vec![closed]));
    let (input, number) = (Bytes::from(vec![closed; 4]), u32::from(closed));
    let generation = Generation { number, begins_at, carried };
    NextGeneration { generation, version: 9, seed: u64::MAX, input }
}

fn blob(content: u8) -> Blob {
    Blob { digest: Digest::of_parts(&[&[content]]), content: Bytes::from(vec![content; 3]) }
}

fn pending(run: &RunId, number: u8, asked: u8) -> PendingQuestion {
    let path = Path::from(format!("main/ask-{number}").as_str());
    PendingQuestion {
        run: run.clone(),
        id: IdempotencyKey::derive(run, &path, 0),
        path,
        asked: Timestamp::from_micros(asked.into()),
        question: Question::confirm("?"),
    }
}
