//! Files that are not ours, newer than we are, or damaged are refused and left as they are, to the byte.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{batch, new_run};
use convoke_core::store::{OnBusy, Retention};
use convoke_core::{Store, StoreError};
use convoke_store::SqliteStore;
use rusqlite::Connection;

/// Opens a file that must be refused. Checks that neither it nor its folder changed.
fn refused(file: &Path) -> StoreError {
    let look = || {
        let mut names: Vec<PathBuf> =
            fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names.into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let before = look();
    let error = SqliteStore::open(file).unwrap_err();
    assert!(look() == before, "a refused file was touched ({error})");
    error
}

/// A store with some content, closed, so that all of it is in one file.
fn store_with_content(folder: &tempfile::TempDir) -> PathBuf {
    let file = folder.path().join("runs.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(&file).unwrap();
    runtime.block_on(async {
        for number in 0..20 {
            let lease = store.create(new_run(&format!("run-{number}"))).await.unwrap();
            store.append(&lease, batch(1..=100)).await.unwrap();
        }
    });
    drop(store);
    file
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    for content in [&b"Dear diary"[..], &b"x".repeat(10_000), b"SQLite format 3\0", &[0; 4096]] {
        fs::write(&file, content).unwrap();
        assert!(matches!(refused(&file), StoreError::Corrupt { .. }));
    }
}

/// What is left if somebody was killed who was about to make a store.
#[test]
fn a_database_in_which_nothing_was_ever_made_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    Connection::open(&file).unwrap().execute_batch("PRAGMA journal_mode = WAL").unwrap();
    assert!(file.metadata().unwrap().len() > 0);
    assert_eq!(SqliteStore::is_uninitialized(&file), Ok(true));
    drop(SqliteStore::open(&file).unwrap());
    assert_eq!(SqliteStore::is_uninitialized(&file), Ok(false));
    let store = SqliteStore::open_read_only(&file).unwrap();
    assert!(format!("{store:?}").contains("runs.db"), "{store:?}");
}

#[test]
fn the_database_of_another_application_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bookmarks.db");
    let connection = Connection::open(&file).unwrap();
    connection
        .execute_batch("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x');")
        .unwrap();
    drop(connection);
    let error = refused(&file);
    assert!(error.to_string().contains("another application"), "{error}");

    let connection = Connection::open(&file).unwrap();
    connection
        .execute_batch("PRAGMA application_id = 77; PRAGMA user_version = 1; PRAGMA journal_mode = WAL")
        .unwrap();
    drop(connection);
    assert!(matches!(refused(&file), StoreError::Corrupt { .. }));
}

#[test]
fn a_newer_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = store_with_content(&folder);
    Connection::open(&file).unwrap().execute_batch("PRAGMA user_version = 9; PRAGMA wal_checkpoint").unwrap();
    let error = refused(&file);
    let store = file.display().to_string();
    assert_eq!(error, StoreError::Newer { store, found: 9, supported: 7 });
}

#[test]
fn a_store_that_is_newer_only_in_its_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = store_with_content(&folder);
    let newer = Connection::open(&file).unwrap();
    newer.execute_batch("PRAGMA user_version = 9").unwrap();
    // As after a crash: the log is there, and nobody has it open.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["runs.db", "runs.db-wal"] {
        fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let before = fs::read(crashed.path().join("runs.db")).unwrap();
    let log = fs::read(crashed.path().join("runs.db-wal")).unwrap();
    let error = SqliteStore::open(crashed.path().join("runs.db")).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 9, .. }));
    assert!(fs::read(crashed.path().join("runs.db")).unwrap() == before, "the file is as it was");
    assert!(fs::read(crashed.path().join("runs.db-wal")).unwrap() == log, "and so is the log");
}

#[test]
fn a_damaged_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = store_with_content(&folder);
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    for page in 3..8 {
        damaged[page * 4096..page * 4096 + 512].fill(0x5a);
    }
    fs::write(&file, &damaged).unwrap();
    assert!(matches!(refused(&file), StoreError::Corrupt { .. }));
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = refused(&file);
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    fs::write(&file, whole).unwrap();
    assert!(SqliteStore::open(&file).is_ok(), "the whole file is fine");
}

#[test]
fn paths_that_cannot_be_files_are_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("is a folder"), "{error}");
    assert!(SqliteStore::open("").is_err());
    fs::write(folder.path().join("file"), b"").unwrap();
    let error = SqliteStore::open(folder.path().join("file/runs.db")).unwrap_err();
    assert!(error.to_string().contains("folder cannot be made"), "{error}");
    if cfg!(target_os = "linux") {
        let error = SqliteStore::open("/proc/runs.db").unwrap_err();
        assert!(matches!(&error, StoreError::Failed(advice) if advice.contains("check that")), "{error}");
    }
}

#[test]
fn an_empty_file_becomes_a_store_and_a_strange_name_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["empty.db", ":memory:", "file:runs.db?mode=memory", "späß 世界.db"] {
        let file = folder.path().join(name);
        fs::write(&file, b"").unwrap();
        let store = SqliteStore::open(&file).unwrap();
        assert_eq!(store.path(), file);
        drop(store);
        assert!(fs::metadata(&file).unwrap().len() > 0, "`{name}` is on disk");
    }
}

#[test]
fn an_interrupted_creation_of_an_earlier_version_is_refused_and_says_what_to_delete() {
    // What a kill in the middle of the first commit leaves: the journal, and the first of several pages.
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("runs.db"), folder.path().join("copy.db"));
    let connection = Connection::open(&file).unwrap();
    let begin = "BEGIN EXCLUSIVE; PRAGMA application_id = 0x436e766b; PRAGMA user_version = 1; CREATE TABLE runs (x);";
    connection.execute_batch(begin).unwrap();
    connection.cache_flush().unwrap();
    fs::copy(folder.path().join("runs.db-journal"), folder.path().join("copy.db-journal")).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    fs::write(&copy, &fs::read(&file).unwrap()[..4096]).unwrap();
    let told = refused(&copy).to_string();
    assert!(told.contains("copy.db-journal") && told.contains("delete"), "{told}");
    fs::remove_file(folder.path().join("copy.db-journal")).unwrap();
    fs::remove_file(&copy).unwrap();
    assert!(SqliteStore::open(&copy).is_ok());
}

#[test]
fn many_can_make_the_same_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    std::thread::scope(|scope| {
        let openings: Vec<_> = (0..8).map(|_| scope.spawn(|| SqliteStore::open(&file))).collect();
        for opening in openings {
            assert!(opening.join().unwrap().is_ok());
        }
    });
}

#[tokio::test]
async fn space_of_deleted_runs_goes_back_to_the_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    for number in 0..10 {
        let mut run = new_run(&format!("run-{number}"));
        run.input = vec![7; 1 << 20].into();
        run.past = batch(1..=50);
        run.past.change = Some(convoke_core::store::RunChange {
            waits: Default::default(),
            worked: std::time::Duration::ZERO,
            status: convoke_core::RunStatus::Completed,
            outcome: None,
            totals: Default::default(),
        });
        store.release(&store.create(run).await.unwrap());
    }
    let retention = Retention { keep_per_workflow: Some(1), ..Retention::default() };
    assert_eq!(store.purge(&retention).await, Ok(9));
    drop(store);
    let size = fs::metadata(&file).unwrap().len();
    assert!(size < 3 << 20, "one of ten megabytes is left, but the file has {size} bytes");
    let store = SqliteStore::open(&file).unwrap();
    assert!(store.claim(&common::id("run-9"), OnBusy::Refuse).await.is_ok(), "the newest is still there");
}
