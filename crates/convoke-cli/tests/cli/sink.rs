//! A collector of traces that takes what comes, on a thread of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// What came: the head of each request, and its body.
type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

pub(crate) struct Sink {
    address: SocketAddr,
    requests: Requests,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Requests::default();
        let kept = Arc::clone(&requests);
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { address, requests }
    }

    /// An address at which nobody listens, as long as the socket is kept: nobody else is given its port meanwhile.
    pub(crate) fn nobody() -> (tokio::net::TcpSocket, String) {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        (socket, url)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that came, as it came.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let requests = self.requests.lock().unwrap();
        requests.iter().flat_map(|(head, body)| head.as_bytes().iter().chain(body).copied()).collect()
    }

    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.bytes().windows(text.len()).any(|window| window == text.as_bytes())
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.requests.lock().unwrap();
        let traces = requests.iter().filter(|(head, _)| head.starts_with("POST /v1/traces"));
        let groups =
            traces.flat_map(|(_, body)| ExportTraceServiceRequest::decode(&**body).unwrap().resource_spans);
        groups.flat_map(|group| group.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

/// Takes one request after the other from a connection.
fn serve(stream: TcpStream, kept: &Requests) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = head.lines().find_map(|line| {
            line.to_lowercase().strip_prefix("content-length:").and_then(|length| length.trim().parse().ok())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push((head, body));
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}
