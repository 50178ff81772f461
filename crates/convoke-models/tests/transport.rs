//! Tests of the real transport against a real server.

use crate::server::{Answer, Server};
use convoke_models::Transport;
use convoke_models::http::{HttpRequest, HttpTransport, TransportFailure};
use futures_util::TryStreamExt;
use http::{HeaderMap, Method};
use serde_json::json;

fn request(url: &str) -> HttpRequest {
    HttpRequest {
        method: Method::POST,
        url: url.to_owned(),
        headers: HeaderMap::new(),
        body: json!({"ask": 1}).to_string().into(),
    }
}

#[tokio::test]
async fn a_reply_comes_with_status_headers_and_body() {
    let server = Server::start([Answer::json(200, json!({"ok": true})).header("x-request-id", "r1")]).await;
    let transport = HttpTransport::shared();
    let reply = transport.send(request(&format!("{}/path", server.url))).await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.headers["x-request-id"].to_str().unwrap()), (200, "r1"));
    let body: Vec<_> = reply.body.try_collect().await.unwrap();
    assert_eq!(body.concat(), b"{\"ok\":true}");
    assert_eq!((server.last().path.as_str(), server.last().body["ask"].as_i64()), ("/path", Some(1)));
}

#[tokio::test]
async fn a_reply_that_sends_elsewhere_is_given_as_it_came() {
    let server = Server::start([Answer::json(307, json!({})).header("location", "/elsewhere")]).await;
    let reply = HttpTransport::shared().send(request(&server.url)).await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.headers["location"].to_str().unwrap()), (307, "/elsewhere"));
    assert_eq!(server.asked().len(), 1);
}

/// Runs itself again with a proxy set, because the environment of a process is all its threads'.
#[tokio::test]
async fn this_machine_is_reached_without_the_proxy_and_all_others_through_it() {
    const INSIDE: &str = "CONVOKE_TEST_BEHIND_PROXY";
    let Ok(proxied) = std::env::var(INSIDE) else {
        let proxy = Server::start([Answer::json(200, json!({"proxied": true}))]).await;
        let test = "transport::this_machine_is_reached_without_the_proxy_and_all_others_through_it";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", test]).env(INSIDE, &proxy.url).env_remove("NO_PROXY").env_remove("no_proxy");
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            again.env(name, &proxy.url);
        }
        let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let asked: Vec<_> = proxy.asked().into_iter().map(|asked| asked.path).collect();
        assert_eq!(asked, ["http://elsewhere.invalid/path"]);
        return;
    };
    assert!(!proxied.is_empty());
    let server = Server::start([Answer::json(204, json!({}))]).await;
    let transport = HttpTransport::shared();
    for name in ["127.0.0.1", "localhost"] {
        let url = server.url.replace("127.0.0.1", name);
        assert_eq!(transport.send(request(&url)).await.unwrap().status.as_u16(), 204, "{name}");
    }
    let reply = transport.send(request("http://elsewhere.invalid/path")).await.unwrap();
    assert_eq!(reply.status.as_u16(), 200);
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_an_error_and_not_an_end() {
    let server = Server::start([Answer::events(["one"]).cut()]).await;
    let reply = HttpTransport::shared().send(request(&server.url)).await.unwrap();
    let error = reply.body.try_collect::<Vec<_>>().await.unwrap_err();
    assert_eq!(error.failure, TransportFailure::Broken);
}

#[tokio::test]
async fn nobody_there_is_a_failure_to_connect_that_names_the_place_but_no_password() {
    // Bound, so that nobody else gets the port, and not listening.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let url = format!("http://user:secret-word@127.0.0.1:{port}/v1");
    let error = HttpTransport::shared().send(request(&url)).await.unwrap_err();
    assert_eq!(error.failure, TransportFailure::Connect);
    assert!(error.message.contains(&format!("127.0.0.1:{port}")), "{error}");
    assert!(!error.message.contains("secret-word"), "{error}");
}
