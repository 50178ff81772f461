//! Who may read a store.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::PermissionsExt;

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
fn a_store_that_others_may_read_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.db");
    drop(SqliteStore::open(&path).unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}
