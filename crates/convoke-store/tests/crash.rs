//! A process that is killed in the middle of its work loses nothing it was told is durable, and leaves no damage.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{ROLE, entry, id, lines, new_run, say, second_process};
use convoke_core::store::{Batch, OnBusy, RunChange, Totals};
use convoke_core::{Blob, Digest, RunStatus, Store};
use convoke_store::SqliteStore;

const ROUNDS: u64 = 20;
const RUNS: usize = 3;

/// The process that will be killed: appends to several runs at once, and says what it was told is durable.
#[test]
fn the_second_process_appends_until_it_is_killed() {
    let Ok(file) = std::env::var(ROLE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = SqliteStore::open(file).unwrap();
    let runs: Vec<_> = (0..RUNS)
        .map(|number| {
            let store = store.clone();
            runtime.spawn(async move {
                let mut lease = store.claim(&id(&format!("run-{number}")), OnBusy::Refuse).await.unwrap();
                while lease.next_seq < 1_000_000 {
                    store.append(&lease, whole_batch(lease.next_seq)).await.unwrap();
                    say(format!("{number} {}", lease.next_seq));
                    lease.next_seq += 2;
                }
            })
        })
        .collect();
    for run in runs {
        runtime.block_on(run).unwrap();
    }
}

/// Two entries, content and a change that belong together.
fn whole_batch(seq: u64) -> Batch {
    let content = Bytes::from(vec![u8::try_from(seq % 251).unwrap(); 3_000]);
    let change = RunChange {
        waits: Default::default(),
        worked: Duration::ZERO,
        status: RunStatus::Running,
        outcome: Some(Bytes::from(seq.to_string())),
        totals: Totals::default(),
    };
    Batch {
        entries: vec![entry(seq), entry(seq + 1)],
        blobs: vec![Blob { digest: Digest::of_parts(&[&seq.to_le_bytes()]), content }],
        change: Some(change),
        ..Batch::default()
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(&file).unwrap();
    for number in 0..RUNS {
        let lease = runtime.block_on(store.create(new_run(&format!("run-{number}")))).unwrap();
        store.release(&lease);
    }
    drop(store);

    let mut acknowledged = [0_u64; RUNS];
    for round in 0..ROUNDS {
        let mut child = second_process("the_second_process_appends_until_it_is_killed", &file);
        let said = lines(&mut child);
        // Some moment before or within the first commits; a different one every time. It is counted from what the process
        // got done: how long it takes to begin is up to the machine. In the end every run got something done.
        let chance = u64::from(Digest::of_parts(&[&round.to_le_bytes()]).as_bytes()[0]);
        let is_last = round + 1 == ROUNDS;
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let killer = std::thread::spawn(move || {
            told.recv().unwrap();
            std::thread::sleep(Duration::from_micros(chance * 150));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let mut commits = 0;
        for line in std::iter::once(None).chain(said.map(Some)) {
            if let Some((run, seq)) = line.as_ref().and_then(|line| line.split_once(' ')) {
                acknowledged[run.parse::<usize>().unwrap()] = seq.parse().unwrap();
                commits += 1;
            }
            if commits >= chance % 8 && (!is_last || acknowledged.iter().all(|seq| *seq > 0)) {
                // Whoever was told once listens no longer.
                let _ = tell.send(());
            }
        }
        drop(tell);
        killer.join().unwrap();
        let store = SqliteStore::open(&file).unwrap();
        for (number, acknowledged) in acknowledged.iter().enumerate() {
            runtime.block_on(check(&store, number, *acknowledged));
        }
    }
    assert!(
        acknowledged.iter().all(|seq| *seq > 0),
        "the killed processes got something done: {acknowledged:?}"
    );
    let verdict: String = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

async fn check(store: &SqliteStore, number: usize, acknowledged: u64) {
    let run = id(&format!("run-{number}"));
    let entries = store.entries(&run, 1, usize::MAX).await.unwrap();
    let expected: Vec<_> = (1..=entries.len() as u64).map(entry).collect();
    assert_eq!(entries, expected, "there are no gaps and nothing is half written");
    assert!(
        acknowledged == 0 || entries.len() as u64 > acknowledged,
        "entry {acknowledged} was acknowledged"
    );
    assert!(entries.len().is_multiple_of(2), "a batch of two is written whole");
    assert_eq!(store.blob_digests(&run).await.unwrap().len() * 2, entries.len(), "with its content");
    let record = store.run(&run).await.unwrap().unwrap();
    let changed =
        record.outcome.map_or(0, |seq| std::str::from_utf8(&seq).unwrap().parse::<usize>().unwrap() + 1);
    assert_eq!(changed, entries.len(), "and with its change");
}
