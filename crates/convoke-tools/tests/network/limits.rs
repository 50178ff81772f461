//! Limits of connections, and their end.

use std::time::Duration;

use convoke_tools::network::{Proxy, ProxyLimits};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::site::{Names, Site, html};
use crate::{get, rules, socks, started, talk};

/// A listener that takes connections and says nothing, and rules that let it be reached.
async fn silent() -> (TcpListener, u16, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port, format!("hosts.allow = [\"127.0.0.1:{port}\"]"))
}

#[tokio::test]
async fn all_connections_end_with_the_proxy() {
    let (listener, to, lines) = silent().await;
    let (proxy, port) = started(Proxy::new(&rules(&lines, &Names::default())));
    let (code, mut client) = socks(port, "127.0.0.1", to).await;
    assert_eq!(code, 0);
    let (mut server, _) = listener.accept().await.unwrap();
    client.write_all(b"x").await.unwrap();
    assert_eq!(server.read_u8().await.unwrap(), b'x');
    drop(proxy);
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    let _ = server.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn connections_that_say_nothing_or_stand_still_are_ended() {
    let (listener, to, lines) = silent().await;
    let short = Duration::from_millis(50);
    let limits = ProxyLimits { head: short, idle: short, ..ProxyLimits::default() };
    let (_proxy, port) = started(Proxy::new(&rules(&lines, &Names::default())).limits(limits));
    for begun in [&b""[..], b"GET http://exa", &[5], &[5, 1, 0, 5, 1]] {
        assert!(!talk(port, begun).await.contains("200"));
    }
    let (code, mut client) = socks(port, "127.0.0.1", to).await;
    assert_eq!(code, 0);
    let accepted = listener.accept().await.unwrap();
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    drop(accepted);
}

#[tokio::test]
async fn heads_that_do_not_end_are_refused() {
    let (_proxy, port) = started(Proxy::new(&rules("", &Names::default())));
    let long = format!("GET http://example.com/ HTTP/1.1\r\nX: {}", "x".repeat(100_000));
    assert!(talk(port, long.as_bytes()).await.starts_with("HTTP/1.1 431"));
    let many = format!("GET http://example.com/ HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1_000));
    assert!(talk(port, many.as_bytes()).await.starts_with("HTTP/1.1 431"));
}

#[tokio::test]
async fn more_connections_than_there_is_room_for_wait_for_their_turn() {
    let site = Site::pages(&[("/", html("hello"))]).await;
    let (listener, to, _) = silent().await;
    let lines = format!("hosts.allow = [\"127.0.0.1:{to}\", \"127.0.0.1:{}\"]", site.port);
    let limits = ProxyLimits { connections: 1, ..ProxyLimits::default() };
    let (_proxy, port) = started(Proxy::new(&rules(&lines, &Names::default())).limits(limits));
    let (_, first) = socks(port, "127.0.0.1", to).await;
    let second = tokio::spawn(async move { get(port, &site.url("/")).await });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    drop((first, listener));
    assert!(second.await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn a_request_passes_on_its_own_body_and_nothing_after_it() {
    let site = Site::pages(&[("/", html("hello"))]).await;
    let (_proxy, port) = started(Proxy::new(&rules(
        &format!("hosts.allow = [\"127.0.0.1:{}\"]", site.port),
        &Names::default(),
    )));
    let url = site.url("/");
    let sent = format!(
        "POST {url} HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyGET http://other.example/ HTTP/1.1\r\n\r\n"
    );
    assert!(talk(port, sent.as_bytes()).await.ends_with("hello"));
    assert!(site.requests()[0].ends_with("\r\n\r\nbody"), "{:?}", site.requests());
}

#[tokio::test]
async fn socks_says_what_it_does_not_do() {
    let (_proxy, port) = started(Proxy::new(&rules("hosts.default = \"allow\"", &Names::default())));
    // Only with a password.
    assert_eq!(talk(port, &[5, 1, 2]).await.as_bytes(), String::from_utf8_lossy(&[5, 0xff]).as_bytes());
    let bind = [5, 1, 0, 5, 2, 0, 1, 1, 2, 3, 4, 0, 80];
    assert_eq!(talk(port, &bind).await.as_bytes()[..4], [5, 0, 5, 7]);
    let other_address = [5, 1, 0, 5, 1, 0, 9];
    assert_eq!(talk(port, &other_address).await.as_bytes()[..4], [5, 0, 5, 8]);
    assert_eq!(socks(port, "unknown.example", 80).await.0, 4);
    assert_eq!(socks(port, "not a host", 80).await.0, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_bytes_bring_the_proxy_down(garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..80), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let site = Site::pages(&[("/", html("hello"))]).await;
            let lines = format!("hosts.allow = [\"127.0.0.1:{}\"]", site.port);
            let limits = ProxyLimits { head: Duration::from_millis(20), ..ProxyLimits::default() };
            let (_proxy, port) = started(Proxy::new(&rules(&lines, &Names::default())).limits(limits));
            for bytes in &garbage {
                let told = talk(port, bytes).await;
                assert!(!told.starts_with("HTTP/1.1 200"), "{told}");
                talk(port, &[&[5, 1, 0, 5, 1, 0][..], bytes].concat()).await;
            }
            assert!(get(port, &site.url("/")).await.ends_with("hello"));
        });
    }
}
