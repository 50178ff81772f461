//! Telemetry configuration: where it goes, and how much of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{InvalidVariable, TraceParent};

/// Telemetry configuration: where it goes, and how much of it.
///
/// The default sends nothing, because it has no [`endpoint`](Self::endpoint).
/// [`from_environment`](Self::from_environment) reads the standard `OTEL_*` variables.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryConfig {
    /// The collector's address for OTLP over HTTP with protobuf, such as `http://localhost:4318`; `/v1/traces` and
    /// `/v1/metrics` are appended. `None`: nothing is sent, unless one of the two has an address of its own.
    pub endpoint: Option<String>,
    /// The whole address for traces, if it is another.
    pub traces_endpoint: Option<String>,
    /// The whole address for metrics, if it is another.
    pub metrics_endpoint: Option<String>,
    /// Sent with every request: this is where keys are. Never shown.
    pub headers: Headers,
    /// Whether anything is sent at all.
    pub enabled: bool,
    /// Whether spans are sent.
    pub traces: bool,
    /// Whether metrics are sent.
    pub metrics: bool,
    /// What this process is called (`service.name`).
    pub service_name: String,
    /// What else is known about it.
    pub resource_attributes: BTreeMap<String, String>,
    /// Which share of traces is sent, from 0 to 1. Metrics count all runs.
    pub sample_ratio: f64,
    /// Whether a caller's decision to send its trace takes precedence over the share.
    pub follow_parent: bool,
    /// The caller's span that all runs are part of, unless they have [one of their own](crate::Telemetry::continues).
    pub parent: Option<TraceParent>,
    /// Whether prompts, replies, arguments and results of tools, questions and answers are sent too.
    pub record_content: bool,
    /// How much of them, in bytes per attribute.
    pub content_limit: usize,
    /// Whether requests are compressed.
    pub gzip: bool,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long the same spans are tried again before they are dropped.
    pub retry_for: Duration,
    /// How long [`shutdown`](crate::Telemetry::shutdown) waits at most.
    pub shutdown_timeout: Duration,
    /// How many finished spans may wait; more are dropped, and counted.
    pub queue_size: usize,
    /// How many spans go into one request at most.
    pub batch_size: usize,
    /// How long finished spans wait for company.
    pub batch_delay: Duration,
    /// How often metrics are sent.
    pub metrics_interval: Duration,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            traces_endpoint: None,
            metrics_endpoint: None,
            headers: Headers::default(),
            enabled: true,
            traces: true,
            metrics: true,
            service_name: "convoke".to_owned(),
            resource_attributes: BTreeMap::new(),
            sample_ratio: 1.0,
            follow_parent: true,
            parent: None,
            record_content: false,
            content_limit: 64 * 1024,
            gzip: false,
            timeout: Duration::from_secs(10),
            retry_for: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(5),
            queue_size: 8_192,
            batch_size: 512,
            batch_delay: Duration::from_secs(1),
            metrics_interval: Duration::from_secs(60),
        }
    }
}

impl TelemetryConfig {
    /// Sends to this collector.
    #[must_use]
    pub fn to(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::default() }
    }

    /// Reads the configuration from the process's environment: the standard `OTEL_*` variables, and `TRACEPARENT` with `TRACESTATE`.
    ///
    /// # Errors
    /// If a variable cannot be understood.
    pub fn from_environment() -> Result<Self, InvalidVariable> {
        Self::default().with_variables(|name| std::env::var(name).ok())
    }

    /// Where spans go, if they go anywhere.
    pub(crate) fn traces_url(&self) -> Option<String> {
        self.url(self.traces, self.traces_endpoint.as_deref(), "v1/traces")
    }

    /// Where metrics go, if they go anywhere.
    pub(crate) fn metrics_url(&self) -> Option<String> {
        self.url(self.metrics, self.metrics_endpoint.as_deref(), "v1/metrics")
    }

    fn url(&self, wanted: bool, own: Option<&str>, path: &str) -> Option<String> {
        if !self.enabled || !wanted {
            return None;
        }
        let appended = || Some(format!("{}/{path}", self.endpoint.as_deref()?.trim_end_matches('/')));
        own.map(str::to_owned).or_else(appended)
    }
}

/// Headers of requests. Their values are never shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// Adds one, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// The headers' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.0.keys().map(|name| (name, "(hidden)"))).finish()
    }
}

/// Telemetry cannot be started as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// An address cannot be used.
    #[error("invalid collector address `{address}`: {problem}. Write something like `http://localhost:4318`")]
    Address {
        /// The address, without what may be secret in it.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A header cannot be sent.
    #[error(
        "the telemetry header `{name}` cannot be sent: its name or its value has characters that headers must not have"
    )]
    Header {
        /// Its name.
        name: String,
    },
    /// The operating system gave no thread, no randomness or no sockets.
    #[error("telemetry could not be started: {0}")]
    System(String),
}
