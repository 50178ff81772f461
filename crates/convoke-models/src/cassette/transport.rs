//! The cassette as a transport for providers.

use std::path::PathBuf;
use std::sync::Arc;

use convoke_core::{BoxFuture, Reality};
use serde_json::Value;

use super::exchange::RecordedRequest;
use super::redaction::Redaction;
use super::tape::Tape;
use super::{CassetteError, file, player, recorder};
use crate::http::{HttpReply, HttpRequest, Transport, TransportError, TransportFailure};

/// The environment variable that lets [`Cassette::auto`] record.
const RECORD: &str = "CONVOKE_RECORD";

/// The policy for requests that are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnrecorded {
    /// It is sent, and its exchange added to the cassette.
    Record,
    /// It fails with [`TransportFailure::NotRecorded`].
    Refuse,
}

impl OnUnrecorded {
    /// [`OnUnrecorded::Record`] if `CONVOKE_RECORD` is set, and not to nothing, `0` or `false`.
    #[must_use]
    pub fn from_environment() -> Self {
        match std::env::var_os(RECORD) {
            Some(value) if !["", "0", "false"].iter().any(|off| value == *off) => Self::Record,
            _ => Self::Refuse,
        }
    }
}

/// A transport that records traffic or plays it back. [The module](super) says how.
///
/// Clones share what was recorded and what was used. A file is for one cassette at a time to record to.
#[derive(Debug, Clone)]
pub struct Cassette {
    tape: Arc<Tape>,
    redaction: Redaction,
    mode: Mode,
}

#[derive(Debug, Clone)]
enum Mode {
    Record(Arc<dyn Transport>),
    Replay,
    Add(Arc<dyn Transport>),
    /// Like replay, but a way to record is there.
    Withhold,
}

impl Cassette {
    /// Sends everything through `inner` and writes it down. The first exchange replaces the file.
    #[must_use]
    pub fn record(path: impl Into<PathBuf>, inner: Arc<dyn Transport>) -> Self {
        Self::new(Tape::new(path.into(), Vec::new()), Mode::Record(inner))
    }

    /// Answers from the file, and sends nothing.
    ///
    /// # Errors
    /// [`CassetteError`] if the file is not there or is no cassette.
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let exchanges = file::read(&path)?;
        Ok(Self::new(Tape::new(path, exchanges), Mode::Replay))
    }

    /// Answers from the file what is recorded there. The rest is sent through `inner` and recorded if the environment
    /// variable `CONVOKE_RECORD` is set to `1`, and refused otherwise.
    ///
    /// # Errors
    /// [`CassetteError`] if the file is no cassette. It need not be there.
    pub fn auto(path: impl Into<PathBuf>, inner: Arc<dyn Transport>) -> Result<Self, CassetteError> {
        Self::open(path, inner, OnUnrecorded::from_environment())
    }

    /// Answers from the file what is recorded there; `missing` says what becomes of the rest.
    ///
    /// # Errors
    /// [`CassetteError`] if the file is no cassette. It need not be there.
    pub fn open(
        path: impl Into<PathBuf>,
        inner: Arc<dyn Transport>,
        missing: OnUnrecorded,
    ) -> Result<Self, CassetteError> {
        let path = path.into();
        let exchanges = match file::read(&path) {
            Err(CassetteError::Unreadable { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Vec::new()
            }
            read => read?,
        };
        let mode = match missing {
            OnUnrecorded::Record => Mode::Add(inner),
            OnUnrecorded::Refuse => Mode::Withhold,
        };
        Ok(Self::new(Tape::new(path, exchanges), mode))
    }

    /// Hides this text wherever it turns up in a body; texts of less than four bytes are left alone. A cassette must be
    /// played back with the same texts it was recorded with.
    #[must_use]
    pub fn hiding(mut self, text: impl Into<String>) -> Self {
        self.redaction.hide(text.into());
        self
    }

    /// Rewrites every JSON body, and every event that is JSON, before it is written down; requests also before they are
    /// looked up, so that what changes from run to run can be taken out. What is sent and received stays as it is.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use convoke_models::{cassette::Cassette, http::HttpTransport};
    /// let cassette = Cassette::record("tests/cassettes/trip.json", HttpTransport::shared()).rewriting(|body| {
    ///     if let Some(user) = body.pointer_mut("/metadata/user_id") {
    ///         *user = "somebody".into();
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn rewriting(mut self, rule: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.redaction.rewrite(rule);
        self
    }

    fn new(tape: Tape, mode: Mode) -> Self {
        Self { tape: Arc::new(tape), redaction: Redaction::default(), mode }
    }

    fn missing(&self, asked: &RecordedRequest) -> TransportError {
        let remedy = match self.mode {
            Mode::Withhold => {
                format!("To record it, run again with {RECORD}=1; to record all anew, delete the file first")
            }
            _ => format!("To record anew, use `Cassette::record`, or `Cassette::auto` with {RECORD}=1"),
        };
        let message = format!(
            "cassette `{}` has no answer to {} {}: {}. {remedy}",
            self.tape.file.display(),
            asked.method,
            asked.path,
            self.tape.explain(asked)
        );
        TransportError::new(TransportFailure::NotRecorded, message)
    }
}

impl Transport for Cassette {
    fn send<'a>(&'a self, request: HttpRequest) -> BoxFuture<'a, Result<HttpReply, TransportError>> {
        Box::pin(async move {
            let redactor = self.redaction.of_request(&request);
            let asked = RecordedRequest::of(&request, &redactor)?;
            if !matches!(self.mode, Mode::Record(_))
                && let Some(reply) = self.tape.take(&asked)
            {
                return Ok(player::play(reply));
            }
            match &self.mode {
                Mode::Record(inner) | Mode::Add(inner) => {
                    let slot = self.tape.reserve();
                    let reply = inner.send(request).await?;
                    Ok(recorder::record(Arc::clone(&self.tape), slot, asked, redactor, reply))
                }
                Mode::Replay | Mode::Withhold => Err(self.missing(&asked)),
            }
        })
    }

    fn reality(&self) -> Reality {
        match &self.mode {
            Mode::Record(inner) | Mode::Add(inner) => inner.reality(),
            Mode::Replay | Mode::Withhold => Reality::Simulated,
        }
    }
}
