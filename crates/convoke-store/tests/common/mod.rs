//! What several of these tests need: things to store, and a second process.

#![allow(dead_code, unreachable_pub, reason = "every test takes what it needs")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use convoke_core::store::{Batch, NewRun};
use convoke_core::{Digest, EffectKind, Entry, Labels, Path, Phase, RunId, Timestamp};

pub fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub fn new_run(text: &str) -> NewRun {
    NewRun {
        id: id(text),
        workflow: "sample".to_owned(),
        version: 1,
        input: Bytes::from_static(b"{}"),
        outline: None,
        launch: Default::default(),
        seed: 7,
        forked_from: None,
        past: Batch::default(),
    }
}

pub fn entry(seq: u64) -> Entry {
    Entry {
        seq,
        path: Path::from("main/step"),
        ordinal: 0,
        effect: EffectKind::Custom,
        phase: Phase::Finished,
        digest: Digest::of_parts(&[&seq.to_le_bytes()]),
        at: Timestamp::from_micros(1_700_000_000_000_000),
        request: None,
        outcome: Some(Bytes::from(format!("{{\"ok\":{seq}}}"))),
        labels: Labels::new(),
    }
}

pub fn batch(seqs: impl IntoIterator<Item = u64>) -> Batch {
    Batch { entries: seqs.into_iter().map(entry).collect(), ..Batch::default() }
}

/// Tells a second process what to work on. Set, the test named by [`second_process`] plays its part in it.
pub const ROLE: &str = "CONVOKE_STORE_TEST_FILE";

/// Starts this test program again, for one of its tests alone.
pub fn second_process(test: &str, file: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a second process says, line by line, without what the test harness says.
pub fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.split_once("say: ").map(|(_, said)| said.to_owned()))
}

/// Says something to the process that started this one.
pub fn say(text: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    // One call, so that a kill cannot cut the line in two.
    out.write_all(format!("say: {text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}
