//! How fast a store on SQLite is beside a bare commit loop in the same process, and what a run costs on disk.
//!
//! `cargo run --release -p convoke-store --example commit_rate [FOLDER]`; the folder decides which disk is measured.
//! `several` and `single` are the threads of the async runtime.

use std::error::Error;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, Lease, NewRun, RunChange, Totals};
use convoke_core::{
    Digest, EffectKind, Entry, IdempotencyKey, Labels, Path, Phase, Question, RunId, RunStatus, Store,
    Timestamp,
};
use convoke_store::SqliteStore;
use rusqlite::{Connection, params};
use tokio::runtime::{Builder, Runtime};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: u64 = 40;
const COMMITS: u64 = 250;
const RUNS: u64 = 1_000;
const APPENDS: u64 = 50;
const REPETITIONS: u64 = 5;
const PARKED: u64 = 10_000;

fn main() -> Outcome<()> {
    let folder = match std::env::args().nth(1) {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let several = Builder::new_multi_thread().worker_threads(2).build()?;
    let single = Builder::new_current_thread().build()?;
    one_run(&several, folder.path(), "several")?;
    one_run(&single, folder.path(), "single")?;
    several.block_on(many_runs(folder.path(), "several"))?;
    single.block_on(many_runs(folder.path(), "single"))?;
    several.block_on(parked_runs(folder.path()))
}

/// Rounds of both take turns, so that a disk that is slow for a while is slow for both.
fn one_run(runtime: &Runtime, folder: &FilePath, threads: &str) -> Outcome<()> {
    let file = format!("one-{threads}.db");
    let raw = raw_database(&folder.join(format!("raw-{threads}.db")))?;
    let store = SqliteStore::open(folder.join(&file))?;
    let mut lease = runtime.block_on(store.create(new_run()))?;
    let (mut raw_rates, mut store_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let began = Instant::now();
        for seq in 1..=COMMITS {
            raw_commit(&raw, round * COMMITS + seq)?;
        }
        let raw_rate = COMMITS as f64 / began.elapsed().as_secs_f64();
        let (next, appending) = (lease.clone(), store.clone());
        let began = Instant::now();
        lease = runtime.block_on(runtime.spawn(async move { append(&appending, next, COMMITS).await }))??;
        let store_rate = COMMITS as f64 / began.elapsed().as_secs_f64();
        raw_rates.push(raw_rate);
        store_rates.push(store_rate);
        ratios.push(100.0 * store_rate / raw_rate);
    }
    say(&format!("{threads:<7} raw commit loop      {:>9.0} commits/s", median(&mut raw_rates)));
    say(&format!("{threads:<7} one run              {:>9.0} appends/s", median(&mut store_rates)));
    say(&format!("{threads:<7} one run / raw        {:>9.1} %", median(&mut ratios)));
    let began = Instant::now();
    for _ in 0..10 {
        runtime.block_on(store.entries(&lease.run, 1, usize::MAX))?;
    }
    let read = (10 * ROUNDS * COMMITS) as f64 / began.elapsed().as_secs_f64();
    say(&format!("{threads:<7} reading a journal    {read:>9.0} entries/s"));
    drop(store);
    let bytes = size(folder, &file)? as f64 / (ROUNDS * COMMITS) as f64;
    say(&format!("{threads:<7} bytes per entry      {bytes:>9.0}"));
    Ok(())
}

async fn many_runs(folder: &FilePath, threads: &str) -> Outcome<()> {
    let file = format!("many-{threads}.db");
    let store = Arc::new(SqliteStore::open(folder.join(&file))?);
    let mut leases = Vec::new();
    for _ in 0..RUNS {
        leases.push(store.create(new_run()).await?);
    }
    let mut rates = Vec::new();
    for _ in 0..REPETITIONS {
        let began = Instant::now();
        let tasks: Vec<_> = leases
            .drain(..)
            .map(|lease| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { append(&store, lease, APPENDS).await })
            })
            .collect();
        for task in tasks {
            leases.push(task.await??);
        }
        rates.push((RUNS * APPENDS) as f64 / began.elapsed().as_secs_f64());
    }
    say(&format!("{threads:<7} {RUNS} runs            {:>9.0} appends/s", median(&mut rates)));
    drop(store);
    let bytes = size(folder, &file)? as f64 / (REPETITIONS * RUNS * APPENDS) as f64;
    say(&format!("{threads:<7} bytes per entry      {bytes:>9.0}"));
    Ok(())
}

async fn parked_runs(folder: &FilePath) -> Outcome<()> {
    let store = SqliteStore::open(folder.join("parked.db"))?;
    let began = Instant::now();
    for _ in 0..PARKED / 100 {
        let parked: Vec<_> = (0..100).map(|_| tokio::spawn(park(store.clone()))).collect();
        for task in parked {
            task.await??;
        }
    }
    say(&format!(
        "parking a run                {:>9.0} runs/s",
        PARKED as f64 / began.elapsed().as_secs_f64()
    ));
    let live = size(folder, "parked.db")? + size(folder, "parked.db-wal")?;
    drop(store);
    say(&format!("bytes per parked run         {:>9.0}", size(folder, "parked.db")? as f64 / PARKED as f64));
    say(&format!("  with the log, while open   {:>9.0}", live as f64 / PARKED as f64));
    Ok(())
}

async fn append(store: &SqliteStore, mut lease: Lease, count: u64) -> Outcome<Lease> {
    for _ in 0..count {
        store.append(&lease, Batch { entries: vec![trivial(lease.next_seq)], ..Batch::default() }).await?;
        lease.next_seq += 1;
    }
    Ok(lease)
}

async fn park(store: SqliteStore) -> Outcome<()> {
    let lease = store.create(new_run()).await?;
    let request = Bytes::from_static(br#"{"kind":{"type":"approval"},"title":"Send this refund?"}"#);
    let started = Entry {
        effect: EffectKind::Ask,
        phase: Phase::Started,
        request: Some(request),
        outcome: None,
        ..trivial(1)
    };
    let question = PendingQuestion {
        run: lease.run.clone(),
        id: IdempotencyKey::derive(&lease.run, &started.path, 0),
        path: started.path.clone(),
        asked: started.at,
        question: Question::approval("Send this refund?")
            .about(serde_json::json!({"order": 17, "amount": "30.00"})),
    };
    let change = RunChange {
        waits: Default::default(),
        worked: std::time::Duration::ZERO,
        status: RunStatus::Suspended,
        outcome: None,
        totals: Totals::default(),
    };
    let batch =
        Batch { entries: vec![started], opened: vec![question], change: Some(change), ..Batch::default() };
    store.append(&lease, batch).await?;
    store.release(&lease);
    Ok(())
}

fn new_run() -> NewRun {
    NewRun {
        id: RunId::mint(),
        workflow: "refund".to_owned(),
        version: 1,
        input: Bytes::from_static(br#"{"order":17,"customer":"ann@example.org","amount":"30.00"}"#),
        outline: None,
        launch: Default::default(),
        seed: 0x5eed_5eed_5eed_5eed,
        forked_from: None,
        past: Batch::default(),
    }
}

fn trivial(seq: u64) -> Entry {
    Entry {
        seq,
        path: Path::from("main/prepare/fetch#2"),
        ordinal: 0,
        effect: EffectKind::Custom,
        phase: Phase::Finished,
        digest: Digest::of_parts(&[&seq.to_le_bytes()]),
        at: Timestamp::now(),
        request: None,
        outcome: Some(Bytes::from_static(br#"{"ok":1}"#)),
        labels: Labels::new(),
    }
}

fn raw_database(path: &FilePath) -> Outcome<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE entries (run INTEGER, seq INTEGER, path TEXT, ordinal INTEGER, effect INTEGER, phase INTEGER, \
         digest BLOB, at INTEGER, request BLOB, outcome BLOB, PRIMARY KEY (run, seq)) WITHOUT ROWID;",
    )?;
    Ok(connection)
}

fn raw_commit(connection: &Connection, seq: u64) -> Outcome<()> {
    let entry = trivial(seq);
    connection.prepare_cached("INSERT INTO entries VALUES (1, ?1, ?2, 0, 5, 1, ?3, ?4, NULL, ?5)")?.execute(
        params![
            seq.cast_signed(),
            entry.path.as_str(),
            entry.digest.as_bytes(),
            entry.at.as_micros(),
            entry.outcome.as_deref()
        ],
    )?;
    Ok(())
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn size(folder: &FilePath, name: &str) -> Outcome<u64> {
    Ok(folder.join(name).metadata().map_or(0, |metadata| metadata.len()))
}

#[expect(clippy::print_stdout, reason = "printing is what this program is for")]
fn say(line: &str) {
    println!("{line}");
}
