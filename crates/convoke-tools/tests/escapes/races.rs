//! Escapes by races: a folder that becomes a link between two looks at it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::common::{Hands, SECRET};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_exchanged_for_a_link_never_leads_out() {
    let hands = Hands::new();
    hands.put("folder/secret.txt", "harmless");
    hands.put("folder/target.txt", "harmless");
    hands.link(hands.outside(""), "link");
    std::fs::write(hands.outside("target.txt"), "untouched").unwrap();
    let (folder, link) = (hands.inside("folder"), hands.inside("link"));
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let exchanging = std::thread::spawn(move || {
        let mut exchanges = 0_u64;
        while !told.load(Ordering::Relaxed) {
            renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            exchanges += 1;
        }
        exchanges
    });
    let (mut read, mut refused) = (0, 0);
    for _ in 0..1_500 {
        match hands.call("read", json!({"path": "folder/secret.txt"})).await {
            Ok(text) => {
                assert_eq!(text, "harmless");
                read += 1;
            }
            Err(words) => {
                assert!(words.contains("denied") && !words.contains(SECRET), "{words}");
                refused += 1;
            }
        }
        let _ = hands.call("write", json!({"path": "folder/target.txt", "content": "written"})).await;
        let _ = hands.call("write", json!({"path": "folder/new.txt", "content": "written"})).await;
        let _ = hands.call("rm", json!({"path": "folder/secret2.txt"})).await;
    }
    over.store(true, Ordering::Relaxed);
    let exchanges = exchanging.join().unwrap();
    assert!(exchanges > 0);
    assert!(
        read > 0 && refused > 0,
        "the race was not run: {read} read, {refused} refused, {exchanges} exchanges"
    );
    assert_eq!(std::fs::read_to_string(hands.outside("target.txt")).unwrap(), "untouched");
    assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
    assert!(!hands.outside("new.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_exchanged_for_a_link_is_never_followed() {
    let hands = Hands::new();
    hands.put("file.txt", "harmless");
    hands.link(hands.outside("secret.txt"), "link.txt");
    let (file, link) = (hands.inside("file.txt"), hands.inside("link.txt"));
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let exchanging = std::thread::spawn(move || {
        while !told.load(Ordering::Relaxed) {
            renameat_with(CWD, &file, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    for _ in 0..1_500 {
        match hands.call("read", json!({"path": "file.txt"})).await {
            Ok(text) => assert_eq!(text, "harmless"),
            Err(words) => assert!(words.contains("denied") && !words.contains(SECRET), "{words}"),
        }
        let found = hands.done("grep", json!({"pattern": "."})).await;
        assert!(!found.contains(SECRET), "{found}");
    }
    over.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
}
