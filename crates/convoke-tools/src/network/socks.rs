//! The SOCKS 5 proxy (RFC 1928): outgoing connections only, without authentication, names looked up by us.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Destination;
use super::gateway::{ConnectError, Gateway};
use super::tunnel::{Upload, tunnel};

/// The version, which is the first byte that a client sends.
pub(super) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_WAY: u8 = 0xff;
const CONNECT: u8 = 1;

const DONE: u8 = 0;
const FAILED: u8 = 1;
const NOT_ALLOWED: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const TIME_IS_UP: u8 = 6;
const UNKNOWN_COMMAND: u8 = 7;
const UNKNOWN_KIND_OF_ADDRESS: u8 = 8;

pub(super) async fn serve(mut client: TcpStream, gateway: &Gateway) -> io::Result<()> {
    let asked = timeout(gateway.limits.head, handshake(&mut client)).await??;
    let opened = match asked {
        Ok(destination) => gateway.open(&destination).await.map_err(|error| code(&error)),
        Err(code) => Err(code),
    };
    match opened {
        Ok(mut server) => {
            client.write_all(&reply(DONE)).await?;
            tunnel(&mut client, &mut server, Upload::Everything, gateway).await
        }
        Err(code) => {
            client.write_all(&reply(code)).await?;
            client.shutdown().await
        }
    }
}

/// What a client wants to connect to, or the code of why it cannot.
async fn handshake(client: &mut TcpStream) -> io::Result<Result<Destination, u8>> {
    let [_, count] = read(client).await?;
    let mut ways = vec![0; usize::from(count)];
    client.read_exact(&mut ways).await?;
    if !ways.contains(&NO_AUTHENTICATION) {
        client.write_all(&[VERSION, NO_WAY]).await?;
        return Err(io::Error::other("no common way to authenticate"));
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let [version, command, _, kind] = read(client).await?;
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client).await?).to_string(),
        3 => {
            let [length] = read(client).await?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
        4 => format!("[{}]", Ipv6Addr::from(read::<16>(client).await?)),
        _ => return Ok(Err(UNKNOWN_KIND_OF_ADDRESS)),
    };
    let port = u16::from_be_bytes(read(client).await?);
    if version != VERSION || command != CONNECT {
        return Ok(Err(UNKNOWN_COMMAND));
    }
    Ok(Destination::new(&host, port).map_err(|_| FAILED))
}

async fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn code(error: &ConnectError) -> u8 {
    match error {
        ConnectError::Denied { .. } => NOT_ALLOWED,
        ConnectError::Unknown { .. } => HOST_UNREACHABLE,
        ConnectError::Unreached { why, .. } if why.kind() == io::ErrorKind::ConnectionRefused => REFUSED,
        ConnectError::Unreached { .. } => HOST_UNREACHABLE,
        ConnectError::TimedOut { .. } => TIME_IS_UP,
    }
}

/// A reply. Where the connection begins on this side is nobody's business: zeros.
fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}
