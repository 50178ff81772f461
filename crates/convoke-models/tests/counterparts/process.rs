//! Servers of others, as child processes that end with the value.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpSocket;

/// Names the folder the counterparts are in.
const PLACE: &str = "CONVOKE_COUNTERPARTS";

/// Where the counterparts are, if they are installed.
pub(crate) fn place() -> Option<PathBuf> {
    let place = std::env::var_os(PLACE).map(PathBuf::from);
    if place.is_none() {
        // Said loudly: a test that was passed over must not look like one that passed.
        let _ = writeln!(std::io::stderr(), "passed over: {PLACE} is not set (see scripts/counterparts)");
    }
    place
}

/// A server that runs.
pub(crate) struct Running {
    child: Child,
    port: u16,
}

impl Running {
    /// Starts a server on a free port, and waits until it listens.
    pub(crate) fn start(command: impl FnOnce(u16) -> Command) -> Self {
        // Kept until the server listens, so that nobody else gets the port meanwhile: servers may share an address with a
        // socket that does not listen.
        let reserved = TcpSocket::new_v4().unwrap();
        reserved.set_reuseaddr(true).unwrap();
        reserved.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = reserved.local_addr().unwrap().port();
        let mut command = command(port);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let mut running = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = running.child.try_wait().unwrap() {
                panic!("{command:?} ended with {status} before it listened");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        running
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A plain request to the server's own controls.
    pub(crate) fn control(&self, method: &str, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let body = body.to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
