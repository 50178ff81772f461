//! Tests of servers that misbehave: nonsense, too much output, no reaction, changes, equal names, dropped connections.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::time::Duration;

use common::{Log, call, calling, fake, started, until_gone};
use convoke_core::{Canceller, Runtime};
use convoke_mcp::{McpServers, Protocol, ServerStatus};
use serde_json::json;

#[tokio::test]
async fn a_server_that_talks_nonsense_in_between_is_understood() {
    for options in [&["--garbage"][..], &["--garbage", "--stateless"]] {
        let config = fake("srv").args(options.iter().copied()).protocol(Protocol::Auto);
        let servers = started([config]).await;
        assert_eq!(servers.tools::<String>([]).len(), 18);
        for _ in 0..3 {
            let given = call(&servers, "srv", "echo", json!({"text": "hi"})).await;
            assert_eq!(given, ("hi".into(), false), "{options:?}");
        }
        assert!(matches!(servers.reports()[0].status, ServerStatus::Ready { .. }), "{options:?}");
    }
}

#[tokio::test]
async fn a_result_that_is_too_long_is_a_failure_and_not_kept() {
    let servers = started([fake("srv").args(["--more"])]).await;
    let (content, failed) = call(&servers, "srv", "huge", json!({"bytes": 1 << 20})).await;
    assert!(!failed && content.len() == 1 << 20, "as long as it may be");
    let (content, failed) = call(&servers, "srv", "huge", json!({"bytes": (1 << 20) + 1})).await;
    assert!(failed && content.contains("1048577 bytes, more than the 1048576"), "{content:.200}");
    // More than a line may have is not even kept: nobody's memory is filled, and the call has no answer.
    let servers = started([fake("srv").args(["--more"]).timeout(Duration::from_secs(3))]).await;
    let (content, failed) = call(&servers, "srv", "huge", json!({"bytes": 17 << 20})).await;
    assert!(failed && content.contains("3s"), "{content:.200}");
    // What comes after it is heard, when that has been passed over.
    while call(&servers, "srv", "echo", json!({"text": "hi"})).await != ("hi".into(), false) {}
    assert!(matches!(servers.reports()[0].status, ServerStatus::Ready { .. }));
}

#[tokio::test]
async fn a_server_that_hears_nothing_any_more_keeps_nobody() {
    let servers = started([fake("srv").args(["--more"]).timeout(Duration::from_secs(3))]).await;
    let (process, failed) = call(&servers, "srv", "deaf", json!({})).await;
    assert!(!failed && common::is_running(&process), "{process}");
    // More than fits into a pipe.
    let text = "x".repeat(1 << 20);
    let (content, failed) = call(&servers, "srv", "echo", json!({"text": text})).await;
    assert!(failed && content.contains("3s"), "{content:.200}");
    servers.close().await;
    until_gone(&process).await;
}

#[tokio::test]
async fn tools_change_while_calls_are_under_way() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    let (canceller, runtime) = (Canceller::new(), Runtime::new());
    let waiting = calling(&servers, "srv", "slow", json!({})).await;
    let slow = runtime.start(&waiting, None).canceller(&canceller);
    let change = async {
        log.until(|message| message["params"]["name"] == "slow").await;
        call(&servers, "srv", "grow", json!({})).await;
        while !servers.refresh().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let new = call(&servers, "srv", "new", json!({})).await;
        canceller.cancel("enough");
        new
    };
    let (slow, new) = tokio::join!(slow, change);
    assert_eq!(new, ("new".into(), false));
    assert!(slow.unwrap().error.unwrap().to_string().contains("enough"), "it was still under way");
    let connections = log.methods().iter().filter(|method| *method == "initialize").count();
    assert_eq!(connections, 1);
}

#[tokio::test]
async fn names_that_no_model_may_use_are_written_otherwise_and_found_again() {
    let odd = ["fetch page!", "käse/brot", "a.b", "a:b", "", "\u{1b}[31mred\n"];
    let log = Log::new();
    let options = odd.iter().flat_map(|name| ["--only", name]);
    let servers = started([log.of(fake("srv").args(options))]).await;
    let table = servers.table::<String>([]);
    let named: Vec<&str> = table.iter().map(|row| row.tool.as_str()).collect();
    assert_eq!(named, odd);
    let legal = |name: &str| {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        name.len() <= convoke_mcp::MAX_NAME_LENGTH && name.chars().all(fits)
    };
    assert!(table.iter().all(|row| legal(&row.exposed)), "{table:?}");
    let exposed: std::collections::BTreeSet<&str> = table.iter().map(|row| row.exposed.as_str()).collect();
    assert_eq!(exposed.len(), odd.len(), "{exposed:?}");
    for name in odd {
        assert_eq!(call(&servers, "srv", name, json!({})).await, (format!("called {name}"), false));
    }
}

#[tokio::test]
async fn two_servers_with_the_same_tool_are_told_apart() {
    let (one, other, third) = (Log::new(), Log::new(), Log::new());
    let only = |name: &str| fake(name).args(["--only", "echo"]);
    let servers = started([one.of(only("a.b")), other.of(only("a_b")), third.of(only("c"))]).await;
    let names: Vec<String> = servers.table::<String>([]).into_iter().map(|row| row.exposed).collect();
    assert_eq!((names[0].as_str(), names[2].as_str()), ("mcp_a_b_echo", "mcp_c_echo"));
    assert!(names[1].starts_with("mcp_a_b_echo_"), "{names:?}");
    for (server, log) in [("a.b", &one), ("a_b", &other), ("c", &third)] {
        assert_eq!(call(&servers, server, "echo", json!({"text": server})).await.0, server);
        let heard: Vec<_> =
            log.messages().into_iter().filter(|message| message["method"] == "tools/call").collect();
        assert_eq!(heard.len(), 1, "{server}");
        assert_eq!(heard[0]["params"]["arguments"]["text"], server);
    }
}

#[tokio::test]
async fn a_call_under_way_ends_when_the_servers_are_let_go_of() {
    let log = Log::new();
    let servers = started([log.of(fake("srv"))]).await;
    let (runtime, waiting) = (Runtime::new(), calling(&servers, "srv", "slow", json!({})).await);
    let slow = async { runtime.start(&waiting, None).await.unwrap().completed().unwrap().unwrap() };
    let let_go = async {
        log.until(|message| message["params"]["name"] == "slow").await;
        drop(servers);
    };
    let (slow, ()) = tokio::join!(slow, let_go);
    assert_eq!(slow, ("MCP server `srv` is closed".into(), true));
}

#[tokio::test]
async fn what_a_server_was_given_is_not_repeated_in_what_goes_wrong() {
    let config = fake("srv").args(["--more"]).inherit("LENT").variable("AUTH", "Bearer ${THE_KEY}");
    let variables = |name: &str| match name {
        "PATH" => std::env::var(name).ok(),
        "LENT" => Some("a-lent-secret".to_owned()),
        "THE_KEY" => Some("a-looked-up-secret".to_owned()),
        _ => None,
    };
    let servers = McpServers::builder().server(config).variables(variables).start().await.unwrap();
    let (content, _) = call(&servers, "srv", "betray", json!({"name": "LENT"})).await;
    assert!(content.contains("wrong key: (hidden)"), "{content}");
    for name in ["LENT", "AUTH"] {
        let (content, _) = call(&servers, "srv", "die_saying", json!({"name": name})).await;
        assert!(content.contains("It wrote: dying of (hidden)"), "{name}: {content}");
    }
    let ServerStatus::Down { problem } = servers.reports()[0].status.clone() else { panic!("it died") };
    assert!(problem.to_string().contains("it went away. It wrote: dying of (hidden)"), "{problem}");
}

#[tokio::test]
async fn neither_addresses_nor_answers_give_a_key_away() {
    let key = |name: &str| (name == "KEY").then(|| "a-very-secret-key".to_owned());
    let web = common::Web::start(&["--betray"]).await;
    // Nobody listens at the first.
    for url in ["http://127.0.0.1:1/mcp?key=${KEY}", &format!("{}?key=${{KEY}}", web.url)] {
        for protocol in [Protocol::Auto, Protocol::Initialize] {
            let config = convoke_mcp::ServerConfig::http("web", url)
                .header("Authorization", "Bearer ${KEY}")
                .protocol(protocol);
            let servers = McpServers::builder().server(config).variables(key).start().await.unwrap();
            let [warning] = &servers.warnings()[..] else { panic!("one warning") };
            assert!(!warning.contains("a-very-secret-key"), "{warning}");
        }
    }
}

#[tokio::test]
async fn of_tools_of_which_one_cannot_be_read_only_that_one_is_left_out_and_named() {
    for options in [
        &["--unreadable", "odd"][..],
        &["--unreadable", "odd", "--stateless"],
        &["--unreadable", "odd", "--pages"],
    ] {
        let config = fake("srv").args(options.iter().copied()).protocol(Protocol::Auto);
        let servers = McpServers::builder().server(config).start().await.unwrap();
        assert_eq!(servers.tools::<String>([]).len(), 18, "{options:?}");
        let warnings = servers.warnings();
        let [warning] = &warnings[..] else { panic!("{options:?}: {warnings:?}") };
        assert!(warning.contains("`srv` has a tool `odd` that is left out"), "{warning}");
        assert_eq!(call(&servers, "srv", "echo", json!({"text": "hi"})).await, ("hi".into(), false));
    }
}
