//! Tests of cassettes against a scripted server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::server::{Answer, Server};
use bytes::Bytes;
use convoke_core::Reality;
use convoke_models::cassette::{Cassette, CassetteError, OnUnrecorded};
use convoke_models::http::{HttpReply, HttpRequest, HttpTransport, TransportError, TransportFailure};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings, Transport};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

const KEY: &str = "sk-very-secret-0815";

fn post(url: &str, body: &Value) -> HttpRequest {
    let mut headers = HeaderMap::new();
    let mut key = HeaderValue::from_str(&format!("Bearer {KEY}")).unwrap();
    key.set_sensitive(true);
    headers.insert("authorization", key);
    HttpRequest { method: Method::POST, url: url.to_owned(), headers, body: body.to_string().into() }
}

fn ask(server: &str, text: &str) -> HttpRequest {
    post(
        &format!("{server}/v1/messages"),
        &json!({"model": "m", "messages": [{"role": "user", "content": text}]}),
    )
}

/// What a body consists of, up to its end or its first error.
async fn pieces(reply: HttpReply) -> Vec<Result<Bytes, TransportError>> {
    reply.body.collect().await
}

/// The pieces of a reply that is whole.
async fn whole(transport: &dyn Transport, request: HttpRequest) -> Vec<String> {
    let reply = transport.send(request).await.unwrap();
    let pieces = pieces(reply).await.into_iter().map(Result::unwrap);
    pieces.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
}

async fn miss(transport: &dyn Transport, request: HttpRequest) -> String {
    let error = transport.send(request).await.unwrap_err();
    assert_eq!(error.failure, TransportFailure::NotRecorded);
    assert!(!error.message.contains(KEY), "{error}");
    error.message
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/down/tape.json");
    (folder, path)
}

fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(!text.contains(KEY), "{text}");
    text
}

fn live() -> Arc<dyn Transport> {
    HttpTransport::shared()
}

/// Where nobody listens and nobody must be asked.
const NOWHERE: &str = "http://127.0.0.1:1";

#[tokio::test]
async fn the_file_can_be_read_by_people() {
    let (_folder, path) = place();
    let events = vec![
        "event: start\ndata: {\"type\":\"start\",\"id\":1.50}\n\n: a comment\n\n".to_owned(),
        "data: {\"z\":1, \"a\":\"ü\"}\n\ndata: two\ndata: lines\n\n".to_owned(),
        "data: [DONE]".to_owned(),
    ];
    let server = Server::start([
        Answer::new(200, "text/event-stream", events)
            .header("x-request-id", "r1")
            .header("set-cookie", "a=b"),
        Answer::json(429, json!({"error": {"message": "slow down"}})).header("retry-after", "7"),
    ])
    .await;
    let cassette = Cassette::record(&path, live());
    whole(&cassette, ask(&server.url, "Hello")).await;
    let url = format!("{}/v1/list?key={KEY}&page=2", server.url.replace("//", "//user:word@"));
    let request = HttpRequest { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new() };
    whole(&cassette, request).await;
    let text = read(&path).replace(&server.url, "http://server");
    assert_eq!(
        text,
        r#"{
  "cassette": 1,
  "exchanges": [
    {
      "request": {
        "method": "POST",
        "url": "http://server/v1/messages",
        "json": {"messages": [{"content": "Hello", "role": "user"}], "model": "m"}
      },
      "reply": {
        "status": 200,
        "headers": {
          "content-type": "text/event-stream",
          "x-request-id": "r1"
        },
        "events": [
          {"event": "start", "json": {"type":"start","id":1.50}},
          {"json": {"z":1, "a":"ü"}},
          {"joined": true, "text": "two\nlines"},
          {"text": "[DONE]"}
        ]
      }
    },
    {
      "request": {
        "method": "GET",
        "url": "http://server/v1/list?key=(hidden)&page=2"
      },
      "reply": {
        "status": 429,
        "headers": {
          "content-type": "application/json",
          "retry-after": "7"
        },
        "json": {"error": {"message": "slow down"}}
      }
    }
  ]
}
"#
    );
}

#[tokio::test]
async fn what_comes_back_is_what_came() {
    let (_folder, path) = place();
    let sent = vec![
        "event: start\ndata: {\"b\":1.50,\"a\":null}\n\n".to_owned(),
        "data: {\"z\":1, \"a\":\"ü\"}\n\ndata: two\ndata: lines\n\n".to_owned(),
        "data: null\n\n".to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ];
    let lines = [json!({"done": false}), json!({"done": true})];
    let server = Server::start([
        Answer::new(200, "text/event-stream; charset=utf-8", sent.clone()).header("request-id", "r1"),
        Answer::lines(lines.clone()),
        Answer::new(200, "application/json", vec!["{\n \"z\": 1.50, \"a\": ".into(), "[ ]}".into()]),
        Answer::new(503, "text/plain", vec!["  busy\n".into()]),
        Answer::new(204, "text/plain", vec![]),
    ])
    .await;
    let cassette = Cassette::record(&path, live());
    for text in ["events", "lines", "document", "text", "nothing"] {
        whole(&cassette, ask(&server.url, text)).await;
    }
    assert_eq!(server.asked().len(), 5);

    let cassette = Cassette::replay(&path).unwrap();
    let reply = cassette.send(ask(NOWHERE, "events")).await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.headers["request-id"].to_str().unwrap()), (200, "r1"));
    assert_eq!(reply.headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(pieces(reply).await, sent.into_iter().map(|piece| Ok(piece.into())).collect::<Vec<_>>());
    let expected: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(whole(&cassette, ask(NOWHERE, "lines")).await, expected);
    assert_eq!(whole(&cassette, ask(NOWHERE, "document")).await, [r#"{"z":1.50,"a":[]}"#]);
    let reply = cassette.send(ask(NOWHERE, "text")).await.unwrap();
    assert_eq!(reply.status.as_u16(), 503);
    assert_eq!(pieces(reply).await, [Ok("  busy\n".into())]);
    assert_eq!(whole(&cassette, ask(NOWHERE, "nothing")).await, [""; 0]);
    assert_eq!(server.asked().len(), 5, "nobody was asked again");
}

#[tokio::test]
async fn events_cut_anywhere_come_back_whole() {
    let (_folder, path) = place();
    let cuts = ["data: {\"a\":", "\"", "ü\"}\r", "\n\r\ndata: 2", "\n\n"];
    let server =
        Server::start([Answer::new(200, "text/event-stream", cuts.map(str::to_owned).to_vec())]).await;
    whole(&Cassette::record(&path, live()), ask(&server.url, "x")).await;
    let replayed = whole(&Cassette::replay(&path).unwrap(), ask(NOWHERE, "x")).await;
    assert_eq!(replayed, ["data: {\"a\":\"ü\"}\n\n", "data: 2\n\n"]);
}

#[tokio::test]
async fn bytes_that_are_no_text_come_back_too() {
    /// Answers with bytes.
    #[derive(Debug)]
    struct Raw;
    impl Transport for Raw {
        fn send<'a>(
            &'a self,
            _: HttpRequest,
        ) -> convoke_core::BoxFuture<'a, Result<HttpReply, TransportError>> {
            let pieces =
                [Bytes::from_static(b"\xff\x00"), format!("{KEY}!").into(), Bytes::from_static(b"\x80")];
            let body = Box::pin(futures_util::stream::iter(pieces.map(Ok)));
            let reply = HttpReply { status: http::StatusCode::OK, headers: HeaderMap::new(), body };
            Box::pin(async { Ok(reply) })
        }
    }
    let (_folder, path) = place();
    let mut request = ask(NOWHERE, "x");
    request.body = [b"\xfe\xed", KEY.as_bytes()].concat().into();
    let recorded = Cassette::record(&path, Arc::new(Raw)).send(request.clone()).await.unwrap();
    pieces(recorded).await;
    let cassette = Cassette::replay(&path).unwrap();
    let reply = cassette.send(request.clone()).await.unwrap();
    assert_eq!(pieces(reply).await, [Ok(Bytes::from_static(b"\xff\x00(hidden)!\x80"))]);
    request.body = Bytes::from_static(b"\xfe\xee");
    assert!(miss(&cassette, request).await.contains("differs first in its body"));
}

#[tokio::test]
async fn secrets_are_hidden_wherever_they_turn_up() {
    let (_folder, path) = place();
    let echo = json!({"you_sent": format!("Bearer {KEY}"), KEY: [KEY], "phone": "555-0199", "id": "run-7"});
    let server = Server::start([
        Answer::typed_events([echo.clone()]).header("request-id", KEY),
        Answer::json(401, echo),
        Answer::new(500, "text/plain", vec![format!("wrong key: {KEY}, 555-0199")]),
        Answer::new(200, "application/json", vec![format!(r#"{{"twice": "{KEY}", "twice": 1}}"#)]),
    ])
    .await;
    let hiding = |cassette: Cassette| {
        cassette.hiding("555-0199").hiding("x").rewriting(|body| {
            if let Some(id) = body.get_mut("id") {
                *id = "some run".into();
            }
        })
    };
    let cassette = hiding(Cassette::record(&path, live()));
    let prompt = |id: &str| json!({"id": id, "text": format!("my key is {KEY}, call 555-0199, xyz")});
    let url = format!("{}/v1?access_token=abcd-1234", server.url);
    let first = whole(&cassette, post(&url, &prompt("run-1"))).await;
    assert!(first[0].contains(KEY), "the reader sees everything");
    for id in ["run-2", "run-3", "run-4"] {
        whole(&cassette, post(&format!("{url}&n={id}"), &prompt(id))).await;
    }
    assert_eq!(server.asked()[0].body, prompt("run-1"), "so does the server");
    let text = read(&path);
    for secret in ["555-0199", "abcd-1234", "run-7", "Bearer"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("my key is (hidden), call (hidden), xyz"), "{text}");
    assert!(text.contains("wrong key: (hidden), (hidden)"), "{text}");
    assert!(text.contains("\"request-id\": \"(hidden)\""), "{text}");

    // Another key, another run: the same question.
    let cassette = hiding(Cassette::replay(&path).unwrap());
    let mut request = post(&format!("{NOWHERE}/v1?access_token=other"), &prompt("run-9"));
    request.body = String::from_utf8(request.body.to_vec()).unwrap().replace(KEY, "other-key").into();
    request.headers.insert("authorization", HeaderValue::from_static("Bearer other-key"));
    let replayed = whole(&cassette, request).await;
    assert!(replayed[0].contains("some run"), "{replayed:?}");
    assert!(!format!("{cassette:?}").contains("555-0199"));
}

#[tokio::test]
async fn equal_requests_get_their_answers_in_order_and_each_once() {
    let (_folder, path) = place();
    let server = Server::start((1..=3).map(|n| Answer::json(200, json!(n)))).await;
    let cassette = Cassette::record(&path, live());
    for text in ["again", "other", "again"] {
        whole(&cassette, ask(&server.url, text)).await;
    }
    let cassette = Cassette::replay(&path).unwrap();
    let clone = cassette.clone();
    assert_eq!(whole(&cassette, ask(NOWHERE, "again")).await, ["1"]);
    assert_eq!(whole(&clone, ask(NOWHERE, "again")).await, ["3"]);
    let message = miss(&cassette, ask(NOWHERE, "again")).await;
    assert!(message.contains("exchange 1 is the same, but it is recorded 2 times"), "{message}");
    assert_eq!(whole(&cassette, ask(NOWHERE, "other")).await, ["2"]);
}

#[tokio::test]
async fn requests_at_the_same_time_are_told_apart_by_what_they_say() {
    let (_folder, path) = place();
    let server = Server::start([Answer::json(200, json!("the same for all"))]).await;
    let cassette = Cassette::record(&path, live());
    let texts: Vec<String> = (0..8).map(|n| format!("question {n}")).collect();
    futures_util::future::join_all(texts.iter().map(|text| whole(&cassette, ask(&server.url, text)))).await;
    let cassette = Cassette::replay(&path).unwrap();
    for text in texts.iter().rev() {
        assert_eq!(whole(&cassette, ask(NOWHERE, text)).await, ["\"the same for all\""]);
    }
    assert_eq!(server.asked().len(), 8);
}

#[tokio::test]
async fn a_miss_names_the_closest_exchange_and_the_first_difference() {
    let (_folder, path) = place();
    let server = Server::start([Answer::json(200, json!(1))]).await;
    let cassette = Cassette::record(&path, live());
    let long = "the same words again and again, ".repeat(10);
    let url = format!("{}/v1/messages", server.url);
    whole(&cassette, post(&url, &json!({"model": "a", "a/b": {"c": [1, 2]}, "text": "far away"}))).await;
    whole(&cassette, post(&url, &json!({"model": "b", "list": [{"text": format!("{long}Oslo")}], "n": 1})))
        .await;
    let cassette = Cassette::replay(&path).unwrap();
    let url = format!("{NOWHERE}/v1/messages");

    let asked = json!({"model": "b", "list": [{"text": format!("{long}Rome")}], "n": 1});
    let message = miss(&cassette, post(&url, &asked)).await;
    let expected = format!(
        "cassette `{}` has no answer to POST /v1/messages: the closest recorded is exchange 2, which differs first at \
         `/list/0/text`: recorded \"…ain and again, Oslo\", asked \"…ain and again, Rome\". To record anew, use \
         `Cassette::record`, or `Cassette::auto` with CONVOKE_RECORD=1",
        path.display()
    );
    assert_eq!(message, expected);

    let asked = json!({"model": "a", "a/b": {"c": [1]}, "text": "far away"});
    let message = miss(&cassette, post(&url, &asked)).await;
    assert!(
        message.contains("exchange 1, which differs first at `/a~1b/c/1`: recorded 2, asked nothing"),
        "{message}"
    );

    let asked = json!({"model": "a", "a/b": {"c": [1, 2]}, "text": {"long": "x".repeat(500)}});
    let message = miss(&cassette, post(&url, &asked)).await;
    assert!(message.contains("at `/text`: recorded \"far away\", asked {\"long\":\"xxx"), "{message}");
    assert!(message.len() < 600, "{message}");

    let message = miss(&cassette, post(&format!("{NOWHERE}/v1/other"), &asked)).await;
    assert!(message.contains("in its path: recorded /v1/messages, asked /v1/other"), "{message}");

    let mut request = post(&url, &asked);
    request.method = Method::PUT;
    let message = miss(&cassette, request.clone()).await;
    assert!(message.contains("in its method: recorded POST, asked PUT"), "{message}");

    request.method = Method::POST;
    request.body = "no JSON".into();
    let message = miss(&cassette, request).await;
    assert!(message.contains("in its body: recorded JSON, asked text that is not JSON"), "{message}");
}

#[tokio::test]
async fn only_a_cassette_that_may_ask_somebody_is_live() {
    let (_folder, path) = place();
    let open = |missing| Cassette::open(&path, live(), missing).unwrap();
    assert_eq!(Cassette::record(&path, live()).reality(), Reality::Live);
    assert_eq!(open(OnUnrecorded::Record).reality(), Reality::Live);
    assert_eq!(open(OnUnrecorded::Refuse).reality(), Reality::Simulated);
    assert!(!path.exists(), "opening writes nothing");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, r#"{"cassette": 1, "exchanges": []}"#).unwrap();
    let cassette = Cassette::replay(&path).unwrap();
    assert_eq!(cassette.reality(), Reality::Simulated);
    let settings =
        ProviderSettings::new(Provider::Anthropic).key(ApiKey::new(KEY)).transport(Arc::new(cassette));
    let model = ProviderModel::new("claude-sonnet-4-5", settings).unwrap();
    assert_eq!(convoke_core::Model::reality(&model), Reality::Simulated);
}

#[tokio::test]
async fn what_is_missing_is_added_if_that_is_wanted() {
    let (_folder, path) = place();
    let server = Server::start((1..=3).map(|n| Answer::json(200, json!(n)))).await;
    whole(&Cassette::record(&path, live()), ask(&server.url, "one")).await;
    let cassette = Cassette::open(&path, live(), OnUnrecorded::Record).unwrap();
    assert_eq!(whole(&cassette, ask(&server.url, "one")).await, ["1"]);
    assert_eq!(whole(&cassette, ask(&server.url, "two")).await, ["2"]);
    // What has just been recorded is not played back to its recorder.
    assert_eq!(whole(&cassette, ask(&server.url, "two")).await, ["3"]);
    let cassette = Cassette::open(&path, live(), OnUnrecorded::Refuse).unwrap();
    for (text, answer) in [("two", "2"), ("one", "1"), ("two", "3")] {
        assert_eq!(whole(&cassette, ask(NOWHERE, text)).await, [answer]);
    }
    let message = miss(&cassette, ask(NOWHERE, "three")).await;
    assert!(
        message.ends_with("run again with CONVOKE_RECORD=1; to record all anew, delete the file first"),
        "{message}"
    );
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn recording_begins_anew_and_is_written_after_every_exchange() {
    let (_folder, path) = place();
    let server = Server::start([Answer::json(200, json!(1))]).await;
    whole(&Cassette::record(&path, live()), ask(&server.url, "old")).await;
    let cassette = Cassette::record(&path, live());
    assert!(read(&path).contains("old"), "the old one is kept until there is something new");
    whole(&cassette, ask(&server.url, "new")).await;
    let text = read(&path);
    assert!(text.contains("new") && !text.contains("old"), "{text}");
    whole(&cassette, ask(&server.url, "newer")).await;
    assert!(read(&path).contains("newer"));
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary files are left: {names:?}");
}

#[tokio::test]
async fn a_reply_that_breaks_off_breaks_off_again() {
    let (_folder, path) = place();
    let server = Server::start([Answer::events(["one", "two"]).cut()]).await;
    let cassette = Cassette::record(&path, live());
    let mut recorded = pieces(cassette.send(ask(&server.url, "x")).await.unwrap()).await;
    // How much arrives before the connection breaks is up to the network.
    assert!(recorded.pop().unwrap().is_err());
    assert!(read(&path).contains("\"ending\": \"cut\""));
    let cassette = Cassette::replay(&path).unwrap();
    let mut replayed = pieces(cassette.send(ask(NOWHERE, "x")).await.unwrap()).await;
    let error = replayed.pop().unwrap().unwrap_err();
    assert_eq!(
        error,
        TransportError::new(TransportFailure::Broken, "the reply broke off here when it was recorded")
    );
    assert_eq!(replayed, recorded);
}

#[tokio::test]
async fn a_reply_that_is_not_read_to_the_end_is_kept_as_far_as_it_was_read() {
    let (_folder, path) = place();
    let server = Server::start([Answer::events(["one", "two"]).hang()]).await;
    let cassette = Cassette::record(&path, live());
    let mut body = cassette.send(ask(&server.url, "x")).await.unwrap().body;
    body.next().await.unwrap().unwrap();
    assert!(!path.exists());
    drop(body);
    assert!(read(&path).contains("\"ending\": \"dropped\""));
    let cassette = Cassette::replay(&path).unwrap();
    let mut body = cassette.send(ask(NOWHERE, "x")).await.unwrap().body;
    assert_eq!(body.next().await, Some(Ok("data: one\n\n".into())));
    let error = body.next().await.unwrap().unwrap_err();
    assert!(error.message.contains("the reader stopped there; record it again"), "{error}");
}

#[tokio::test]
async fn a_request_that_gets_no_reply_is_not_recorded() {
    let (_folder, path) = place();
    // Bound, so that nobody else gets the port, and not listening.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let cassette = Cassette::record(&path, live());
    let error = cassette.send(ask(&url, "x")).await.unwrap_err();
    assert_eq!(error.failure, TransportFailure::Connect);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_place_that_cannot_be_written_to_is_an_error() {
    let (folder, _) = place();
    let server = Server::start([Answer::json(200, json!(1))]).await;
    std::fs::write(folder.path().join("file"), "").unwrap();
    let cassette = Cassette::record(folder.path().join("file/tape.json"), live());
    let reply = pieces(cassette.send(ask(&server.url, "x")).await.unwrap()).await;
    let error = reply.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.failure, TransportFailure::NotRecorded);
    assert!(error.message.starts_with("cannot write cassette"), "{error}");
}

#[test]
fn files_that_are_no_cassettes_are_refused_with_the_place_of_the_fault() {
    let (_folder, path) = place();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let refusal = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Cassette::replay(&path).unwrap_err().to_string()
    };
    let with = |reply: &str| {
        format!(
            r#"{{"cassette": 1, "exchanges": [{{"request": {{"method": "GET", "url": "http://h/"}}, "reply": {reply}}}]}}"#
        )
    };
    let cases = [
        ("{", "line 1 column 1"),
        (r#"{"exchanges": []}"#, "missing field `cassette`"),
        (
            "{\"cassette\": 1,\n\"exchanges\": [],\n\"more\": 1}",
            "unknown field `more`, expected `cassette` or `exchanges` at line 3",
        ),
        (&with(r#"{"status": 200, "text": "a", "json": null}"#), "exchange 1: a reply has one body"),
        (&with(r#"{"status": 20}"#), "exchange 1: invalid status 20"),
        (&with(r#"{"status": 200, "events": [{"event": "x"}]}"#), "exchange 1: an event says one thing"),
        (&with(r#"{"status": 200, "hex": "0g"}"#), "exchange 1: `hex` must be pairs of digits"),
        (&with(r#"{"status": 200, "ending": "sudden"}"#), "unknown variant `sudden`"),
    ];
    for (text, expected) in cases {
        let message = refusal(text);
        assert!(message.contains(expected), "{text}: {message}");
        assert!(message.ends_with("Correct it, or delete it and record anew"), "{message}");
    }
    std::fs::write(&path, r#"{"cassette": 2, "tracks": []}"#).unwrap();
    assert!(matches!(Cassette::replay(&path), Err(CassetteError::Newer { found: 2, known: 1, .. })));
    assert!(matches!(Cassette::open(&path, live(), OnUnrecorded::Record), Err(CassetteError::Newer { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(Cassette::replay(&path).unwrap_err().to_string().contains("Record it first"));
}

#[tokio::test]
async fn an_event_may_be_spread_over_lines_by_hand() {
    let (_folder, path) = place();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = r#"{"cassette": 1, "exchanges": [{
        "request": {"method": "POST", "url": "http://h/v1/messages",
            "json": {"model": "m", "messages": [{"content": "x", "role": "user"}]}},
        "reply": {"status": 200, "events": [{"json": {
            "b": 1,
            "a": "two words"
        }}]}
    }]}"#;
    std::fs::write(&path, text).unwrap();
    let replayed = whole(&Cassette::replay(&path).unwrap(), ask(NOWHERE, "x")).await;
    assert_eq!(replayed, ["data: {\"b\":1,\"a\":\"two words\"}\n\n"]);
}

/// Only as a process of its own: the environment belongs to all tests alike.
#[test]
#[ignore = "run by the test below, with an environment of its own"]
fn says_what_the_environment_wants() {
    assert_eq!(
        OnUnrecorded::from_environment() == OnUnrecorded::Record,
        std::env::var_os("EXPECT_RECORD").is_some()
    );
}

#[test]
fn the_environment_decides_whether_to_record() {
    let run = |record: Option<&str>, expected: bool| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--ignored", "cassette::says_what_the_environment_wants"])
            .env_remove("CONVOKE_RECORD");
        command.envs(record.map(|value| ("CONVOKE_RECORD", value)));
        command.envs(expected.then_some(("EXPECT_RECORD", "1")));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("1 passed"), "{record:?}: {text}");
    };
    run(None, false);
    run(Some("0"), false);
    run(Some(""), false);
    run(Some("1"), true);
}
