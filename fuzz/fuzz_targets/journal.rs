//! Rows of a journal: whatever a store has in the place of an entry, reading and replaying the run gives a run or an error.
#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use convoke::history::History;
use convoke::prelude::*;
use libfuzzer_sys::fuzz_target;
use rusqlite::{Connection, params};

/// What is written in the place of an entry.
#[derive(Debug, Arbitrary)]
struct Row {
    place: u8,
    path: Option<Vec<u8>>,
    ordinal: Option<i64>,
    effect: Option<i8>,
    phase: Option<i8>,
    digest: Option<Vec<u8>>,
    at: Option<i64>,
    request: Option<Vec<u8>>,
    outcome: Option<Vec<u8>>,
    labels: Option<Vec<u8>>,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Letter {
    draft: String,
    final_text: String,
}

/// A stored run, and another way into its file.
struct Stored {
    workflow: Workflow<Letter>,
    runtime: Runtime,
    store: std::sync::Arc<SqliteStore>,
    run: RunId,
    raw: std::sync::Mutex<Connection>,
    _folder: tempfile::TempDir,
}

static STORED: LazyLock<Stored> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("runs.db");
    let store = std::sync::Arc::new(SqliteStore::open(&file).expect("a store"));
    let workflow = Workflow::new(
        Chain::new("letter")
            .then(prompt("draft", |_: &Letter| "Write.".to_owned()).text(|letter| &mut letter.draft))
            .then(
                prompt("polish", |letter: &Letter| letter.draft.clone())
                    .text(|letter| &mut letter.final_text),
            ),
    );
    let model = ScriptedModel::replies(["Dear all,", "Dear everybody,"]);
    let runtime = Runtime::builder().shared_store(store.clone()).model(model).build();
    let run: RunId = "letter-1".parse().expect("an id");
    let done = block_on(async { runtime.start(&workflow, Letter::default()).id(run.clone()).await });
    done.expect("it runs").completed().expect("it completes");
    let raw = Connection::open(&file).expect("the file");
    raw.execute_batch("PRAGMA synchronous = OFF; CREATE TEMP TABLE kept AS SELECT * FROM entries")
        .expect("a copy");
    Stored { workflow, runtime, store, run, raw: raw.into(), _folder: folder }
});

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
}

fuzz_target!(|row: Row| {
    let stored = &*STORED;
    let raw = stored.raw.lock().expect("nobody else");
    let changed = raw.execute(
        "UPDATE entries SET path = coalesce(CAST(?2 AS TEXT), path), ordinal = coalesce(?3, ordinal), \
         effect = coalesce(?4, effect), phase = coalesce(?5, phase), digest = coalesce(?6, digest), at = coalesce(?7, at), \
         request = coalesce(?8, request), outcome = coalesce(?9, outcome), labels = CAST(?10 AS TEXT) \
         WHERE place = (SELECT place FROM entries ORDER BY place LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM entries))",
        params![row.place, row.path, row.ordinal, row.effect, row.phase, row.digest, row.at, row.request, row.outcome, row.labels],
    );
    assert_eq!(changed, Ok(1));
    block_on(async {
        if let Ok(history) = History::load(&*stored.store, &stored.run).await {
            let _ = (history.chronicle(), history.timeline(), history.spent());
        }
        let _ = stored.runtime.replay(&stored.workflow, &stored.run).await;
    });
    raw.execute_batch("DELETE FROM entries; INSERT INTO entries SELECT * FROM kept")
        .expect("it was there before");
});
