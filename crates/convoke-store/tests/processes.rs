//! Several processes use one file: a run has one writer among all of them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead, Write};

use common::{ROLE, batch, id, lines, new_run, say, second_process};
use convoke_core::store::{NewMail, OnBusy};
use convoke_core::{Store, StoreError, Timestamp};
use convoke_store::SqliteStore;
use futures_util::StreamExt;

/// The other process: does what it is told, and says what came of it.
#[tokio::test]
async fn the_second_process_obeys() {
    let Ok(file) = std::env::var(ROLE) else { return };
    let store = SqliteStore::open(file).unwrap();
    let run = id("shared");
    let mut lease = None;
    say("ready");
    for order in std::io::stdin().lock().lines() {
        match order.unwrap().as_str() {
            "claim" => match store.claim(&run, OnBusy::Refuse).await {
                Ok(claimed) => {
                    say(format!("claimed {}", claimed.epoch));
                    lease = Some(claimed);
                }
                Err(error) => say(format!("refused {error:?}")),
            },
            "append" => {
                let lease = lease.as_mut().unwrap();
                let result = store.append(lease, batch([lease.next_seq])).await;
                say(format!("{result:?}"));
                lease.next_seq += 1;
            }
            "post" => {
                let mail = NewMail::json("letters", &1).unwrap();
                say(store.post(&run, mail).await.unwrap().is_new);
            }
            "release" => store.release(lease.as_ref().unwrap()),
            "close" => return,
            order => panic!("unknown order {order}"),
        }
    }
}

struct Other {
    child: std::process::Child,
    said: Box<dyn Iterator<Item = String>>,
}

impl Other {
    fn start(file: &std::path::Path) -> Self {
        let mut child = second_process("the_second_process_obeys", file);
        let mut said = lines(&mut child);
        assert_eq!(said.next().as_deref(), Some("ready"));
        Self { child, said: Box::new(said) }
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{order}").unwrap();
    }

    fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.said.next().unwrap()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn a_run_taken_over_by_another_process_is_closed_to_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let ours = store.create(new_run("shared")).await.unwrap();
    store.append(&ours, batch([1])).await.unwrap();

    let mut other = Other::start(&file);
    let refused = other.ask("claim");
    assert!(refused.starts_with("refused Busy"), "we are alive: {refused}");
    store.release(&ours);
    // Through the same handle, so it comes after the release.
    assert_eq!(store.delete(&id("nothing")).await, Ok(false));
    assert_eq!(other.ask("claim"), "claimed 2");
    assert_eq!(other.ask("append"), "Ok(())");

    let busy = store.claim(&ours.run, OnBusy::Refuse).await.unwrap_err();
    assert!(
        matches!(&busy, StoreError::Busy { holder, .. } if holder.contains(&other.child.id().to_string()))
    );
    assert!(matches!(store.delete(&ours.run).await, Err(StoreError::Busy { .. })));
    let fenced = StoreError::Fenced { run: ours.run.clone(), ours: 1, current: 2 };
    assert_eq!(store.append(&ours, batch([2])).await, Err(fenced));

    let ours = store.claim(&ours.run, OnBusy::TakeOver).await.unwrap();
    assert_eq!((ours.epoch, ours.next_seq), (3, 3));
    assert!(other.ask("append").contains("Fenced"), "now the other one is too late");
    store.append(&ours, batch([3])).await.unwrap();
    other.kill();
    let seqs: Vec<u64> =
        store.entries(&ours.run, 1, 9).await.unwrap().iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

#[tokio::test]
async fn the_run_of_a_killed_process_can_be_claimed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    store.release(&store.create(new_run("shared")).await.unwrap());
    assert_eq!(store.delete(&id("nothing")).await, Ok(false));
    let mut other = Other::start(&file);
    assert_eq!(other.ask("claim"), "claimed 2");
    other.kill();
    let lease = store.claim(&id("shared"), OnBusy::Refuse).await.unwrap();
    assert_eq!(lease.epoch, 3);
}

#[tokio::test]
async fn a_process_that_closes_its_store_gives_its_leases_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("shared")).await.unwrap();
    let ticket = store.append(&lease, batch(1..=50));
    drop(store);
    assert_eq!(ticket.await, Ok(()), "dropping the store writes what is queued first");
    let mut other = Other::start(&file);
    assert_eq!(other.ask("claim"), "claimed 2", "although this process is alive");
    other.tell("close");
    assert!(other.child.wait().unwrap().success());
}

#[tokio::test]
async fn a_lease_of_another_host_holds_as_long_as_it_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let theirs = store.create(new_run("shared")).await.unwrap();
    store.append(&theirs, batch([1])).await.unwrap();
    // As if this handle were on another machine.
    let elsewhere = |until: Timestamp| {
        let raw = rusqlite::Connection::open(&file).unwrap();
        raw.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        raw.execute("UPDATE runs SET holder = '7 1-0 1 another-machine'", []).unwrap();
        let row = ("7 1-0 1 another-machine", until.as_micros());
        raw.execute("INSERT OR REPLACE INTO holders (holder, until) VALUES (?1, ?2)", row).unwrap();
    };
    elsewhere(Timestamp::now() + std::time::Duration::from_secs(60));
    let other = SqliteStore::open(&file).unwrap();
    let busy = other.claim(&theirs.run, OnBusy::Refuse).await.unwrap_err();
    assert!(matches!(&busy, StoreError::Busy { holder, .. } if holder.contains("another-machine")), "{busy}");
    assert!(other.run(&theirs.run).await.unwrap().unwrap().holder.is_some());
    elsewhere(Timestamp::now());
    assert_eq!(other.run(&theirs.run).await.unwrap().unwrap().holder, None, "it was not renewed");
    let ours = other.claim(&theirs.run, OnBusy::Refuse).await.unwrap();
    assert_eq!(ours.epoch, 2);
    let lost = store.append(&theirs, batch([2])).await.unwrap_err();
    assert!(matches!(lost, StoreError::Fenced { ours: 1, current: 2, .. }), "{lost}");
}

#[tokio::test]
async fn whoever_holds_a_run_says_until_when_and_says_so_no_longer_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("shared")).await.unwrap();
    let held = || {
        let raw = rusqlite::Connection::open(&file).unwrap();
        let sql = "SELECT until FROM runs JOIN holders USING (holder)";
        raw.query_row(sql, [], |row| row.get::<_, i64>(0)).ok().map(Timestamp::from_micros)
    };
    assert!(held().is_some_and(|until| until > Timestamp::now()));
    store.append(&lease, batch([1])).await.unwrap();
    drop(store);
    assert_eq!(held(), None);
}

#[tokio::test]
async fn mail_of_another_process_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("shared")).await.unwrap();
    let mut other = Other::start(&file);
    let (mut watch, mut reading) =
        (store.watch(Some(&lease.run)), SqliteStore::open_read_only(&file).unwrap().watch(Some(&lease.run)));
    let mail = || store.mail(&lease.run, "letters", 0, 9);
    assert_eq!(mail().await.unwrap(), []);
    assert_eq!(other.ask("post"), "true");
    while mail().await.unwrap().is_empty() {
        watch.next().await.unwrap();
    }
    reading.next().await.unwrap();
}

#[test]
fn many_processes_can_make_the_same_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let children: Vec<_> = (0..6).map(|_| second_process("the_second_process_obeys", &file)).collect();
    for mut child in children {
        drop(child.stdin.take());
        assert_eq!(lines(&mut child).collect::<Vec<_>>(), ["ready"]);
        assert!(child.wait().unwrap().success());
    }
}

#[tokio::test]
async fn two_handles_of_one_process_know_of_each_others_leases() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let (one, two) = (SqliteStore::open(&file).unwrap(), SqliteStore::open(&file).unwrap());
    let lease = one.create(new_run("shared")).await.unwrap();
    assert!(matches!(two.claim(&lease.run, OnBusy::Refuse).await, Err(StoreError::Busy { .. })));
    drop(one);
    assert_eq!(two.claim(&lease.run, OnBusy::Refuse).await.unwrap().epoch, 2);
}
