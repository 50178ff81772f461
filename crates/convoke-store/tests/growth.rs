//! The size of a store's file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use bytes::Bytes;
use common::new_run;
use convoke_core::store::Batch;
use convoke_core::{Blob, Digest, Store};
use convoke_store::SqliteStore;

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
