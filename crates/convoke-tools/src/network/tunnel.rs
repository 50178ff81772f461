//! Copies bytes both ways on an open connection. They are counted, and not looked at.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::gateway::Gateway;

const BUFFER: usize = 16 * 1024;

/// What of that which a client sends goes on to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upload {
    /// All of it, until both have said all they had to say.
    Everything,
    /// This many bytes, until the server has said all it had to say.
    Bytes(u64),
}

/// Carries bytes both ways, until it is over or nothing has moved for too long.
pub(super) async fn tunnel(
    client: &mut TcpStream,
    server: &mut TcpStream,
    upload: Upload,
    gateway: &Gateway,
) -> io::Result<()> {
    for stream in [&*client, &*server] {
        // What is read here has been gathered already where it was written.
        stream.set_nodelay(true)?;
    }
    let (from_client, mut to_client) = client.split();
    let (from_server, mut to_server) = server.split();
    let moved = AtomicU64::new(0);
    let ways = |total| Direction { idle: gateway.limits.idle, moved: &moved, total };
    let (up, down) = (ways(&gateway.sent), ways(&gateway.received));
    match upload {
        Upload::Everything => {
            let upload = async {
                up.carry(from_client, &mut to_server).await?;
                to_server.shutdown().await
            };
            let download = async {
                down.carry(from_server, &mut to_client).await?;
                to_client.shutdown().await
            };
            tokio::try_join!(upload, download).map(drop)
        }
        Upload::Bytes(count) => {
            // The server is not told that there is no more: some take that for somebody who has hung up.
            let upload = async {
                up.carry(from_client.take(count), &mut to_server).await?;
                std::future::pending::<io::Result<()>>().await
            };
            tokio::select! {
                answered = down.carry(from_server, &mut to_client) => answered?,
                failed = upload => failed?,
            }
            to_client.shutdown().await
        }
    }
}

/// One direction of a tunnel.
struct Direction<'a> {
    idle: Duration,
    /// What has moved in this tunnel, either way.
    moved: &'a AtomicU64,
    /// What has moved this way in all tunnels.
    total: &'a AtomicU64,
}

impl Direction<'_> {
    async fn carry(
        &self,
        mut from: impl AsyncRead + Unpin,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let before = self.moved.load(Relaxed);
            let count = match timeout(self.idle, from.read(&mut buffer)).await {
                Ok(count) => count?,
                // Something moves the other way: a long answer to a short question.
                Err(_) if self.moved.load(Relaxed) != before => continue,
                Err(late) => return Err(late.into()),
            };
            if count == 0 {
                return Ok(());
            }
            timeout(self.idle, to.write_all(&buffer[..count])).await??;
            for counter in [self.moved, self.total] {
                counter.fetch_add(count as u64, Relaxed);
            }
        }
    }
}
