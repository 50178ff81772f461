//! The HTTP client that `opentelemetry-otlp` sends with.
//!
//! Only the headers that were configured are sent, and they are shown nowhere; redirects are not followed; a collector on
//! this machine is never looked for behind a proxy; answers are bounded. Blocks its thread, which is the exporter's own.

use std::fmt;
use std::future::{Future, ready};
use std::io::Read;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use convoke_http::address::is_local;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::blocking::Client;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};

use crate::{TelemetryConfig, TelemetryError};

/// Answers are short; more than this is not read.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// Why something could not be exported.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("the collector answers {0}")]
    Refused(StatusCode),
    #[error("the collector cannot be reached: {0}")]
    Unreachable(String),
}

pub(super) struct HttpSender {
    client: Client,
    headers: HeaderMap,
    last: Mutex<LastResponse>,
}

/// What came of the last request.
#[derive(Default)]
struct LastResponse {
    failure: Option<String>,
    rejected: u64,
}

impl HttpSender {
    pub(super) fn new(config: &TelemetryConfig, url: &str) -> Result<Self, TelemetryError> {
        let url = checked(url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in config.headers.iter() {
            let unfit = || TelemetryError::Header { name: name.to_owned() };
            let mut value = HeaderValue::from_str(value).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value);
        }
        // The client wants one; that another crate has installed it already is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(config.timeout);
        let builder = if is_local(&url) { builder.no_proxy() } else { builder };
        let system = |error: String| TelemetryError::System(error);
        // It must not be made where asynchronous code runs, and the caller may be such.
        let client = std::thread::spawn(move || builder.build())
            .join()
            .map_err(|_| system("the HTTP client could not be made".to_owned()))?
            .map_err(|error| system(error.to_string()))?;
        Ok(Self { client, headers, last: Mutex::default() })
    }

    /// Why the last request failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.last().failure.clone()
    }

    /// How many spans of the last request the collector did not want.
    pub(super) fn rejected(&self) -> u64 {
        self.last().rejected
    }

    fn last(&self) -> MutexGuard<'_, LastResponse> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ExportError> {
        let unreachable = |error: &dyn std::error::Error| ExportError::Unreachable(innermost(error));
        let (parts, body) = request.into_parts();
        let mut headers = self.headers.clone();
        for name in [CONTENT_TYPE, CONTENT_ENCODING] {
            headers.extend(parts.headers.get(&name).map(|value| (name, value.clone())));
        }
        let request = self.client.post(parts.uri.to_string()).headers(headers).body(body);
        let response = request.send().map_err(|error| unreachable(&error.without_url()))?;
        let mut answer = Response::new(Bytes::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        let mut content = Vec::new();
        // It said whether it has taken them; if the rest is cut off, that does not matter.
        let _ = response.take(LONGEST_ANSWER).read_to_end(&mut content);
        *answer.body_mut() = content.into();
        Ok(answer)
    }
}

impl HttpClient for HttpSender {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let result = self.send(request);
        let failed = |error: &ExportError| LastResponse { failure: Some(error.to_string()), rejected: 0 };
        *self.last() = match &result {
            Ok(answer) if answer.status().is_success() => {
                LastResponse { failure: None, rejected: rejected(answer.body()) }
            }
            Ok(answer) => failed(&ExportError::Refused(answer.status())),
            Err(error) => failed(error),
        };
        Box::pin(ready(result.map_err(Into::into)))
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HttpSender")
    }
}

/// How many spans a collector rejected while it took the rest. An answer that makes no sense is still a success.
fn rejected(answer: &Bytes) -> u64 {
    let answer = ExportTraceServiceResponse::decode(answer.clone()).ok();
    let partial = answer.and_then(|answer| answer.partial_success);
    partial.map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0))
}

/// The reason below all the wrapping: `connection refused` says more than `error sending request`.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn checked(address: &str) -> Result<Url, TelemetryError> {
    let invalid = |shown: String, problem: String| TelemetryError::Address { address: shown, problem };
    // What cannot be read may have anything in it, and is not shown.
    let url = Url::parse(address).map_err(|error| invalid("(not shown)".to_owned(), error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => {
            let shown = format!("{other}://{}", url.host_str().unwrap_or_default());
            Err(invalid(shown, format!("`{other}` is not spoken here, only http and https")))
        }
    }
}
