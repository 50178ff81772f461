//! The proxy that commands reach other machines through.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../site/mod.rs"]
mod site;

mod asking;
mod clients;
mod decisions;
mod limits;
#[cfg(target_os = "linux")]
mod namespace;

use std::net::TcpListener;

use convoke_tools::network::{HostRules, Proxy, RunningProxy};
use convoke_tools::policy::Policy;
use site::Names;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A policy that lets commands reach hosts, with these lines in `[commands]`.
fn policy(lines: &str) -> Policy {
    Policy::parse(&format!("version = 1\n[commands]\nnetwork = \"hosts\"\n{lines}\n"), "policy.toml").unwrap()
}

/// Rules of such a policy, with these names.
fn rules(lines: &str, names: &Names) -> HostRules {
    HostRules::with_resolver([policy(lines)], names.clone())
}

/// Starts a proxy, and says where it listens.
fn started(proxy: Proxy) -> (RunningProxy, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (proxy.start([listener]).unwrap(), port)
}

/// Sends bytes to a proxy, and gives what comes back until it closes.
async fn talk(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is broken off has said what it had to say.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Asks a proxy for a page in plain http.
async fn get(port: u16, url: &str) -> String {
    talk(port, format!("GET {url} HTTP/1.1\r\nHost: else.where\r\n\r\n").as_bytes()).await
}

/// Asks a proxy for a tunnel by SOCKS; gives the code of its reply and the stream.
async fn socks(port: u16, host: &str, to: u16) -> (u8, TcpStream) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut way = [0; 2];
    stream.read_exact(&mut way).await.unwrap();
    assert_eq!(way, [5, 0]);
    let mut request = vec![5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
    request.extend_from_slice(host.as_bytes());
    request.extend_from_slice(&to.to_be_bytes());
    stream.write_all(&request).await.unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.unwrap();
    (reply[1], stream)
}
