//! File permissions of a store.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::os::unix::fs::PermissionsExt;

use convoke_core::Store;
use convoke_core::store::Batch;
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
    for name in ["kept", "gone"] {
        let lease = store.create(common::new_run(name)).await.unwrap();
        let mut entry = common::entry(1);
        entry.outcome = Some(format!("{{\"ok\":\"said in the run that is {name}\"}}").into());
        let batch = Batch { entries: vec![entry], ..Batch::default() };
        store.append(&lease, batch).await.unwrap();
        store.release(&lease);
    }
    assert!(store.delete(&common::id("gone")).await.unwrap());
    drop(store);
    let left = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    assert!(left.contains("the run that is kept") && !left.contains("the run that is gone"));
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
