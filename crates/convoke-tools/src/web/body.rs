//! Reads the body of a reply, within a limit.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use url::Url;

use super::WebError;

/// How content is packed that is asked for.
pub(super) const ACCEPTED: &str = "gzip";

/// The whole content, unpacked; an error as soon as it is longer than the limit.
pub(super) async fn read(mut reply: Response, url: &Url, limit: usize) -> Result<Vec<u8>, WebError> {
    let too_long = || WebError::TooLong { url: Box::new(url.clone()), limit };
    if reply.content_length().is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_long());
    }
    let mut unpacking = Unpacking::of(reply.headers(), url, limit)?;
    let mut received = 0;
    while let Some(piece) = reply.chunk().await.map_err(|error| broken(url, &error))? {
        received += piece.len();
        if received > limit {
            return Err(too_long());
        }
        unpacking.push(&piece).map_err(|fault| fault.at(url, limit))?;
    }
    unpacking.finish().map_err(|fault| fault.at(url, limit))
}

fn broken(url: &Url, error: &reqwest::Error) -> WebError {
    let host = url.host_str().unwrap_or_default().to_owned();
    WebError::Connection { host, problem: format!("the reply broke off: {}", causes(error)) }
}

/// The innermost cause: the outer ones say next to nothing, and have the address in them.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

enum Unpacking {
    Plain(Bounded),
    Gzip(MultiGzDecoder<Bounded>),
}

impl Unpacking {
    fn of(headers: &HeaderMap, url: &Url, limit: usize) -> Result<Self, WebError> {
        let content = Bounded { content: Vec::new(), limit };
        let packed = headers.get(CONTENT_ENCODING).map(|name| String::from_utf8_lossy(name.as_bytes()));
        match packed.as_deref().map(str::trim) {
            None | Some("" | "identity") => Ok(Self::Plain(content)),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip(MultiGzDecoder::new(content))),
            Some(other) => {
                let name: String = other.chars().take(40).collect();
                let problem = format!("it is packed with {name:?}, which was not asked for");
                Err(WebError::Packed { url: Box::new(url.clone()), problem })
            }
        }
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), ReadFault> {
        match self {
            Self::Plain(content) => content.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
        }
        .map_err(ReadFault::of)
    }

    fn finish(self) -> Result<Vec<u8>, ReadFault> {
        match self {
            Self::Plain(content) => Ok(content.content),
            Self::Gzip(decoder) => decoder.finish().map(|content| content.content).map_err(ReadFault::of),
        }
    }
}

/// Content that does not grow beyond a limit, however small it was packed.
struct Bounded {
    content: Vec<u8>,
    limit: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("too long")]
struct BodyTooLong;

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.content.len() + piece.len() > self.limit {
            return Err(io::Error::other(BodyTooLong));
        }
        self.content.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum ReadFault {
    TooLong,
    Damaged(String),
}

impl ReadFault {
    fn of(error: io::Error) -> Self {
        if error.get_ref().is_some_and(|inner| inner.is::<BodyTooLong>()) {
            Self::TooLong
        } else {
            Self::Damaged(error.to_string())
        }
    }

    fn at(self, url: &Url, limit: usize) -> WebError {
        match self {
            Self::TooLong => WebError::TooLong { url: Box::new(url.clone()), limit },
            Self::Damaged(problem) => WebError::Packed { url: Box::new(url.clone()), problem },
        }
    }
}
