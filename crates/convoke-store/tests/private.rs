//! File permissions of a store.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::os::unix::fs::PermissionsExt;

use convoke_core::store::{Batch, NewRun, Retention, RunChange, Totals, WaitConditions};
use convoke_core::{RunStatus, Store};
use convoke_store::SqliteStore;

#[test]
fn only_the_user_may_read_a_store_and_what_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.db");
    let _store = SqliteStore::open(&path).unwrap();
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.contains(&path));
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", file.display());
    }
}

#[test]
fn folders_that_are_made_for_a_store_are_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one/two/convoke.db");
    drop(SqliteStore::open(&path).unwrap());
    for made in ["one", "one/two"] {
        let mode = folder.path().join(made).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
}

#[tokio::test]
async fn what_is_deleted_is_not_in_the_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.db");
    let store = SqliteStore::open(&path).unwrap();
    for (name, status) in
        [("kept", RunStatus::Running), ("deleted", RunStatus::Running), ("purged", RunStatus::Completed)]
    {
        let outline = Some(format!("{{\"name\":\"a step of the run that is {name}\"}}").into());
        let lease = store.create(NewRun { outline, ..common::new_run(name) }).await.unwrap();
        let mut entry = common::entry(1);
        entry.outcome = Some(format!("{{\"ok\":\"said in the run that is {name}\"}}").into());
        let change = RunChange {
            status,
            outcome: None,
            totals: Totals::default(),
            worked: Default::default(),
            waits: WaitConditions::default(),
        };
        let batch = Batch { entries: vec![entry], change: Some(change), ..Batch::default() };
        store.append(&lease, batch).await.unwrap();
        store.release(&lease);
    }
    let closed = |store: SqliteStore| {
        drop(store);
        String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
    };
    assert!(store.delete(&common::id("deleted")).await.unwrap());
    let after_delete = closed(store);
    let store = SqliteStore::open(&path).unwrap();
    let finished = Retention { keep_per_workflow: Some(0), ..Retention::default() };
    assert_eq!(store.purge(&finished).await, Ok(1));
    let after_purge = closed(store);
    for what in ["said in", "a step of"] {
        let says = |content: &str, name: &str| content.contains(&format!("{what} the run that is {name}"));
        assert_eq!(["kept", "deleted", "purged"].map(|name| says(&after_delete, name)), [true, false, true]);
        assert_eq!(["kept", "deleted", "purged"].map(|name| says(&after_purge, name)), [true, false, false]);
    }
}

#[test]
fn a_store_that_others_may_read_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.db");
    drop(SqliteStore::open(&path).unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}
