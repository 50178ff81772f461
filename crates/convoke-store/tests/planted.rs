//! Planted files: stores, journals and links that come with a folder, or that a command of a model has made.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use common::{id, new_run};
use convoke_core::Store;
use convoke_core::store::RunQuery;
use convoke_store::SqliteStore;
use rusqlite::Connection;

/// A closed store with one run.
async fn store_with_a_run(path: &Path, run: &str) {
    let store = SqliteStore::open(path).unwrap();
    let lease = store.create(new_run(run)).await.unwrap();
    store.release(&lease);
}

/// What is said when this store is opened, for writing and for reading.
fn refusals(path: &Path) -> [String; 2] {
    [SqliteStore::open(path), SqliteStore::open_read_only(path)].map(|opened| opened.unwrap_err().to_string())
}

/// The rollback journal that turns any database into this one, as SQLite would have left it.
fn journal(forged: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("forged.db");
    fs::copy(forged, &copy).unwrap();
    let connection = Connection::open(&copy).unwrap();
    connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
    // A transaction keeps every page that it changes, as it was, in its journal.
    connection.execute_batch("BEGIN EXCLUSIVE; DELETE FROM runs; UPDATE mail SET taken = 1").unwrap();
    connection.cache_flush().unwrap();
    fs::read(folder.path().join("forged.db-journal")).unwrap()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[tokio::test]
async fn a_planted_journal_is_not_rolled_into_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours.db", "theirs.db"].map(|name| folder.path().join(name));
    store_with_a_run(&ours, "mine").await;
    store_with_a_run(&theirs, "forged").await;
    let planted = beside(&ours, "-journal");
    fs::write(&planted, journal(&theirs)).unwrap();
    let before = fs::read(&ours).unwrap();
    for told in refusals(&ours) {
        assert!(told.contains("ours.db-journal") && told.contains("delete that file"), "{told}");
    }
    assert_eq!(fs::read(&ours).unwrap(), before, "not a byte is changed");
    fs::remove_file(planted).unwrap();
    let store = SqliteStore::open(&ours).unwrap();
    let runs: Vec<_> =
        store.runs(&RunQuery::default()).await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(runs, [id("mine")]);
}

#[tokio::test]
async fn a_store_with_triggers_views_or_anything_else_that_is_not_ours_is_refused() {
    let cases = [
        (
            "CREATE TRIGGER reader AFTER INSERT ON questions BEGIN DELETE FROM questions; END",
            "trigger \"reader\"",
        ),
        ("CREATE VIEW seen AS SELECT * FROM runs", "view \"seen\""),
        ("CREATE TABLE more (x)", "table \"more\""),
        ("CREATE INDEX odd ON runs (abs(created))", "index \"odd\""),
        ("ALTER TABLE mail ADD COLUMN more TEXT DEFAULT (lower('X'))", "table \"mail\" is not as"),
        ("DROP INDEX mail_by_id", "lacks the index \"mail_by_id\""),
    ];
    for (change, told) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        store_with_a_run(&path, "one").await;
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        for refused in refusals(&path) {
            assert!(refused.contains(told), "{change}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_trigger_that_is_made_while_a_store_is_open_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = SqliteStore::open(&path).unwrap();
    let trigger = "CREATE TRIGGER reader AFTER INSERT ON runs BEGIN DELETE FROM runs; END";
    Connection::open(&path).unwrap().execute_batch(trigger).unwrap();
    let lease = store.create(new_run("one")).await.unwrap();
    store.release(&lease);
    assert!(store.run(&id("one")).await.unwrap().is_some());
}

#[test]
fn a_link_is_not_followed_wherever_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let [real, absent] = ["real.db", "absent"].map(|name| folder.path().join(name));
    drop(SqliteStore::open(&real).unwrap());
    for target in [&real, &absent] {
        let link = folder.path().join("link.db");
        symlink(target, &link).unwrap();
        let told = SqliteStore::open(&link).unwrap_err().to_string();
        assert!(told.contains("is a link"), "{told}");
        assert!(SqliteStore::open_read_only(&link).is_err());
        fs::remove_file(link).unwrap();
    }
    assert!(!absent.exists(), "nothing is made where a link leads");
}

#[test]
fn links_beside_a_store_are_not_written_through() {
    for suffix in ["-wal", "-shm", "-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        drop(SqliteStore::open(&path).unwrap());
        let outside = folder.path().join("outside");
        symlink(&outside, beside(&path, suffix)).unwrap();
        let _ = SqliteStore::open(&path);
        assert!(!outside.exists(), "{suffix}");
    }
}

#[test]
fn a_folder_that_is_a_link_is_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    let store = SqliteStore::open(folder.path().join("link/runs.db")).unwrap();
    assert_eq!(store.path(), folder.path().canonicalize().unwrap().join("real/runs.db"));
}

#[test]
fn a_store_that_anybody_may_write_is_refused_until_that_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let told = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(told.contains("chmod o-w"), "{told}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(SqliteStore::open(&path).is_ok());
}

#[test]
fn a_store_of_another_user_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    // Only root can give a file away.
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
        return;
    }
    let told = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(told.contains("another user (number 12345)"), "{told}");
    assert!(SqliteStore::open_read_only(&path).is_ok(), "to look at it does no harm");
}

#[test]
fn a_store_is_made_whole_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files, [path]);
}
