//! One request to the collector, tried again while that may help.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Counts, Phase};
use crate::{TelemetryConfig, TelemetryError};

/// The first wait before trying again; each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait before trying again, unless the collector asks for more.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Answers are short; more than this is not read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Why something could not be delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    #[error("the collector answers {0}")]
    Refused(StatusCode),
    #[error("the collector cannot be reached: {0}")]
    Unreachable(String),
    #[error("there is no time left")]
    OutOfTime,
}

pub(super) struct Post {
    client: Client,
    headers: HeaderMap,
    timeout: Duration,
    retry_for: Duration,
    counts: Arc<Counts>,
    phase: watch::Receiver<Phase>,
}

/// What one attempt came to.
enum Attempt {
    Taken(Bytes),
    Failed { lost: Lost, again: bool, wait: Option<Duration> },
}

impl Post {
    pub(super) fn new(
        config: &TelemetryConfig,
        counts: Arc<Counts>,
        phase: watch::Receiver<Phase>,
    ) -> Result<Self, TelemetryError> {
        for address in config.traces_url().into_iter().chain(config.metrics_url()) {
            check_address(&address)?;
        }
        let mut headers = HeaderMap::new();
        for (name, value) in config.headers.iter() {
            let unfit = || TelemetryError::Header { name: name.to_owned() };
            let mut value = HeaderValue::from_str(value).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        // The client wants one; that another crate has installed it already is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| TelemetryError::System(error.to_string()))?;
        let (timeout, retry_for) = (config.timeout, config.retry_for);
        Ok(Self { client, headers, timeout, retry_for, counts, phase })
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Delivers a body, trying again while that may help and there is time. Gives the collector's answer.
    pub(super) async fn deliver(&self, url: &str, body: Bytes) -> Result<Bytes, Lost> {
        let give_up = Instant::now() + self.retry_for;
        let mut wait = FIRST_WAIT;
        loop {
            let attempt = tokio::select! {
                biased;
                attempt = self.attempt(url, body.clone()) => attempt,
                () = self.out_of_time() => return Err(Lost::OutOfTime),
            };
            let (lost, asked) = match attempt {
                Attempt::Taken(answer) => return Ok(answer),
                Attempt::Failed { lost, again: true, wait } => (lost, wait),
                Attempt::Failed { lost, again: false, .. } => return Err(lost),
            };
            let pause = asked.unwrap_or(wait).max(wait);
            if Instant::now() + pause > give_up {
                return Err(lost);
            }
            tracing::debug!(target: "convoke::telemetry", %lost, ?pause, "telemetry is sent again");
            tokio::select! {
                biased;
                () = self.out_of_time() => return Err(lost),
                // At the end nobody waits long: what can still be delivered is delivered now.
                () = self.closing(), if self.phase.borrow().deadline().is_none() => {}
                () = tokio::time::sleep(pause) => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn attempt(&self, url: &str, body: Bytes) -> Attempt {
        let request = self.client.post(url).headers(self.headers.clone()).timeout(self.timeout).body(body);
        let unreachable = |error: reqwest::Error| Attempt::Failed {
            lost: Lost::Unreachable(innermost(&error.without_url())),
            again: true,
            wait: None,
        };
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return unreachable(error),
        };
        let status = response.status();
        if !status.is_success() {
            // Those four, says the protocol, and no others.
            let again = matches!(status.as_u16(), 429 | 502 | 503 | 504);
            let asked =
                response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            return Attempt::Failed {
                lost: Lost::Refused(status),
                again,
                wait: asked.map(Duration::from_secs),
            };
        }
        let mut answer = Vec::new();
        while answer.len() < LONGEST_ANSWER {
            match response.chunk().await {
                Ok(Some(piece)) => answer.extend_from_slice(&piece),
                // It said that it has taken them; what else it wanted to say does not matter.
                Ok(None) | Err(_) => break,
            }
        }
        Attempt::Taken(answer.into())
    }

    async fn closing(&self) {
        // The sender lives as long as the courier; without it there is nobody left to wait for.
        let _ = self.phase.clone().wait_for(|phase| phase.deadline().is_some()).await;
    }

    async fn out_of_time(&self) {
        self.closing().await;
        let deadline = self.phase.borrow().deadline();
        if let Some(deadline) = deadline {
            tokio::time::sleep_until(deadline).await;
        }
    }
}

/// The reason below all the wrapping: `connection refused` says more than `error sending request`.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn check_address(address: &str) -> Result<(), TelemetryError> {
    let invalid = |shown: String, problem: String| TelemetryError::Address { address: shown, problem };
    // What cannot be read may have anything in it, and is not shown.
    let url = Url::parse(address).map_err(|error| invalid("(not shown)".to_owned(), error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(()),
        other => {
            let shown = format!("{other}://{}", url.host_str().unwrap_or_default());
            Err(invalid(shown, format!("`{other}` is not spoken here, only http and https")))
        }
    }
}
