//! The HTTP proxy: `CONNECT` for a tunnel, and whole addresses for plain http.
//!
//! One request a connection: what follows a request for one host could be for another. Of a request, only its head is read, and
//! what goes on names the host that was judged, whatever the client's own `Host` said.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Position, Url};

use super::Destination;
use super::gateway::{ConnectError, Gateway};
use super::tunnel::{Upload, tunnel};

/// The longest head of a request.
const LONGEST_HEAD: usize = 64 * 1024;
/// The most headers it may have.
const MOST_HEADERS: usize = 128;
/// How long the rest of a refused request is listened to, so that the client comes to read why.
const LISTENING: Duration = Duration::from_secs(1);

/// Headers between a client and its proxy, which are no business of the server's. `host` is written anew.
const OURS: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    destination: Destination,
    /// How many of the bytes that were read are its head.
    length: usize,
    means: RequestKind,
}

#[derive(Debug, PartialEq, Eq)]
enum RequestKind {
    /// A tunnel, in which anything may be spoken.
    Tunnel,
    /// A request in plain http: its head for the server, and how much of a body follows.
    Forward { head: Vec<u8>, body: Upload },
}

/// The error of a request that cannot be served, with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BadRequest {
    status: &'static str,
    why: &'static str,
}

const fn bad(why: &'static str) -> BadRequest {
    BadRequest { status: "400 Bad Request", why }
}

pub(super) async fn serve(mut client: TcpStream, gateway: &Gateway) -> io::Result<()> {
    let mut read = Vec::new();
    let request = match timeout(gateway.limits.head, request(&mut client, &mut read)).await?? {
        Ok(request) => request,
        Err(unfit) => return refuse(client, unfit.status, unfit.why).await,
    };
    let mut server = match gateway.open(&request.destination).await {
        Ok(server) => server,
        Err(error) => return refuse(client, status(&error), &error.to_string()).await,
    };
    // What came with the head belongs to whatever follows it.
    let mut rest = &read[request.length..];
    let upload = match request.means {
        RequestKind::Tunnel => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            Upload::Everything
        }
        RequestKind::Forward { head, body } => {
            server.write_all(&head).await?;
            match body {
                Upload::Everything => body,
                Upload::Bytes(count) => {
                    rest = &rest[..rest.len().min(usize::try_from(count).unwrap_or(usize::MAX))];
                    Upload::Bytes(count - rest.len() as u64)
                }
            }
        }
    };
    server.write_all(rest).await?;
    tunnel(&mut client, &mut server, upload, gateway).await
}

/// Reads the head of a request. What comes after it may have been read as well.
async fn request(client: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<Result<Request, BadRequest>> {
    loop {
        match parse(read) {
            Ok(None) if read.len() >= LONGEST_HEAD => {
                let why = "the head of the request is too long";
                return Ok(Err(BadRequest { status: "431 Request Header Fields Too Large", why }));
            }
            Ok(None) => {}
            Ok(Some(request)) => return Ok(Ok(request)),
            Err(unfit) => return Ok(Err(unfit)),
        }
        let room = LONGEST_HEAD - read.len();
        if client.take(room as u64).read_buf(read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The request that these bytes begin with, if all of its head is there.
fn parse(bytes: &[u8]) -> Result<Option<Request>, BadRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let parsed = head.parse(bytes).map_err(|error| match error {
        httparse::Error::TooManyHeaders => BadRequest {
            status: "431 Request Header Fields Too Large",
            why: "the request has too many headers",
        },
        _ => bad("this is a proxy for HTTP and SOCKS 5, and that was neither"),
    })?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
        return Err(bad("the request has no first line"));
    };
    if method == "CONNECT" {
        let destination =
            Destination::parse(target).map_err(|_| bad("after CONNECT comes a host with a port"))?;
        return Ok(Some(Request { destination, length, means: RequestKind::Tunnel }));
    }
    let url = Url::parse(target).ok().filter(|url| url.scheme() == "http");
    let url = url.ok_or(bad("this is a proxy: it takes CONNECT, and whole addresses with http://"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("an address here has no user and no password"));
    }
    let host = url.host_str().ok_or(bad("the address names no host"))?;
    let destination = Destination::new(host, url.port_or_known_default().unwrap_or(80))
        .map_err(|_| bad("the address names no host"))?;
    let body = body(head.headers)?;
    let head = forwarded(method, &url, version, head.headers);
    Ok(Some(Request { destination, length, means: RequestKind::Forward { head, body } }))
}

/// How much follows a head. A request that says so in two ways is one that two servers would understand differently.
fn body(headers: &[httparse::Header<'_>]) -> Result<Upload, BadRequest> {
    let values = |name: &'static str| {
        headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    };
    let mut lengths = values("content-length");
    let length = lengths.next();
    let is_streamed = values("transfer-encoding").next().is_some();
    match length {
        None if is_streamed => Ok(Upload::Everything),
        None => Ok(Upload::Bytes(0)),
        Some(_) if is_streamed || lengths.next().is_some() => {
            Err(bad("the request says twice how long it is"))
        }
        Some(length) => {
            let digits = std::str::from_utf8(length).ok();
            let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let count = digits.and_then(|text| text.parse().ok());
            count.map(Upload::Bytes).ok_or(bad("the request does not say how long it is"))
        }
    }
}

/// The head for the server: for the host that was judged, and without what is between client and proxy.
fn forwarded(method: &str, url: &Url, version: u8, headers: &[httparse::Header<'_>]) -> Vec<u8> {
    let connection = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection"));
    let connection: Vec<_> =
        connection.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase()).collect();
    let named: Vec<&str> = connection.iter().flat_map(|value| value.split(',')).map(str::trim).collect();
    let is_ours = |name: &str| {
        let name = name.to_ascii_lowercase();
        // How long a request is must not be hidden from the server by naming it there.
        let is_framing = matches!(&*name, "content-length" | "transfer-encoding");
        OURS.contains(&&*name) || (named.contains(&&*name) && !is_framing)
    };
    let place = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let mut head =
        format!("{method} {place} HTTP/1.{version}\r\nHost: {host}\r\nConnection: close\r\n").into_bytes();
    for header in headers.iter().filter(|header| !is_ours(header.name)) {
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn status(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Denied { .. } => "403 Forbidden",
        ConnectError::Unknown { .. } | ConnectError::Unreached { .. } => "502 Bad Gateway",
        ConnectError::TimedOut { .. } => "504 Gateway Timeout",
    }
}

async fn refuse(mut client: TcpStream, status: &str, why: &str) -> io::Result<()> {
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    client.write_all(reply.as_bytes()).await?;
    client.shutdown().await?;
    // A connection that is closed with something unread is broken off, and what was said last is lost.
    let rest = async { tokio::io::copy(&mut client.take(LONGEST_HEAD as u64), &mut tokio::io::sink()).await };
    let _ = timeout(LISTENING, rest).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forwarded_to(text: &str) -> (String, String, Upload) {
        let request = parse(text.as_bytes()).expect("it is fit").expect("it is whole");
        let RequestKind::Forward { head, body } = request.means else { panic!("it is no tunnel") };
        (request.destination.to_string(), String::from_utf8(head).expect("text"), body)
    }

    #[test]
    fn a_request_goes_on_for_the_host_that_was_judged_and_without_what_is_between_client_and_proxy() {
        let (destination, head, body) = forwarded_to(
            "POST http://Example.com/a/b?c=d#e HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic eA==\r\n\
             Connection: keep-alive, X-Between, Content-Length\r\nX-Between: 1\r\nAccept: */*\r\nContent-Length: 5\r\n\r\nhello",
        );
        assert_eq!(destination, "example.com:80");
        assert_eq!(body, Upload::Bytes(5));
        assert_eq!(
            head,
            "POST /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nAccept: */*\r\nContent-Length: 5\r\n\r\n"
        );
        let (destination, head, body) = forwarded_to("GET http://[::1]:8080 HTTP/1.0\r\n\r\n");
        assert_eq!((&*destination, body), ("[::1]:8080", Upload::Bytes(0)));
        assert_eq!(head, "GET / HTTP/1.0\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn requests_that_could_be_understood_in_two_ways_are_refused() {
        for text in [
            "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
            "GET https://example.com/ HTTP/1.1\r\n\r\n",
            "GET ftp://example.com/ HTTP/1.1\r\n\r\n",
            "GET http://user:password@example.com/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT example.com:0 HTTP/1.1\r\n\r\n",
            "CONNECT example.com:+1 HTTP/1.1\r\n\r\n",
            "CONNECT http://example.com:443 HTTP/1.1\r\n\r\n",
            "\u{4}\u{1}garbage\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(parse(b"CONNECT example.com:443 HTTP/1.1\r\nHost: exam"), Ok(None));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic_or_pass_a_line_break_on(
            method in "[A-Z]{1,7}",
            target in "(http://)?[ -~]{0,40}",
            headers in prop::collection::vec(("[!-~]{1,12}", "[\\x00-\\xff]{0,20}"), 0..6),
            garbage in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let _ = parse(&garbage);
            let mut text = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
            for (name, value) in &headers {
                text.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
            text.extend_from_slice(b"\r\n");
            text.extend_from_slice(&garbage);
            if let Ok(Some(Request { means: RequestKind::Forward { head, .. }, length, .. })) = parse(&text) {
                prop_assert!(length <= text.len());
                // What goes on is one request, which reads like the one that came.
                let mut read = [httparse::EMPTY_HEADER; MOST_HEADERS + 2];
                let mut again = httparse::Request::new(&mut read);
                prop_assert_eq!(again.parse(&head), Ok(httparse::Status::Complete(head.len())));
                let named = again.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
                prop_assert_eq!(named.count(), 1);
            }
        }
    }
}
