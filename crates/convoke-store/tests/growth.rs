//! The size of a store's file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use bytes::Bytes;
use common::new_run;
use convoke_core::store::{Batch, NewRun};
use convoke_core::{Blob, Digest, Launch, Store};
use convoke_store::SqliteStore;
use serde_json::{Value, json};

/// A run of so many prompts, each of which says everything that those before it did, and ten bytes more.
async fn bytes_of(prompts: usize) -> (u64, usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(new_run("chain")).await.unwrap();
    let (mut prior, mut said, mut digests) = (String::new(), 0, Vec::new());
    for number in 0..prompts {
        let prompt = format!("<context>{prior}</context><goal id=\"goal-{number}\">Do part {number}</goal>");
        let content = Bytes::from(prompt);
        said += content.len();
        let digest = Digest::of_parts(&[&content]);
        digests.push((digest, content.clone()));
        let blobs = vec![Blob { digest, content }];
        store.append(&lease, Batch { blobs, ..Batch::default() }).await.unwrap();
        prior.push_str(&format!("<output of=\"goal-{number}\">done {number:05}</output>\n"));
    }
    let wanted: Vec<Digest> = digests.iter().map(|(digest, _)| *digest).collect();
    let found = store.blobs(&lease.run, &wanted).await.unwrap();
    assert!(digests.iter().all(|(digest, content)| found[digest] == *content), "everything comes back");
    drop(store);
    (file.metadata().unwrap().len(), said)
}

#[tokio::test]
async fn prompts_that_repeat_all_earlier_outputs_cost_what_is_new_in_them() {
    let (of_100, _) = bytes_of(100).await;
    let (of_1000, said) = bytes_of(1_000).await;
    assert!(said > 20_000_000, "{said} bytes were said");
    assert!(of_1000 < 3_000_000, "{of_1000} bytes for 1,000 prompts");
    assert!(of_1000 < of_100 * 16, "ten times as many prompts: {of_100} bytes, then {of_1000}");
}

/// Bytes of a store with a run that was started with this, and makes a request with these tools.
async fn bytes_with(launch: Launch, tools: &Value) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).unwrap();
    let lease = store.create(NewRun { launch, ..new_run("tools") }).await.unwrap();
    let content = Bytes::from(serde_json::to_vec(&json!({"params": {}, "tools": tools})).unwrap());
    let blobs = vec![Blob { digest: Digest::of_parts(&[&content]), content }];
    store.append(&lease, Batch { blobs, ..Batch::default() }).await.unwrap();
    drop(store);
    file.metadata().unwrap().len()
}

#[tokio::test]
async fn tools_that_a_run_was_started_with_cost_nothing_more_in_its_requests() {
    let tool = |number: u64| {
        let words: Vec<String> =
            (0..90).map(|word| format!("{:x}", (number * 1_000 + word).wrapping_mul(0x9e37_79b9))).collect();
        json!({"name": format!("tool_{number}"), "description": words.join(" "), "parameters": {"type": "object"}})
    };
    let tools: Value = (0..64).map(tool).collect();
    let said = tools.to_string().len() as u64;
    let without = bytes_with(Launch::default(), &tools).await;
    let with = bytes_with(Launch::default().host(json!({"file": "NAME x", "tools": tools})), &tools).await;
    assert!(with - without < said / 4, "{said} bytes of tools: {without} bytes, then {with}");
}
