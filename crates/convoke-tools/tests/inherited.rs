//! Handles that this process hands on to whatever it starts. Alone in its file: the other tests must not inherit them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::os::fd::AsRawFd;

use common::{SECRET, with_bash};
use serde_json::json;

/// A folder that was opened before a command's namespace was made has no covers in it.
#[tokio::test]
async fn an_inherited_folder_is_no_way_past_what_covers_a_secret() {
    let hands = with_bash(|sandbox| sandbox);
    hands.put("conf/.env", SECRET);
    let folder = std::fs::File::open(hands.inside("conf")).unwrap();
    // A copy like this one ends with nothing.
    let inherited = rustix::io::dup(&folder).unwrap();
    let command = format!("cat /proc/self/fd/{}/.env", inherited.as_raw_fd());
    match hands.call("bash", json!({"command": command})).await {
        Ok(result) => assert!(!result.contains(SECRET) && !result.ends_with("Exit code: 0"), "{result}"),
        Err(words) => common::skipped("an_inherited_folder_is_no_way_past_what_covers_a_secret", &words),
    }
}
