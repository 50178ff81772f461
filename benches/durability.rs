//! What durability costs: commits, bytes, memory. Prints the tables of `docs/performance.md`.
//!
//! `cargo bench -p convoke --bench durability [-- commits|bytes|parked|asleep|agent|conversation]`
//!
//! Not a criterion benchmark: the interesting figures are rates against a raw SQLite loop in the same process, and sizes.
#![allow(missing_docs, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use convoke::core::store::NewMail;
use convoke::core::{Attendant, BoxFuture, Decision};
use convoke::prelude::*;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Measures something and prints it.
type Section = fn(&tokio::runtime::Runtime);

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with("--"));
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let sections: [(&str, Section); 6] = [
        ("commits", commits),
        ("bytes", bytes),
        ("parked", parked),
        ("asleep", asleep),
        ("agent", long_agent),
        ("conversation", long_conversation),
    ];
    for (name, section) in sections {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            section(&tokio);
        }
    }
}

/// Adds one, durably, so many times.
fn counting(effects: u64) -> Workflow<u64> {
    let step = task_boxed("count", move |scope, sum: &mut u64| {
        Box::pin(async move {
            for _ in 0..effects {
                *sum += scope.custom("one").repeatable().perform(|_| async { Ok::<_, Error>(1_u64) }).await?;
            }
            Ok(())
        })
    });
    Workflow::new(step)
}

fn open(folder: &Path) -> Runtime {
    let store = SqliteStore::open(folder.join("runs.db")).expect("the store opens");
    Runtime::builder().store(store).build()
}

fn folder() -> tempfile::TempDir {
    // Beside the build artefacts: a temporary folder in memory would measure nothing.
    let beside = std::env::current_exe().expect("a path");
    tempfile::tempdir_in(beside.parent().expect("a folder")).expect("a temporary folder")
}

fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("readable").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// One row per commit, as durable as ours, for so long.
fn raw_commits(duration: Duration) -> f64 {
    let folder = folder();
    let connection = rusqlite::Connection::open(folder.path().join("raw.db")).expect("it opens");
    connection.pragma_update(None, "journal_mode", "wal").expect("WAL");
    connection.pragma_update(None, "synchronous", "full").expect("FULL");
    connection
        .execute("CREATE TABLE entries (run INTEGER, seq INTEGER, path TEXT, outcome BLOB, PRIMARY KEY (run, seq)) WITHOUT ROWID", [])
        .expect("a table");
    let mut insert =
        connection.prepare("INSERT INTO entries VALUES (1, ?1, 'count', ?2)").expect("a statement");
    let begun = Instant::now();
    let mut rows = 0_i64;
    while begun.elapsed() < duration {
        insert.execute((rows, br#"{"ok":1}"#)).expect("a row");
        rows += 1;
    }
    rows as f64 / begun.elapsed().as_secs_f64()
}

fn commits(tokio: &tokio::runtime::Runtime) {
    println!("\n### Commits\n\n| | per second | |\n| --- | --- | --- |");
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let raw = raw_commits(Duration::from_secs(1));
        let folder = folder();
        let runtime = open(folder.path());
        let effects = raw as u64;
        let begun = Instant::now();
        let outcome =
            tokio.block_on(async { runtime.start(&counting(effects), 0).await.expect("it starts") });
        assert_eq!(outcome.state, effects);
        let ours = effects as f64 / begun.elapsed().as_secs_f64();
        ratios.push((ours / raw, raw, ours));
    }
    ratios.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (ratio, raw, ours) = ratios[ratios.len() / 2];
    println!("| raw SQLite, one row per commit | {raw:.0} | median of 5, alternating with ours |");
    println!("| one run, one effect after another | {ours:.0} | {:.0} % of raw |", ratio * 100.0);
    let folder = folder();
    let runtime = open(folder.path());
    let (runs, effects) = (1_000_u64, 100);
    let workflow = counting(effects);
    let begun = Instant::now();
    tokio.block_on(async {
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..runs {
            all.spawn(runtime.start(&workflow, 0).into_future());
        }
        while let Some(outcome) = all.join_next().await {
            assert_eq!(outcome.expect("no panic").expect("it starts").state, effects);
        }
    });
    let rate = (runs * effects) as f64 / begun.elapsed().as_secs_f64();
    println!("| 1,000 runs side by side | {rate:.0} | group commit |");
}

fn bytes(tokio: &tokio::runtime::Runtime) {
    const STEPS: u64 = 20_000;
    let folder = folder();
    let before = {
        drop(open(folder.path()));
        size(folder.path())
    };
    let chain =
        (0..STEPS).fold(Chain::new("main"), |chain, index| chain.then(task(format!("step {index}"), one)));
    let workflow = Workflow::new(chain);
    let runtime = open(folder.path());
    let run = tokio.block_on(async { runtime.start(&workflow, 0).await.expect("it starts").run });
    let rate = replayed(tokio, &runtime, &workflow, &run, STEPS);
    let ten = (0..STEPS / 10)
        .fold(Chain::new("main"), |chain, index| chain.then(task(format!("step {index}"), ten)));
    let ten = Workflow::new(ten).named("ten");
    let elsewhere = self::folder();
    let other = open(elsewhere.path());
    let ten_run = tokio.block_on(async { other.start(&ten, 0).await.expect("it starts").run });
    let rate_of_ten = replayed(tokio, &other, &ten, &ten_run, STEPS);
    let store = runtime.store().expect("there is one");
    let begun = Instant::now();
    let entries = tokio.block_on(store.entries(&run, 1, usize::MAX)).expect("readable").len();
    let read = entries as f64 / begun.elapsed().as_secs_f64();
    drop(runtime);
    let per_step = (size(folder.path()) - before) as f64 / STEPS as f64;
    println!("\n### Bytes and replay\n\n| | |\n| --- | --- |");
    println!("| bytes on disk per trivial step | {per_step:.0} |");
    println!("| effects replayed per second, one per step, read from SQLite | {rate:.0} (median of 21) |");
    println!("| the same, ten per step | {rate_of_ten:.0} (median of 21) |");
    println!("| entries read from SQLite per second | {read:.0} |");
}

/// How many effects of a stored run are replayed in a second.
fn replayed(
    tokio: &tokio::runtime::Runtime,
    runtime: &Runtime,
    workflow: &Workflow<u64>,
    run: &RunId,
    effects: u64,
) -> f64 {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let begun = Instant::now();
            let replay = tokio.block_on(async { runtime.replay(workflow, run).await.expect("it replays") });
            assert_eq!(replay.state, effects);
            begun.elapsed()
        })
        .collect();
    times.sort();
    effects as f64 / times[times.len() / 2].as_secs_f64()
}

async fn ten(scope: &Scope, sum: &mut u64) -> Result<(), Error> {
    for _ in 0..10 {
        one(scope, sum).await?;
    }
    Ok(())
}

async fn one(scope: &Scope, sum: &mut u64) -> Result<(), Error> {
    *sum += scope.custom("one").repeatable().perform(|_| async { Ok::<_, Error>(1_u64) }).await?;
    Ok(())
}

async fn wait(scope: &Scope, approved: &mut bool) -> Result<(), Error> {
    *approved =
        scope.ask(Question::approval("Send the refund?").about(json!({"order": 17}))).await?.is_approval();
    Ok(())
}

fn parked(tokio: &tokio::runtime::Runtime) {
    const RUNS: usize = 100_000;
    let folder = folder();
    let runtime = open(folder.path());
    let workflow = Workflow::new(task("wait", wait));
    let before = resident();
    let begun = Instant::now();
    tokio.block_on(async {
        let starts =
            futures_util::stream::iter(0..RUNS).map(|_| runtime.start(&workflow, false).into_future());
        starts
            .buffer_unordered(1_000)
            .for_each(|outcome| async {
                assert_eq!(outcome.expect("it starts").status, RunStatus::Suspended)
            })
            .await;
    });
    let parked = begun.elapsed();
    let memory = resident().saturating_sub(before);
    let (disk_before_waking, waking) = tokio.block_on(async {
        let store = runtime.store().expect("there is one");
        let questions = store.questions(None).await.expect("they can be listed");
        assert_eq!(questions.len(), RUNS);
        let disk = size(folder.path());
        let begun = Instant::now();
        let woken = futures_util::stream::iter(&questions[..1_000]).map(|pending| async {
            store.answer(&pending.run, &pending.id, Answer::approve()).await.expect("it is taken");
            runtime.resume(&workflow, pending.run.clone()).await.expect("it resumes").status
        });
        woken
            .buffer_unordered(1_000)
            .for_each(|status| async move { assert_eq!(status, RunStatus::Completed) })
            .await;
        (disk, begun.elapsed())
    });
    drop(runtime);
    println!("\n### 100,000 runs parked on a question\n\n| | |\n| --- | --- |");
    println!(
        "| bytes on disk per run | {:.0} (write-ahead log included) |",
        disk_before_waking as f64 / RUNS as f64
    );
    println!(
        "| bytes of memory per run | {:.0} (growth of the process, caches included) |",
        memory as f64 / RUNS as f64
    );
    println!("| parked per second | {:.0} |", RUNS as f64 / parked.as_secs_f64());
    println!("| 1,000 answered and resumed to their end | {:.2} s |", waking.as_secs_f64());
}

/// Bytes of memory this process has.
async fn take_and_sleep(scope: &Scope, letters: &mut u64) -> Result<(), Error> {
    *letters += scope.receive::<u64>("letters").await?.payload;
    scope.sleep(Duration::from_secs(86_400)).await
}

/// Runs that wait for mail, and then sleep for a day, while somebody attends to them.
fn asleep(tokio: &tokio::runtime::Runtime) {
    const RUNS: usize = 100_000;
    const WOKEN: usize = 1_000;
    const LOOK: Duration = Duration::from_secs(20);
    let folder = folder();
    let store = SqliteStore::open(folder.path().join("runs.db")).expect("the store opens");
    let runtime = Runtime::builder().store(store.clone()).patience(Duration::ZERO).build();
    let workflow = Workflow::new(task("take", take_and_sleep));
    let registry = Registry::new();
    registry.register(Runner::new(&workflow));
    let before = resident();
    let runs: Vec<RunId> = tokio.block_on(async {
        let starts = futures_util::stream::iter(0..RUNS).map(|_| runtime.start(&workflow, 0).into_future());
        starts.buffer_unordered(1_000).map(|outcome| outcome.expect("it starts").run).collect().await
    });
    let memory = resident().saturating_sub(before);
    let woken = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&woken);
    let attendant = Attendant::new(&runtime, &registry).report(move |_, outcome| {
        assert_eq!(outcome.as_ref().expect("it goes on").status, RunStatus::Suspended, "it sleeps now");
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let measured = async {
        let begun = processor_time();
        tokio::time::sleep(LOOK).await;
        let idle = processor_time().saturating_sub(begun);
        let begun = Instant::now();
        for run in runs.iter().take(WOKEN) {
            let mail = NewMail::json("letters", &1).expect("a number is JSON");
            store.post(run, mail).await.expect("it is taken");
        }
        while woken.load(Ordering::Relaxed) < WOKEN {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (idle, begun.elapsed())
    };
    let (idle, waking) = tokio.block_on(async {
        tokio::select! {
            ended = attendant.attend() => panic!("it attends for ever: {ended:?}"),
            measured = measured => measured,
        }
    });
    println!("\n### Runs that wait for mail, attended to\n\n| | |\n| --- | --- |");
    println!("| runs | {RUNS} |");
    println!("| memory per run | {} bytes |", memory / RUNS as u64);
    println!("| processor time of the whole process in {LOOK:?} | {} ms |", idle.as_millis());
    println!("| {WOKEN} sent something, gone on with, and asleep again | {:.2} s |", waking.as_secs_f64());
}

/// What the process has used of processors so far.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
    let ticks: u64 = fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second on every Linux there is.
    Duration::from_millis(ticks * 10)
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4_096
}

#[derive(Default, Serialize, Deserialize)]
struct Talk {
    calls: usize,
}

fn long_agent(tokio: &tokio::runtime::Runtime) {
    const CALLS: usize = 100;
    // 200,000 tokens of about four bytes, spread over a question and an answer per call.
    const BYTES_PER_CALL: usize = 8_000;
    let folder = folder();
    let store = SqliteStore::open(folder.path().join("runs.db")).expect("the store opens");
    let before = size(folder.path());
    let answer = "loom ".repeat(BYTES_PER_CALL / 5 / 5);
    let usage = convoke::core::Usage::tokens(1, 1);
    let model =
        ScriptedModel::builder().otherwise(Reply::text(answer).usage(usage)).forget_requests().build();
    let runtime = Runtime::builder().store(store).model(model).build();
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let clock = Arc::clone(&times);
    let step = task_boxed("talk", move |scope, talk: &mut Talk| {
        let clock = Arc::clone(&clock);
        Box::pin(async move {
            let model = scope.default_model()?;
            let mut messages = Transcript::from("You are a loom.");
            for call in 0..CALLS {
                let begun = Instant::now();
                messages
                    .push(Message::user(format!("{call} {}", "weft ".repeat(BYTES_PER_CALL * 4 / 5 / 5))));
                let request = convoke::core::ModelRequest::new(messages.clone());
                let reply = scope.model(&model, request, convoke::core::Visibility::Hidden).await?;
                messages.push(reply.message);
                talk.calls += 1;
                clock.lock().expect("not poisoned").push(begun.elapsed());
            }
            Ok(())
        })
    });
    let outcome = tokio
        .block_on(async { runtime.start(&Workflow::new(step), Talk::default()).await.expect("it starts") });
    assert_eq!(outcome.state.calls, CALLS);
    drop(runtime);
    let times = times.lock().expect("not poisoned");
    let around = |call: usize| {
        let window = &times[call.saturating_sub(3)..(call + 3).min(CALLS)];
        window.iter().sum::<Duration>().as_secs_f64() * 1e6 / window.len() as f64
    };
    let content = CALLS * BYTES_PER_CALL;
    let stored = size(folder.path()) - before;
    println!("\n### The long agent: 100 calls, 200,000 tokens\n\n| | |\n| --- | --- |");
    println!("| bytes of conversation | {content} |");
    println!("| bytes stored | {stored} ({:.2} times the conversation) |", stored as f64 / content as f64);
    println!(
        "| µs per call around call 1, 50, 100 | {:.0}, {:.0}, {:.0} |",
        around(2),
        around(50),
        around(CALLS - 1)
    );
}

/// What a conversation has in mind.
#[derive(Default, Serialize, Deserialize)]
struct Said {
    #[serde(with = "convoke::core::kept_transcript")]
    messages: Transcript,
    turns: usize,
}

/// How a conversation goes on.
#[derive(Clone, Copy, PartialEq)]
enum Continues {
    Never,
    /// After so many turns, with everything that was said.
    WithAll(usize),
    /// After so many turns, with the last words only.
    WithLast(usize),
}

/// Says something until it is told to stop.
struct Speaks(std::sync::atomic::AtomicUsize);

impl convoke::core::Responder for Speaks {
    fn respond<'a>(&'a self, _: &'a convoke::core::PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        Box::pin(async move { left.ok().map(|left| Answer::text(format!("{left} {}", "weft ".repeat(20)))) })
    }
}

async fn talk(scope: &Scope, said: &mut Said, continues: Continues) -> Result<(), Error> {
    let model = scope.default_model()?;
    let mut messages = said.messages.clone();
    let mut turns = 0;
    loop {
        let Decision::Text { text } = scope.ask(Question::text("What next?")).await?.decision else {
            return Ok(());
        };
        messages.push(Message::user(text));
        let request = convoke::core::ModelRequest::new(messages.clone());
        let reply = scope.model(&model, request, convoke::core::Visibility::Hidden).await?;
        messages.push(reply.message.clone());
        turns += 1;
        said.turns += 1;
        match continues {
            Continues::WithAll(limit) if turns == limit => {
                said.messages = messages;
                return scope.continue_with(said);
            }
            Continues::WithLast(limit) if turns == limit => {
                said.messages = reply.message.into();
                return scope.continue_with(said);
            }
            _ => {}
        }
    }
}

/// What it costs to go on with a conversation of so many turns: from the store to the question it waits at.
fn long_conversation(tokio: &tokio::runtime::Runtime) {
    println!(
        "\n### Going on with a conversation\n\n| turns | without generations | 50 turns each, with all that was said | 50 turns each, with the last words |\n| --- | --- | --- | --- |"
    );
    let all = [Continues::Never, Continues::WithAll(50), Continues::WithLast(50)];
    for turns in [100, 1_000, 4_000] {
        let measured = all.map(|continues| {
            let folder = folder();
            let store: Arc<dyn Store> =
                Arc::new(SqliteStore::open(folder.path().join("runs.db")).expect("the store opens"));
            let reply = Reply::text("loom ".repeat(20)).usage(convoke::core::Usage::tokens(1, 1));
            let model = ScriptedModel::builder().otherwise(reply).forget_requests().build();
            let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).model(model.clone());
            let workflow = Workflow::new(task_boxed("talk", move |scope, said: &mut Said| {
                Box::pin(talk(scope, said, continues))
            }));
            // A few more than a whole number of generations.
            let speaks = Speaks((turns + 10).into());
            let begun = runtime().responder(speaks).build();
            let outcome = tokio.block_on(async { begun.start(&workflow, Said::default()).await });
            let run = outcome.expect("it starts").run;
            let resumed = runtime().build();
            let mut times: Vec<Duration> = (0..21)
                .map(|_| {
                    let begun = Instant::now();
                    let outcome = tokio.block_on(async { resumed.resume(&workflow, run.clone()).await });
                    let outcome = outcome.expect("it resumes");
                    assert_eq!((outcome.status, outcome.state.turns), (RunStatus::Suspended, turns + 10));
                    begun.elapsed()
                })
                .collect();
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        let [never, with_all, with_last] = measured;
        println!("| {turns} | {never:.1} ms | {with_all:.1} ms | {with_last:.1} ms |");
    }
}
