//! Sample runs, entries and mail for the contract tests.

use std::sync::Arc;

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, Launch, Lease, NewRun, RunChange, Totals, WaitConditions};
use convoke_core::{
    Blob, Digest, EffectKind, Entry, IdempotencyKey, Labels, Path, Phase, Question, RunId, RunStatus, Store,
    StoreError, Timestamp,
};

use super::Backend;

/// A store with nothing in it.
pub(super) async fn fresh<B: Backend>(backend: &B) -> (B::Location, Arc<dyn Store>) {
    let location = backend.location().await;
    let store = backend.open(&location).await;
    (location, store)
}

pub(super) fn id(text: &str) -> RunId {
    text.parse().expect("the suite uses valid ids")
}

pub(super) fn new_run(text: &str) -> NewRun {
    NewRun {
        id: id(text),
        workflow: "sample".to_owned(),
        version: 3,
        input: Bytes::from_static(b"{\"n\":1}"),
        outline: Some(Bytes::from_static(b"{\"name\":\"main\"}")),
        launch: Launch::default(),
        seed: u64::MAX - 7,
        forked_from: None,
        past: Batch::default(),
    }
}

/// Makes a run.
pub(super) async fn make(store: &dyn Store, text: &str) -> Lease {
    store.create(new_run(text)).await.expect("a run with a fresh id can be made")
}

pub(super) fn entry(seq: u64) -> Entry {
    Entry {
        seq,
        path: Path::from(if seq.is_multiple_of(3) { "main" } else { "main/fetch#2" }),
        ordinal: 1,
        effect: EffectKind::Tool,
        phase: if seq.is_multiple_of(2) { Phase::Started } else { Phase::Finished },
        digest: Digest::of_parts(&[&seq.to_le_bytes()]),
        at: Timestamp::from_micros(1_700_000_000_000_000),
        request: seq.is_multiple_of(2).then(|| Bytes::from_static(b"{\"q\":1}")),
        outcome: (!seq.is_multiple_of(2)).then(|| Bytes::from_static(b"{\"ok\":1}")),
        labels: if seq.is_multiple_of(2) {
            Labels::new()
        } else {
            "origin=web untrusted".parse().expect("labels")
        },
    }
}

pub(super) fn batch(seqs: impl IntoIterator<Item = u64>) -> Batch {
    Batch { entries: seqs.into_iter().map(entry).collect(), ..Batch::default() }
}

pub(super) fn blob(content: &[u8]) -> Blob {
    Blob { digest: Digest::of_parts(&[content]), content: Bytes::copy_from_slice(content) }
}

pub(super) fn question(run: &str, name: &str, asked: i64, question: Question) -> PendingQuestion {
    let (run, path) = (id(run), Path::from(name));
    let id = IdempotencyKey::derive(&run, &path, 0);
    PendingQuestion { run, id, path, asked: Timestamp::from_micros(asked), question }
}

pub(super) fn change(status: RunStatus) -> Batch {
    let outcome = status.is_final().then(|| Bytes::from_static(b"{\"done\":true}"));
    Batch {
        change: Some(RunChange {
            worked: std::time::Duration::ZERO,
            status,
            outcome,
            totals: Totals::default(),
            waits: WaitConditions::default(),
        }),
        ..Batch::default()
    }
}

/// Ends a run and gives its lease back.
pub(super) async fn finish(store: &dyn Store, lease: &Lease, status: RunStatus) {
    store.append(lease, change(status)).await.expect("a run's holder can end it");
    store.release(lease);
}

/// The numbers of the entries a run has.
pub(super) async fn seqs(store: &dyn Store, run: &RunId) -> Vec<u64> {
    let entries = store.entries(run, 1, usize::MAX).await.expect("entries can be read");
    entries.iter().map(|entry| entry.seq).collect()
}

/// Fails unless the result is an error of the kind that `expected` accepts.
pub(super) fn refused<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    promise: &str,
    expected: impl FnOnce(&StoreError) -> bool,
) {
    match result {
        Ok(value) => panic!("{promise}; it was accepted with {value:?}"),
        Err(error) => assert!(expected(&error), "{promise}; it was refused with another error: {error:?}"),
    }
}
