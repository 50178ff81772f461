//! How long a search takes among many passages, by words and vectors together.
//!
//!     cargo bench -p convoke-knowledge
//!
//! Documents of 100 passages with words as unevenly spread as those of a language, and vectors of 384 numbers. It prints the times of
//! which half, and 95 of 100, of the searches take less, and beside them what SQLite alone takes: the same passages in a table of FTS5,
//! asked for the ten that rank best for the same words. Times are those that threads of the process were at work, so that others who use the
//! machine do not count.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "it measures")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use convoke_core::{BoxFuture, Embedder, EmbeddingPurpose, Embeddings, ModelError, Usage};
use convoke_knowledge::Knowledge;
use convoke_sqlite::any_word;
use convoke_tools::embedding::LazyEmbedder;
use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

const DOCUMENTS: usize = 1_000;
const PASSAGES: usize = 100;
const SEARCHES: usize = 200;

struct Noise;

impl Embedder for Noise {
    fn name(&self) -> &str {
        "noise"
    }

    fn dimensions(&self) -> usize {
        384
    }

    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        _: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        let vectors = texts.iter().map(|text| {
            let mut random =
                Random(text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte)));
            let mut vector: Vec<f32> =
                (0..384).map(|_| random.next() as f32 / u64::MAX as f32 - 0.4).collect();
            let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|number| *number /= length);
            vector
        });
        let vectors = vectors.collect();
        Box::pin(std::future::ready(Ok(Embeddings { vectors, usage: Usage::default() })))
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word: some are everywhere, most are rare.
    fn word(&mut self) -> String {
        let even = (self.next() % 1_000_000) as f64 / 1_000_000.0;
        format!("w{}", (50_000_f64.powf(even)) as u64)
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(42);
    for number in 0..DOCUMENTS {
        let passages: Vec<String> =
            (0..PASSAGES).map(|place| format!("# Part {place}\n{}", random.words(100))).collect();
        std::fs::create_dir_all(folder.path().join("documents")).unwrap();
        std::fs::write(folder.path().join(format!("documents/{number}.md")), passages.join("\n")).unwrap();
    }
    let knowledge = Knowledge::at(folder.path().join("knowledge.db"))
        .embedder(LazyEmbedder::new(|| Some(Arc::new(Noise))));
    let began = Instant::now();
    let added = runtime.block_on(knowledge.add("all", &[folder.path().join("documents")], |_| {})).unwrap();
    println!("{} passages of {} documents added in {:.1?}", added.passages, added.read, began.elapsed());
    let queries: Vec<String> = (0..SEARCHES).map(|_| random.words(8)).collect();
    let both =
        times(&queries, |query| runtime.block_on(knowledge.search("all", query, 10)).unwrap().passages.len());
    let words_alone = Knowledge::at(folder.path().join("knowledge.db"));
    let words = times(&queries, |query| {
        runtime.block_on(words_alone.search("all", query, 10)).unwrap().passages.len()
    });
    let bare = bare(folder.path());
    let fts = times(&queries, |query| ranked(&bare, query));
    for (what, found) in [("words and meaning", &both), ("words alone", &words), ("FTS5 alone", &fts)] {
        println!("{what:17}  half under {:>7.1?}, 95 of 100 under {:>7.1?}", found.half, found.most);
    }
    let ratio = |found: &Times| found.most.as_secs_f64() / fts.most.as_secs_f64();
    println!(
        "of what FTS5 alone takes: {:.2} by words and meaning, {:.2} by words",
        ratio(&both),
        ratio(&words)
    );
}

struct Times {
    half: Duration,
    most: Duration,
}

/// The times that this takes for each query, after some to warm up.
fn times(queries: &[String], search: impl Fn(&str) -> usize) -> Times {
    queries.iter().take(5).for_each(|query| assert_eq!(search(query), 10));
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|query| {
            let began = at_work();
            assert_eq!(search(query), 10);
            at_work() - began
        })
        .collect();
    times.sort();
    Times { half: times[times.len() / 2], most: times[times.len() * 95 / 100] }
}

/// How long threads of this process have been at work.
fn at_work() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// The same passages in a table of FTS5, and nothing else.
fn bare(folder: &Path) -> Connection {
    let connection = Connection::open(folder.join("bare.db")).unwrap();
    let kept = folder.join("knowledge.db");
    connection.execute("ATTACH ?1 AS kept", [kept.to_str().unwrap()]).unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE words USING fts5 (heading, text, tokenize = 'porter unicode61 remove_diacritics 2');
             INSERT INTO words (rowid, heading, text) SELECT id, heading, text FROM kept.passages;",
        )
        .unwrap();
    connection
}

fn ranked(connection: &Connection, query: &str) -> usize {
    let mut found = connection
        .prepare_cached("SELECT text FROM words WHERE words MATCH ?1 ORDER BY bm25(words, 2.0, 1.0) LIMIT 10")
        .unwrap();
    let texts: Vec<String> =
        found.query_map([any_word(query)], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    texts.len()
}
