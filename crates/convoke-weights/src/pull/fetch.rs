//! Downloads one file, resuming where the last attempt ended.

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use url::Url;

use super::Stage;
use convoke_http::address::shown;

use super::client::{FetchError, refused};
use super::job::{ProgressLabel, PullJob};
use super::partial::{Partial, PartialNote};
use super::writer::FileWriter;
use crate::digest::Hasher;
use crate::{Digest, WeightsError};

/// A download: what, and where to.
pub(super) struct Fetch<'a> {
    pub(super) url: &'a Url,
    pub(super) sha256: Option<Digest>,
    pub(super) partial: &'a Partial,
    pub(super) label: &'a ProgressLabel,
}

impl Fetch<'_> {
    /// What of the file is here already and can be gone on with: nobody may have changed it at its source meanwhile. That is
    /// certain if its digest is known, and otherwise if the server can tell.
    fn begun(&self) -> Option<(u64, PartialNote)> {
        let note = self.partial.note()?;
        let is_same = note.origin == shown(self.url) && note.sha256 == self.sha256;
        let is_safe = self.sha256.is_some() || note.validator.is_some();
        let length = self.partial.length();
        (is_same && is_safe && length > 0).then_some((length, note))
    }
}

impl PullJob<'_> {
    /// Downloads a file and checks its digest, if that is known.
    pub(super) async fn fetch(&mut self, fetch: &Fetch<'_>) -> Result<Digest, WeightsError> {
        let mut attempts = self.client.attempts();
        let found = loop {
            match self.attempt(fetch).await {
                Ok(digest) => break digest,
                Err(error) => attempts.pause(error).await?,
            }
        };
        self.check(fetch.partial, &fetch.label.file, fetch.sha256, found)
    }

    /// That a file has the digest it should have. It is removed if not.
    pub(super) fn check(
        &self,
        partial: &Partial,
        what: &str,
        expected: Option<Digest>,
        found: Digest,
    ) -> Result<Digest, WeightsError> {
        match expected {
            Some(expected) if expected != found => {
                partial.discard();
                Err(WeightsError::WrongDigest { what: what.to_owned(), expected, found })
            }
            _ => Ok(found),
        }
    }

    async fn attempt(&mut self, fetch: &Fetch<'_>) -> Result<Digest, FetchError> {
        let begun = fetch.begun();
        let hasher = match &begun {
            Some((length, _)) => self.hash(fetch.label, fetch.partial.path.clone(), *length).await?,
            None => Hasher::default(),
        };
        if begun.is_some() && fetch.sha256 == Some(hasher.clone().finish()) {
            // All of it is here; only its name is missing.
            return Ok(hasher.finish());
        }
        let mut reply = self.client.get(fetch.url, asking_for(begun.as_ref())).await?;
        let (start, hasher) = match (reply.status, &begun) {
            (StatusCode::PARTIAL_CONTENT, Some((length, _)))
                if range_start(&reply.headers) == Some(*length) =>
            {
                (*length, hasher)
            }
            (StatusCode::OK, _) => (0, Hasher::default()),
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
                // What is here does not fit what is there.
                fetch.partial.discard();
                return Err(passing(fetch.url, "the file there is another one by now", false));
            }
            _ => return Err(refused(fetch.url, &reply)),
        };
        let rest = number(&reply.headers, &CONTENT_LENGTH);
        let total = rest.map(|rest| start + rest);
        self.room(rest.unwrap_or_default())?;
        fetch.partial.write_note(&PartialNote {
            origin: shown(fetch.url),
            sha256: fetch.sha256,
            validator: validator(&reply.headers),
            parts: 0,
            bytes: 0,
        })?;
        let file = fetch.partial.open(start)?;
        let writer = FileWriter::begin(file, hasher, self.lock.clone());
        let mut written = start;
        self.report(fetch.label, Stage::Downloading, written, total);
        let ended = loop {
            match self.client.next(fetch.url, &mut reply.body, written > start).await {
                Ok(Some(bytes)) => {
                    let length = bytes.len() as u64;
                    if !writer.write(bytes).await {
                        break Ok(());
                    }
                    written += length;
                    self.report(fetch.label, Stage::Downloading, written, total);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // All that came in is in the file before anybody looks at it again.
        let hasher = writer.finish().await.map_err(WeightsError::files("write", &fetch.partial.path))?;
        ended?;
        if total.is_some_and(|total| total != written) {
            return Err(passing(fetch.url, "the connection ended before the file did", written > start));
        }
        Ok(hasher.finish())
    }

    /// The digest of what is in a file so far.
    pub(super) async fn hash(
        &mut self,
        label: &ProgressLabel,
        path: std::path::PathBuf,
        length: u64,
    ) -> Result<Hasher, WeightsError> {
        self.block(label, Stage::Checking, Some(length), move |reporter| {
            super::file::hash(&path, length, reporter)
        })
        .await
    }
}

fn asking_for(begun: Option<&(u64, PartialNote)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some((length, note)) = begun else { return headers };
    if let Ok(range) = HeaderValue::from_str(&format!("bytes={length}-")) {
        headers.insert(RANGE, range);
    }
    // If it has changed, all of it comes.
    if let Some(validator) = note.validator.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
        headers.insert(IF_RANGE, validator);
    }
    headers
}

/// By what the server tells versions apart. A weak tag says only that they mean the same.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    text(ETAG).filter(|tag| !tag.starts_with("W/")).or_else(|| text(LAST_MODIFIED))
}

fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

fn passing(url: &Url, message: &str, gained: bool) -> FetchError {
    let error = WeightsError::Network { what: shown(url), message: message.to_owned() };
    FetchError::Transient { error, wait: None, gained }
}
