//! Stores that are opened for reading.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use common::{entry, new_run};
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, OnBusy, Retention, RunChange, RunQuery, WaitConditions};
use convoke_core::{
    Answer, Blob, Digest, IdempotencyKey, Launch, Question, RunStatus, Store, StoreError, Timestamp,
};
use convoke_store::SqliteStore;
use rusqlite::Connection;
use serde_json::json;

/// A closed store with one run of three entries.
async fn closed_store(folder: &Path) -> PathBuf {
    let file = folder.join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("one")).await.unwrap();
    let entries = (1..=3).map(entry).collect();
    store.append(&lease, Batch { entries, ..Batch::default() }).await.unwrap();
    store.release(&lease);
    file
}

/// Every file of a folder, and what is in it.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

#[tokio::test]
async fn reading_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let before = everything(folder.path());
    assert_eq!(before.len(), 1, "a closed store is one file");
    let store = SqliteStore::open_read_only(&file).unwrap();
    assert_eq!(store.runs(&RunQuery::default()).await.unwrap().len(), 1);
    assert_eq!(store.entries(&"one".parse().unwrap(), 1, 9).await.unwrap().len(), 3);
    assert_eq!(store.questions(None).await, Ok(Vec::new()));
    assert_eq!(everything(folder.path()), before, "also while it is open");
    drop(store);
    assert_eq!(everything(folder.path()), before);
}

/// Readers end before the writer does: only the connection that is closed last can take the log away.
#[tokio::test]
async fn a_store_that_was_read_and_is_closed_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    for _ in 0..50 {
        let store = SqliteStore::open(&file).unwrap();
        assert_eq!(store.runs(&RunQuery::default()).await.unwrap().len(), 1);
        drop(store);
        assert_eq!(everything(folder.path()).len(), 1);
    }
}

#[tokio::test]
async fn what_would_write_is_refused_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let before = everything(folder.path());
    let store = SqliteStore::open_read_only(&file).unwrap();
    let run = "one".parse().unwrap();
    let refusals = [
        store.create(new_run("two")).await.map(drop),
        store.claim(&run, OnBusy::TakeOver).await.map(drop),
        store.delete(&run).await.map(drop),
    ];
    for refused in refusals {
        assert!(refused.unwrap_err().to_string().contains("reading only"));
    }
    let retention = Retention { keep_per_workflow: Some(0), ..Retention::default() };
    assert_eq!(store.purge(&retention).await, Ok(0), "there is nothing to delete");
    assert_eq!(everything(folder.path()), before);
}

#[tokio::test]
async fn whatever_its_folder_is_called_it_is_read_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["two words", "50%41", "what?mode=memory", "#1", "größe", "a&b+c=d;e"] {
        let own = folder.path().join(name);
        fs::create_dir(&own).unwrap();
        let file = closed_store(&own).await;
        let before = everything(&own);
        let reader = SqliteStore::open_read_only(&file).unwrap();
        assert_eq!(reader.runs(&RunQuery::default()).await.unwrap().len(), 1, "{name}");
        assert_eq!(everything(&own), before, "{name}");
    }
}

#[tokio::test]
async fn what_others_write_meanwhile_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let reader = SqliteStore::open_read_only(&file).unwrap();
    let runs = async || reader.runs(&RunQuery::default()).await.unwrap().len();
    assert_eq!(runs().await, 1);
    let writer = SqliteStore::open(&file).unwrap();
    let two = writer.create(new_run("two")).await.unwrap();
    assert_eq!(runs().await, 2, "from the log");
    writer.release(&two);
    drop(writer);
    assert_eq!(runs().await, 2, "from the file");
    let held = reader.run(&two.run).await.unwrap().unwrap().holder;
    assert_eq!(held, None);
}

/// Has what version 7 has changed as it was before.
const WITHOUT_LAUNCH_PIECES: &str = "DROP TABLE launches; \
     CREATE TABLE launches (run INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT; PRAGMA user_version = 6;";

/// Takes away what version 6 has added as well.
const WITHOUT_GENERATIONS: &str = "ALTER TABLE entries DROP COLUMN labels; ALTER TABLE runs DROP COLUMN generation; \
     ALTER TABLE runs DROP COLUMN begins_at; DROP TABLE carried;";

/// Takes away what version 5 has added as well.
const WITHOUT_MAIL: &str = "DROP TABLE mail; DROP TABLE waits; DROP TABLE holders; DROP INDEX runs_by_wake; DROP INDEX runs_under_way; \
     ALTER TABLE runs DROP COLUMN wake; PRAGMA user_version = 4; CREATE TABLE answers (run INTEGER NOT NULL, \
     question TEXT NOT NULL, number INTEGER NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (run, question, number)) \
     STRICT, WITHOUT ROWID;";

/// Takes away what version 4 has added as well.
const WITHOUT_LAUNCHES: &str = "DROP TABLE launches; DROP TABLE labels; DROP INDEX runs_by_parent; DROP INDEX runs_by_thread; \
     ALTER TABLE runs DROP COLUMN parent; ALTER TABLE runs DROP COLUMN thread; ALTER TABLE runs DROP COLUMN latest; \
     ALTER TABLE runs DROP COLUMN worked; PRAGMA user_version = 3;";

#[tokio::test]
async fn what_runs_were_started_with_is_read_as_it_was_kept_and_kept_in_pieces_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let launch = Launch::default().thread("t").host(json!({"file": "what was said. ".repeat(500)}));
    let older = Connection::open(&file).unwrap();
    older.execute_batch(WITHOUT_LAUNCH_PIECES).unwrap();
    let text = serde_json::to_string(&launch).unwrap();
    older.execute("INSERT INTO launches (run, content) VALUES (1, ?1)", [text]).unwrap();
    drop(older);
    let (before, one) = (everything(folder.path()), "one".parse().unwrap());
    let reader = SqliteStore::open_read_only(&file).unwrap();
    assert_eq!(reader.run(&one).await.unwrap().unwrap().launch, launch);
    assert_eq!(everything(folder.path()), before, "reading changes nothing");

    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.run(&one).await.unwrap().unwrap().launch, launch);
    let lease = store.claim(&one, OnBusy::TakeOver).await.unwrap();
    let changed = launch.label("customer", "ann");
    store.append(&lease, Batch { launch: Some(changed.clone()), ..Batch::default() }).await.unwrap();
    assert_eq!(store.run(&one).await.unwrap().unwrap().launch, changed);
    assert_eq!(store.runs(&RunQuery::default()).await.unwrap()[0].launch, changed);
}

#[tokio::test]
async fn a_store_without_labels_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    Connection::open(&file)
        .unwrap()
        .execute_batch(&format!("{WITHOUT_LAUNCH_PIECES} {WITHOUT_GENERATIONS} PRAGMA user_version = 5"))
        .unwrap();
    let reader = SqliteStore::open_read_only(&file).unwrap();
    let entries = reader.entries(&"one".parse().unwrap(), 1, 9).await.unwrap();
    assert!(!entries.is_empty() && entries.iter().all(|entry| entry.labels.is_empty()), "{entries:?}");
    assert_eq!(reader.due(Timestamp::now(), 9).await.unwrap().len(), 1, "nobody works on it");
}

#[tokio::test]
async fn a_store_without_mail_is_read_as_it_is_and_its_answers_become_mail() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("one")).await.unwrap();
    let asked = |path: &str, question| PendingQuestion {
        run: lease.run.clone(),
        id: IdempotencyKey::derive(&lease.run, &path.into(), 0),
        path: path.into(),
        asked: Timestamp::now(),
        question,
    };
    let open = asked("open", Question::text("open?").quorum(2));
    let closed = asked("closed", Question::text("closed?"));
    let waits = WaitConditions::default();
    let (status, totals) = (RunStatus::Suspended, Default::default());
    let change = Some(RunChange { status, outcome: None, totals, worked: Default::default(), waits });
    store.append(&lease, Batch { opened: vec![open.clone()], change, ..Batch::default() }).await.unwrap();
    store.release(&lease);
    drop(store);
    let older = Connection::open(&file).unwrap();
    let thread = "UPDATE runs SET thread = 't'";
    older
        .execute_batch(&format!("{WITHOUT_LAUNCH_PIECES} {WITHOUT_GENERATIONS} {WITHOUT_MAIL} {thread}"))
        .unwrap();
    let answer = |question: &PendingQuestion, number: u32, by: &str| {
        let answer = Answer::text(by).by(by);
        let json = serde_json::to_string(&answer).unwrap();
        let row = (question.id.as_str(), number, json);
        older.execute("INSERT INTO answers VALUES (1, ?1, ?2, ?3)", row).unwrap();
        answer
    };
    let given = [answer(&open, 1, "ann"), answer(&open, 2, "bob")];
    let before_closed = [answer(&closed, 1, "cat")];
    drop(older);

    let before = everything(folder.path());
    let reader = SqliteStore::open_read_only(&file).unwrap();
    assert_eq!(reader.answers(&lease.run, &open.id).await.unwrap(), given);
    assert_eq!(reader.mail(&lease.run, "others", 0, 9).await.unwrap(), []);
    assert_eq!(reader.due(Timestamp::now(), 9).await.unwrap(), []);
    let record = reader.run(&lease.run).await.unwrap().unwrap();
    assert_eq!((record.wake, record.channels), (None, vec![]));
    let in_thread = RunQuery { thread: Some("t".to_owned()), ..RunQuery::default() };
    assert_eq!(reader.runs(&in_thread).await.unwrap().len(), 1);
    assert_eq!(everything(folder.path()), before, "reading changes nothing");

    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.answers(&lease.run, &open.id).await.unwrap(), given);
    assert_eq!(store.answers(&lease.run, &closed.id).await.unwrap(), before_closed);
    assert_eq!(store.due(Timestamp::now(), 9).await.unwrap().len(), 1, "somebody has answered");
    let lease = store.claim(&lease.run, OnBusy::Refuse).await.unwrap();
    store.append(&lease, Batch { opened: vec![closed.clone()], ..Batch::default() }).await.unwrap();
    assert_eq!(store.answers(&lease.run, &closed.id).await.unwrap(), [], "that was another time");
}

#[tokio::test]
async fn a_store_without_launches_is_read_as_it_is_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    Connection::open(&file)
        .unwrap()
        .execute_batch(&format!(
            "{WITHOUT_LAUNCH_PIECES} {WITHOUT_GENERATIONS} {WITHOUT_MAIL} {WITHOUT_LAUNCHES}"
        ))
        .unwrap();
    let before = everything(folder.path());
    let one = "one".parse().unwrap();
    let reader = SqliteStore::open_read_only(&file).unwrap();
    let record = reader.run(&one).await.unwrap().unwrap();
    assert!(record.launch.is_empty() && record.worked.is_zero() && record.latest == record.version);
    let labelled = RunQuery { thread: Some("t".to_owned()), ..RunQuery::default() };
    assert_eq!(reader.runs(&labelled).await.unwrap(), []);
    assert_eq!(reader.runs(&RunQuery::default()).await.unwrap().len(), 1);
    assert_eq!(everything(folder.path()), before, "reading changes nothing");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.claim(&one, OnBusy::TakeOver).await.unwrap();
    let launch = convoke_core::Launch::default().thread("t");
    store.append(&lease, Batch { launch: Some(launch), ..Batch::default() }).await.unwrap();
    assert_eq!(store.runs(&labelled).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_store_of_an_older_version_is_not_brought_up_to_date_by_looking() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let older = "ALTER TABLE blobs DROP COLUMN depth; DROP TABLE pieces; \
                 ALTER TABLE runs DROP COLUMN outline; DROP TABLE outlines; PRAGMA user_version = 1";
    Connection::open(&file)
        .unwrap()
        .execute_batch(&format!(
            "{WITHOUT_LAUNCH_PIECES} {WITHOUT_GENERATIONS} {WITHOUT_MAIL} {WITHOUT_LAUNCHES} {older}"
        ))
        .unwrap();
    let before = everything(folder.path());
    let refused = SqliteStore::open_read_only(&file).unwrap_err();
    assert!(matches!(refused, StoreError::Older { found: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("open it once for writing"), "{refused}");
    assert_eq!(everything(folder.path()), before);
    drop(SqliteStore::open(&file).unwrap());
    let store = SqliteStore::open_read_only(&file).unwrap();
    let record = store.run(&"one".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(record.outline, None, "it is as it was, and up to date");
}

#[tokio::test]
async fn a_store_whose_content_is_not_in_pieces_is_read_as_it_is_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_store(folder.path()).await;
    let content = Bytes::from("a prompt of an older version. ".repeat(200));
    let digest = Digest::of_parts(&[&content]);
    let older = Connection::open(&file).unwrap();
    let without_pieces = "ALTER TABLE blobs DROP COLUMN depth; DROP TABLE pieces; PRAGMA user_version = 2";
    older
        .execute_batch(&format!(
            "{WITHOUT_LAUNCH_PIECES} {WITHOUT_GENERATIONS} {WITHOUT_MAIL} {WITHOUT_LAUNCHES} {without_pieces}"
        ))
        .unwrap();
    older
        .execute(
            "INSERT INTO blobs (run, digest, content) VALUES (1, ?1, ?2)",
            (&digest.as_bytes()[..], &content[..]),
        )
        .unwrap();
    drop(older);
    let (before, one) = (everything(folder.path()), "one".parse().unwrap());
    let reader = SqliteStore::open_read_only(&file).unwrap();
    assert_eq!(reader.blobs(&one, &[digest]).await.unwrap()[&digest], content);
    assert_eq!(everything(folder.path()), before, "reading changes nothing");

    let store = SqliteStore::open(&file).unwrap();
    let lease = store.claim(&one, OnBusy::TakeOver).await.unwrap();
    let more = Bytes::from(format!("{}and more", String::from_utf8_lossy(&content)));
    let added = Digest::of_parts(&[&more]);
    let blobs = vec![Blob { digest: added, content: more.clone() }];
    store.append(&lease, Batch { blobs, ..Batch::default() }).await.unwrap();
    let found = store.blobs(&one, &[digest, added]).await.unwrap();
    assert_eq!((&found[&digest], &found[&added]), (&content, &more));
}

#[test]
fn what_is_not_there_or_not_a_store_is_refused_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("deeper").join("runs.db");
    assert!(SqliteStore::open_read_only(&missing).is_err());
    let empty = folder.path().join("empty.db");
    fs::write(&empty, b"").unwrap();
    assert!(matches!(SqliteStore::open_read_only(&empty).unwrap_err(), StoreError::Corrupt { .. }));
    assert_eq!(everything(folder.path()).len(), 1);
}
