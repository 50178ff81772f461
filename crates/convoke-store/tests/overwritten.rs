//! A store's file that another program writes over while runs are at work in it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;

use common::{batch, new_run};
use convoke_core::Store;
use convoke_core::store::{Lease, OnBusy};
use convoke_store::SqliteStore;

/// So many that the log is moved into the file.
const MANY: u64 = 90_000;

/// A store with a run of so many entries, opened.
async fn store_with(file: &Path, run: &str, entries: u64) -> (SqliteStore, Lease) {
    let store = SqliteStore::open(file).unwrap();
    let lease = store.create(new_run(run)).await.unwrap();
    store.append(&lease, batch(1..=entries)).await.unwrap();
    (store, lease)
}

#[tokio::test]
async fn it_is_noticed_at_the_next_commit() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    drop(store_with(&other, "other", 9_000).await);
    let (nothing, text, other) = (Vec::new(), b"no store".repeat(1_000), fs::read(&other).unwrap());
    // Of few entries all are in the log beside the file, of many most are in the file. What is in the log is not lost with the
    // file: then another store in its place does no harm to this run.
    for (entries, content) in [(3, &nothing), (3, &text), (MANY, &nothing), (MANY, &text), (MANY, &other)] {
        let file = folder.path().join("runs.db");
        let (store, lease) = store_with(&file, "one", entries).await;
        fs::write(&file, content).unwrap();
        let what = format!("{entries} entries, {} bytes", content.len());
        let Err(error) = store.append(&lease, batch([entries + 1])).await else { panic!("{what}") };
        assert!(error.to_string().contains("written over"), "{what}: {error}");
        assert_eq!(store.append(&lease, batch([entries + 2])).await, Err(error), "{what}");
        drop(store);
        for beside in ["runs.db", "runs.db-wal", "runs.db-shm"] {
            let _ = fs::remove_file(folder.path().join(beside));
        }
    }
}

/// Larger files than those that are checked through and through.
#[tokio::test]
async fn damage_in_the_entries_of_a_large_store_is_noticed_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let (store, lease) = store_with(&file, "one", MANY).await;
    let mut content = fs::read(&file).unwrap();
    assert!(content.len() > 4 << 20, "{} bytes", content.len());
    let half = content.len() / 2;
    content[half..].fill(b'x');
    fs::write(&file, content).unwrap();
    let error = store.append(&lease, batch([MANY + 1])).await.unwrap_err();
    assert!(error.to_string().contains("written over"), "{error}");
}

#[tokio::test]
async fn what_other_processes_of_ours_write_into_the_file_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let (one, lease) = store_with(&file, "one", 3).await;
    // What was given back is for others to write.
    let given_back = one.create(new_run("two")).await.unwrap();
    one.release(&given_back);
    let before = file.metadata().unwrap().len();
    let two = SqliteStore::open(&file).unwrap();
    let others = two.claim(&given_back.run, OnBusy::TakeOver).await.unwrap();
    two.append(&others, batch(1..=MANY)).await.unwrap();
    assert!(file.metadata().unwrap().len() > before, "the log was moved into the file");
    assert_eq!(one.append(&lease, batch([4])).await, Ok(()));
}
