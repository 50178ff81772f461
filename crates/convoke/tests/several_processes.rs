//! Several processes share one store: one starts runs, two go on with them, one answers and sends mail, one cancels some. Any of
//! them is killed at any moment and started again. Nothing is done twice, lost or stuck.
//!
//! `CONVOKE_KILLS=500 cargo test -p convoke --test several_processes -- --nocapture` kills more often than the suite does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "what was seen is printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use convoke::core::store::{NewMail, RunQuery, RunRecord};
use convoke::core::{Attendant, cancel_for_good};
use convoke::prelude::*;
use serde::{Deserialize, Serialize};

const ROLE: &str = "CONVOKE_CROWD_ROLE";
const FOLDER: &str = "CONVOKE_CROWD_FOLDER";
/// How many runs there are at a time.
const RUNS: usize = 12;
/// Every so many runs is cancelled by somebody, sooner or later.
const CANCELLED: usize = 4;
/// How many kills there are before everybody is left alone,
const KILLS_IN_ONE_TRIAL: usize = 25;
/// and in all, unless somebody wants more.
const KILLS: usize = 75;
/// How long it may take until everything is over, once nobody is killed any more.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    approved: bool,
    letters: Vec<u64>,
}

/// Does something that would be seen if it was done twice under different keys.
fn act(folder: &Path, name: &'static str) -> impl Step<Order> + use<> {
    let world = folder.join("world");
    task_boxed(name, move |scope: &Scope, _: &mut Order| {
        let (world, run) = (world.clone(), scope.run_id().clone());
        Box::pin(async move {
            let act = scope.custom("act").repeatable();
            act.perform(|key| async move {
                let mut world = OpenOptions::new().create(true).append(true).open(world)?;
                world.write_all(format!("{run} {name} {key}\n").as_bytes())?;
                Ok::<_, std::io::Error>(())
            })
            .await
        })
    })
}

fn workflow(folder: &Path) -> Workflow<Order> {
    let asks = task_boxed("asks", |scope: &Scope, order: &mut Order| {
        Box::pin(async move {
            order.approved = scope.ask(Question::confirm("Go on?")).await?.is_approval();
            Ok::<_, Error>(())
        })
    });
    let takes = task_boxed("takes", |scope: &Scope, order: &mut Order| {
        Box::pin(async move {
            for _ in 0..2 {
                order.letters.push(scope.receive::<u64>("letters").await?.payload);
                scope.sleep(Duration::from_millis(10)).await?;
            }
            Ok::<_, Error>(())
        })
    });
    let chain = Chain::new("order").then(act(folder, "begin")).then(asks).then(act(folder, "middle"));
    Workflow::new(chain.then(takes).then(act(folder, "end")))
}

fn run_id(number: usize) -> RunId {
    format!("order-{number}").parse().unwrap()
}

/// Only does something when the parent starts this binary again; otherwise it is an empty test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let store = SqliteStore::open(folder.join("runs.db")).unwrap();
    let runtime = Runtime::builder().store(store.clone()).patience(Duration::ZERO).build();
    let registry = Registry::new();
    registry.register(Runner::new(&workflow(&folder)));
    match &*role {
        "start" => start(&runtime, &workflow(&folder)).await,
        "attend" => Attendant::new(&runtime, &registry).attend().await.unwrap(),
        "answer" => answer(&store).await,
        "cancel" => cancel(&store).await,
        role => panic!("nobody is a {role}"),
    }
}

async fn start(runtime: &Runtime, workflow: &Workflow<Order>) {
    for number in 0..RUNS {
        // One that was begun before, or that others have by now, is none of our business.
        let _ = runtime.start(workflow, Order::default()).id(run_id(number)).await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    std::future::pending().await
}

async fn answer(store: &SqliteStore) {
    loop {
        for open in store.questions(None).await.unwrap() {
            let _ = store.answer(&open.run, &open.id, Answer::approve().by("ann")).await;
        }
        for record in store.runs(&RunQuery::default()).await.unwrap() {
            for letter in 1_u64..=2 {
                let mail = NewMail::json("letters", &letter).unwrap().key(letter.to_string());
                let _ = store.post(&record.id, mail).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
}

async fn cancel(store: &SqliteStore) {
    // One that is not there yet, or over, cannot be cancelled; those that are not there yet will be.
    for number in (0..RUNS).step_by(CANCELLED).cycle() {
        tokio::time::sleep(Duration::from_millis(11)).await;
        let _ = cancel_for_good(store, &run_id(number), "by the third").await;
    }
}

/// Everybody who works on the store.
struct Crowd {
    folder: PathBuf,
    roles: Vec<(&'static str, Child)>,
}

impl Crowd {
    fn gather(folder: &Path) -> Self {
        let mut crowd = Self { folder: folder.to_owned(), roles: Vec::new() };
        for role in ["start", "attend", "attend", "answer", "cancel"] {
            let child = crowd.hire(role);
            crowd.roles.push((role, child));
        }
        crowd
    }

    fn hire(&self, role: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture", "--test-threads", "1"])
            .env(ROLE, role)
            .env(FOLDER, &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn replace(&mut self, index: usize) {
        let role = self.roles[index].0;
        self.roles[index].1.kill().unwrap();
        self.roles[index].1.wait().unwrap();
        self.roles[index].1 = self.hire(role);
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (_, child) in &mut self.roles {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

async fn records(store: &SqliteStore) -> BTreeMap<RunId, RunRecord> {
    let all = store.runs(&RunQuery::default()).await.unwrap();
    all.into_iter().map(|record| (record.id.clone(), record)).collect()
}

#[tokio::test]
async fn nothing_is_done_twice_lost_or_stuck_whoever_is_killed() {
    if std::env::var(ROLE).is_ok() {
        return;
    }
    let kills: usize = std::env::var("CONVOKE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut dice = Dice(0x00C0_FFEE);
    let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
    for trial in 0..kills.div_ceil(KILLS_IN_ONE_TRIAL) {
        let folder = tempfile::tempdir().unwrap();
        let mut crowd = Crowd::gather(folder.path());
        for _ in 0..KILLS_IN_ONE_TRIAL {
            tokio::time::sleep(Duration::from_millis(5 + dice.below(60))).await;
            let index = usize::try_from(dice.below(crowd.roles.len() as u64)).unwrap();
            crowd.replace(index);
        }
        let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
        let begun = Instant::now();
        let records = loop {
            let records = records(&store).await;
            if records.len() == RUNS && records.values().all(|record| record.status.is_final()) {
                break records;
            }
            let left: Vec<_> = records.values().filter(|record| !record.status.is_final()).collect();
            assert!(
                begun.elapsed() < PATIENCE,
                "trial {trial}: of {} these are stuck: {left:#?}",
                records.len()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        drop(crowd);
        must_be_right(folder.path(), &records, trial);
        for record in records.values() {
            *statuses.entry(record.status.to_string()).or_default() += 1;
        }
    }
    println!("{kills} kills: {statuses:?}");
    assert!(statuses["completed"] > 0 && statuses.get("cancelled").is_some_and(|cancelled| *cancelled > 0));
}

fn must_be_right(folder: &Path, records: &BTreeMap<RunId, RunRecord>, trial: usize) {
    let mut keys: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("world")).unwrap_or_default().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        keys.entry((words[0].to_owned(), words[1].to_owned())).or_default().insert(words[2].to_owned());
    }
    for number in 0..RUNS {
        let record = &records[&run_id(number)];
        let done = |act: &str| keys.get(&(record.id.to_string(), act.to_owned())).map_or(0, BTreeSet::len);
        let acts = ["begin", "middle", "end"].map(done);
        let outcome = String::from_utf8_lossy(record.outcome.as_deref().unwrap_or_default()).into_owned();
        match record.status {
            RunStatus::Completed => {
                assert_eq!(acts, [1, 1, 1], "trial {trial}, {}: each act once", record.id);
                assert!(outcome.contains("\"letters\":[1,2]"), "trial {trial}, {}: {outcome}", record.id);
            }
            RunStatus::Cancelled => {
                assert_eq!(number % CANCELLED, 0, "trial {trial}: nobody has cancelled {}", record.id);
                assert!(acts.iter().all(|times| *times <= 1), "trial {trial}, {}: {acts:?}", record.id);
                assert!(outcome.contains("by the third"), "trial {trial}, {}: {outcome}", record.id);
            }
            status => panic!("trial {trial}: {} is {status}: {outcome}", record.id),
        }
    }
}
