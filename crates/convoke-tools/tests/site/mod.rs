//! A site on this machine that answers as it is told, and a resolver that says what it is told.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "every test file uses some of it")]

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use convoke_core::BoxFuture;
use convoke_tools::web::{AddressRules, Fetcher, FetcherBuilder, Resolver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What a site does with a request.
pub enum Reply {
    /// Sends this and closes.
    Bytes(Vec<u8>),
    /// Sends this, then nothing, and does not close.
    Stuck(Vec<u8>),
    /// Sends the first, then the second over and over, as long as anybody listens.
    Endless(Vec<u8>, Vec<u8>),
}

pub struct Site {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _work: JoinSet<()>,
}

impl Site {
    /// Answers requests, given as text with their head and body.
    pub async fn new(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                connections.spawn(async move {
                    // Whoever breaks off is not answered.
                    let _ = talk(stream, &*answer, &seen).await;
                });
            }
        });
        Self { port, requests, _work: work }
    }

    /// Answers with the text at each path.
    pub async fn pages(pages: &[(&'static str, Vec<u8>)]) -> Self {
        let pages: HashMap<&str, Vec<u8>> = pages.iter().cloned().collect();
        Self::new(move |request| {
            let path = request.split(' ').nth(1).unwrap();
            Reply::Bytes(
                pages
                    .get(path)
                    .cloned()
                    .unwrap_or_else(|| reply("404 Not Found", "text/plain", "nothing here")),
            )
        })
        .await
    }

    /// An address on it, by its number.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// An address on it, by a name.
    pub fn named(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// What it was asked.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// A fetcher that takes this machine's first address, and no other, for a public one.
    pub fn fetcher(&self) -> FetcherBuilder {
        Fetcher::builder().addresses(AddressRules::public().and(here())).port(self.port)
    }
}

/// The address that sites of tests are on.
pub fn here() -> IpAddr {
    "127.0.0.1".parse().unwrap()
}

async fn talk(
    mut stream: TcpStream,
    answer: &(dyn Fn(&str) -> Reply + Send + Sync),
    seen: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let request = read(&mut stream).await?;
    seen.lock().unwrap().push(request.clone());
    let answer = answer(&request);
    match answer {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await?,
        Reply::Stuck(bytes) => {
            stream.write_all(&bytes).await?;
            stream.read_u8().await?;
        }
        Reply::Endless(head, more) => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&more).await?;
            }
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4_096];
        let count = stream.read(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if count == 0 || body.len() >= length.unwrap_or(0) {
            return Ok(text);
        }
    }
}

/// A whole reply.
pub fn reply(status: &str, kind: &str, body: &str) -> Vec<u8> {
    with_headers(status, &[("content-type", kind)], body.as_bytes())
}

/// A page in HTML.
pub fn html(body: &str) -> Vec<u8> {
    reply("200 OK", "text/html; charset=utf-8", body)
}

/// A reply that sends elsewhere.
pub fn redirect(to: &str) -> Vec<u8> {
    with_headers("302 Found", &[("location", to)], b"")
}

/// A whole reply with these headers.
pub fn with_headers(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Says what it is told, in turn; the last answer stays.
#[derive(Clone, Default)]
pub struct Names {
    answers: Arc<Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    pub fn with(self, host: &str, answers: &[&[&str]]) -> Self {
        let answers =
            answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        self.answers.lock().unwrap().insert(host.to_owned(), answers);
        self
    }

    /// The names that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.get_mut(host) {
            Some(answers) if answers.len() > 1 => Ok(answers.pop_front().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, format!("{host} is not known"))),
        };
        Box::pin(async move { answer })
    }
}
