//! What our path from the wire to a reply costs, beside a raw HTTP client that only reads the bytes.
//!
//! A server in a thread of its own sends the same recorded stream to both. Processor time is that of the client's
//! thread alone, as the kernel counts it. `cargo bench -p convoke-models --bench models`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program for people who measure"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use convoke_core::{CallContext, IdempotencyKey, Model, ModelRequest, Path, ReplyBuilder, ReplyDelta, RunId};
use convoke_models::http::HttpTransport;
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use futures_util::StreamExt;
use serde_json::json;

const TOKENS: usize = 1_000;
const ROUNDS: usize = 200;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("{TOKENS} tokens a reply, {ROUNDS} replies, medians\n");
        println!(
            "| protocol | first token, raw | first token, ours | CPU a reply, raw | CPU a reply, ours |"
        );
        println!("|---|---|---|---|---|");
        for (provider, name, frames) in [
            (Provider::OpenAiCompatible, "chat completions", chat()),
            (Provider::Anthropic, "Anthropic", anthropic()),
        ] {
            let url = serve(body(&frames));
            // Making ours installs the TLS provider that the other needs too.
            let _ = HttpTransport::shared();
            let raw = reqwest::Client::new();
            let settings = ProviderSettings::new(provider).base_url(&url).key(ApiKey::new("sk-bench"));
            let model = ProviderModel::new("m", settings).unwrap();
            let (mut by_raw, mut by_us) = (Vec::new(), Vec::new());
            // Side by side, so that whatever else the machine does hits both.
            for _ in 0..ROUNDS {
                by_raw.push(measure(read_raw(&raw, &url)).await);
                by_us.push(measure(read_ours(&model)).await);
            }
            let (raw_first, raw_work) = medians(&by_raw);
            let (our_first, our_work) = medians(&by_us);
            println!("| {name} | {raw_first:?} | {our_first:?} | {raw_work:?} | {our_work:?} |");
        }
    });
}

/// Time to the first token, and the thread's processor time for the whole reply.
async fn measure(reply: impl Future<Output = Instant>) -> (Duration, Duration) {
    let (began, worked) = (Instant::now(), processor_time());
    let first = reply.await;
    (first - began, processor_time() - worked)
}

async fn read_raw(client: &reqwest::Client, url: &str) -> Instant {
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "go"}]});
    let reply = client.post(url).header("authorization", "Bearer sk-bench").body(body.to_string());
    let mut bytes = reply.send().await.unwrap().bytes_stream();
    let mut first = None;
    let mut read = 0;
    while let Some(piece) = bytes.next().await {
        first.get_or_insert_with(Instant::now);
        read += piece.unwrap().len();
    }
    assert!(read > TOKENS);
    first.unwrap()
}

async fn read_ours(model: &ProviderModel) -> Instant {
    let key = IdempotencyKey::derive(&RunId::mint(), &Path::from("bench"), 0);
    let mut pieces = model.reply(ModelRequest::new("go"), CallContext { key });
    let mut builder = ReplyBuilder::new("m", "bench");
    let mut first = None;
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        if matches!(piece, ReplyDelta::Text(_)) {
            first.get_or_insert_with(Instant::now);
        }
        builder.add(&piece);
    }
    assert!(builder.finish().unwrap().text().len() > TOKENS);
    first.unwrap()
}

/// What this thread has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

fn medians(measured: &[(Duration, Duration)]) -> (Duration, Duration) {
    let median = |mut values: Vec<Duration>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    (
        median(measured.iter().map(|(first, _)| *first).collect()),
        median(measured.iter().map(|(_, work)| *work).collect()),
    )
}

fn chat() -> Vec<String> {
    let frame = |delta, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "system_fingerprint": null, "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let mut frames: Vec<_> = (0..TOKENS).map(|_| frame(json!({"content": "word "}), None)).collect();
    frames.push(frame(json!({}), Some("stop")));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn anthropic() -> Vec<String> {
    let frame =
        |value: serde_json::Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let usage = json!({"input_tokens": 3, "output_tokens": 1});
    let mut frames = vec![
        frame(
            json!({"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": [], "usage": usage}}),
        ),
        frame(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
    ];
    let delta =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}});
    frames.extend((0..TOKENS).map(|_| frame(delta.clone())));
    frames.push(frame(json!({"type": "content_block_stop", "index": 0})));
    let end = json!({"stop_reason": "end_turn", "stop_sequence": null});
    frames.push(frame(json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": TOKENS}})));
    frames.push(frame(json!({"type": "message_stop"})));
    frames
}

/// Frames as a body in chunks of ten, as a busy provider sends them.
fn body(frames: &[String]) -> Vec<u8> {
    let mut body =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in frames.chunks(10) {
        let piece = piece.concat();
        body.extend(format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes());
    }
    body.extend(b"0\r\n\r\n");
    body
}

/// Answers every request with these bytes, until the process ends.
fn serve(reply: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let reply = reply.clone();
            std::thread::spawn(move || answer(&stream.unwrap(), &reply));
        }
    });
    url
}

fn answer(mut stream: &TcpStream, reply: &[u8]) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        stream.write_all(reply).unwrap();
    }
}
