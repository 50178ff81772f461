//! The HTTP client of downloads, with retries.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use convoke_core::Backoff;
use convoke_http::address::shown;
use convoke_http::header_time::retry_after;
use convoke_http::{Body, HttpReply, HttpRequest, Transport, TransportError, TransportFailure};
use futures_util::StreamExt;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::{sleep, timeout};
use url::Url;

use super::{PullOptions, redirect};
use crate::WeightsError;

/// No server is obeyed that wants more time than this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How often servers may send us on before it counts as a circle.
const MOST_REDIRECTS: u32 = 10;

/// Asks servers.
#[derive(Debug)]
pub(crate) struct Client {
    transport: Arc<dyn Transport>,
    patience: Duration,
    pause: Duration,
    retries: u32,
}

/// An error of a request, and whether it is worth trying again.
pub(super) enum FetchError {
    /// It may go better next time.
    Transient {
        error: WeightsError,
        /// What the server wants us to wait.
        wait: Option<Duration>,
        /// Whether more has come in than before.
        gained: bool,
    },
    Permanent(WeightsError),
}

impl From<WeightsError> for FetchError {
    fn from(error: WeightsError) -> Self {
        Self::Permanent(error)
    }
}

/// Counts how often something was tried.
pub(super) struct Attempts {
    left: u32,
    retries: u32,
    pause: Duration,
}

impl Client {
    pub(super) fn new(transport: Arc<dyn Transport>, options: &PullOptions) -> Self {
        Self { transport, patience: options.patience, pause: options.pause, retries: options.retries }
    }

    /// A new count.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts { left: self.retries, retries: self.retries, pause: self.pause }
    }

    /// Asks once, wherever the server sends us. Any other reply is a reply.
    pub(super) async fn get(&self, url: &Url, headers: HeaderMap) -> Result<HttpReply, FetchError> {
        let mut place = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let reply = self.ask(&place, headers.clone()).await?;
            match redirect::target(&place, &reply)? {
                None => return Ok(reply),
                Some(next) => place = next,
            }
        }
        let reason = format!("that goes on more than {MOST_REDIRECTS} times");
        Err(WeightsError::Redirected { what: shown(url), reason }.into())
    }

    async fn ask(&self, url: &Url, headers: HeaderMap) -> Result<HttpReply, FetchError> {
        let request = HttpRequest { method: Method::GET, url: url.to_string(), headers, body: Bytes::new() };
        let sent = timeout(self.patience, self.transport.send(request)).await;
        sent.map_err(|_| self.silent(url, false))?.map_err(|error| failed(url, error, false))
    }

    /// The next piece of a body.
    pub(super) async fn next(
        &self,
        url: &Url,
        body: &mut Body,
        gained: bool,
    ) -> Result<Option<Bytes>, FetchError> {
        let next = timeout(self.patience, body.next()).await.map_err(|_| self.silent(url, gained))?;
        next.transpose().map_err(|error| failed(url, error, gained))
    }

    /// A whole page.
    pub(crate) async fn text(
        &self,
        url: &Url,
        headers: HeaderMap,
        most: usize,
    ) -> Result<(HeaderMap, String), WeightsError> {
        let mut attempts = self.attempts();
        loop {
            match self.page(url, headers.clone(), most).await {
                Ok(page) => return Ok(page),
                Err(error) => attempts.pause(error).await?,
            }
        }
    }

    async fn page(
        &self,
        url: &Url,
        headers: HeaderMap,
        most: usize,
    ) -> Result<(HeaderMap, String), FetchError> {
        let reply = self.get(url, headers).await?;
        if !reply.status.is_success() {
            return Err(refused(url, &reply));
        }
        let mut body = reply.body;
        let mut text = Vec::new();
        while let Some(bytes) = self.next(url, &mut body, false).await? {
            text.extend_from_slice(&bytes);
            if text.len() > most {
                let message = format!("its answer is longer than {most} bytes");
                return Err(WeightsError::Network { what: shown(url), message }.into());
            }
        }
        Ok((reply.headers, String::from_utf8_lossy(&text).into_owned()))
    }

    fn silent(&self, url: &Url, gained: bool) -> FetchError {
        let message = format!("nothing came for {:?}", self.patience);
        FetchError::Transient {
            error: WeightsError::Network { what: shown(url), message },
            wait: None,
            gained,
        }
    }
}

impl Attempts {
    /// Waits until it makes sense to try again.
    ///
    /// # Errors
    /// What went wrong, if it does not.
    pub(super) async fn pause(&mut self, error: FetchError) -> Result<(), WeightsError> {
        let (error, wait, gained) = match error {
            FetchError::Permanent(error) => return Err(error),
            FetchError::Transient { error, wait, gained } => (error, wait, gained),
        };
        if gained {
            self.left = self.retries;
        }
        if self.left == 0 {
            return Err(error);
        }
        let tried = self.retries - self.left;
        self.left -= 1;
        let pause = wait.unwrap_or(Backoff::doubling(self.pause, LONGEST_PAUSE).after(tried));
        sleep(pause.min(LONGEST_PAUSE)).await;
        Ok(())
    }
}

/// What a refusal means.
pub(super) fn refused(url: &Url, reply: &HttpReply) -> FetchError {
    let error = WeightsError::Refused { what: shown(url), status: reply.status.as_u16() };
    let is_transient = matches!(reply.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
        || reply.status.is_server_error();
    if !is_transient {
        return error.into();
    }
    FetchError::Transient { error, wait: retry_after(&reply.headers, SystemTime::now()), gained: false }
}

/// Nobody there is for now nobody there: other sources are tried rather than this one again.
fn failed(url: &Url, error: TransportError, gained: bool) -> FetchError {
    let is_transient = matches!(error.failure, TransportFailure::Broken | TransportFailure::TimedOut);
    let error = WeightsError::Network { what: shown(url), message: error.message };
    if is_transient { FetchError::Transient { error, wait: None, gained } } else { error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_say_in_any_form_how_long_to_wait() {
        for (said, wait) in [("7", 7), ("1m30s", 90), ("Sun, 15 Nov 2026 10:00:30 GMT", 30)] {
            let headers =
                [("date", "Sun, 15 Nov 2026 10:00:00 GMT"), ("retry-after", said)].map(|(name, value)| {
                    (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
                });
            let body = Box::pin(futures_util::stream::empty());
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let reply = HttpReply { status, headers: headers.into_iter().collect(), body };
            let refused = refused(&"https://h.example/x".parse().unwrap(), &reply);
            let FetchError::Transient { wait: asked, .. } = refused else { panic!("it passes") };
            assert_eq!(asked, Some(Duration::from_secs(wait)), "{said}");
        }
    }
}
