//! One request to a provider and its reply, as far as models and embedders share it: the key, the gate, the time limits,
//! and what a refusal means.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use convoke_core::{ModelError, ModelErrorKind};
use convoke_http::secrets_of;
use convoke_text::redaction::Secrets;
use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Protocol, Provider, ProviderSettings, WireRequest, excerpt, failure};
use crate::gate::{Admission, Gate};
use crate::http::{ApiKey, Body, HttpReply, HttpRequest, TransportError, TransportFailure};

/// How much of a refusal is read.
const LARGEST_REFUSAL: usize = 64 * 1024;

/// How long a refusal may take to come in.
const REFUSAL: Duration = Duration::from_secs(10);

/// How much of the name of a compression is shown.
const SHOWN_OF_ENCODING: usize = 40;

/// What a limit without end comes to.
const FOR_EVER: Duration = Duration::from_hours(24 * 365 * 30);

/// The way to one model of one provider.
pub(crate) struct Exchange {
    /// `anthropic/claude-…`, as people write it.
    pub(crate) name: String,
    /// As the provider knows it.
    pub(crate) model: String,
    pub(crate) protocol: Box<dyn Protocol>,
    pub(crate) settings: ProviderSettings,
    /// What the settings' headers and address carry in secret, the key aside.
    secrets: Secrets,
    gate: Arc<Gate>,
}

/// A reply that is no refusal and whose body is still on its way.
pub(crate) struct OpenReply {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// Until when the first piece must have come.
    pub(crate) deadline: Instant,
    /// To be held until the reply is whole or dropped.
    pub(crate) admission: Admission,
}

impl Exchange {
    /// The way to the model that this provider calls `model`.
    ///
    /// # Errors
    /// [`ModelErrorKind::InvalidRequest`] if there is no address, [`ModelErrorKind::Authentication`] if a key is needed
    /// and missing.
    pub(crate) fn new(model: &str, settings: ProviderSettings) -> Result<Self, ModelError> {
        let provider = settings.provider;
        let name = format!("{}/{model}", settings.service);
        if settings.base_url.is_empty() {
            let message = format!(
                "{name}: no address; set services.{}.base_url in convoke.toml, for instance to http://127.0.0.1:8080/v1",
                settings.service
            );
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
        }
        let has_key = settings.key.as_ref().is_some_and(|key| !key.is_empty());
        // A server of one's own that speaks like a provider may need none.
        let is_at_home = Some(settings.base_url.as_str()) == provider.base_url();
        if provider.needs_key() && is_at_home && !has_key {
            let variables = provider.key_variables().join(" or ");
            let message = format!("{name}: no key; set {variables}");
            return Err(ModelError::new(ModelErrorKind::Authentication, message));
        }
        let gate = Gate::shared(&settings.base_url, settings.key.as_ref());
        let mut secrets = secrets_of(&settings.headers, &settings.base_url);
        secrets.extend(settings.key.as_ref().map(ApiKey::expose));
        let protocol = protocol(model, &settings);
        Ok(Self { name, model: model.to_owned(), protocol, settings, secrets, gate })
    }

    /// Sends a request that will use about so many tokens, and waits until the reply begins.
    pub(crate) async fn send(&self, wire: WireRequest, tokens: u64) -> Result<OpenReply, ModelError> {
        let mut headers = wire.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        self.sign(&mut headers)?;
        headers.extend(self.settings.headers.clone());
        let request = HttpRequest {
            method: Method::POST,
            url: address(&self.settings.base_url, &wire.path),
            headers,
            body: Bytes::from(wire.body.to_string()),
        };
        let mut admission = self.gate.admit(tokens).await;
        let limit = self.settings.time_limits.first_token;
        let now = Instant::now();
        let deadline = now.checked_add(limit).unwrap_or(now + FOR_EVER);
        let sent = timeout_at(deadline, self.settings.transport.send(request)).await;
        let reply = sent.map_err(|_| self.silent(limit))?.map_err(|error| self.unsent(error))?;
        admission.record_response(reply.status, &reply.headers);
        if !reply.status.is_success() {
            return Err(self.refused(reply, &mut admission).await);
        }
        if let Some(encoding) = encoding(&reply.headers) {
            let message = format!(
                "the reply is compressed ({}), which was not asked for; have the server, or the proxy before it, send it as it is",
                excerpt(encoding, SHOWN_OF_ENCODING)
            );
            return Err(self.named(ModelError::new(ModelErrorKind::Malformed, message)));
        }
        Ok(OpenReply { headers: reply.headers, body: reply.body, deadline, admission })
    }

    /// The next bytes of a body. The first sign of an answer must come before the deadline, if it is still to come. Once
    /// anything came, a pause may not be longer than the idle limit, of which so much has passed already.
    pub(crate) async fn bytes(
        &self,
        body: &mut Body,
        deadline: Option<Instant>,
        waited: Option<Duration>,
    ) -> Result<Option<Bytes>, ModelError> {
        let (limits, now) = (self.settings.time_limits, Instant::now());
        let far = now + FOR_EVER;
        let idle =
            waited.map_or(far, |waited| now.checked_add(limits.idle.saturating_sub(waited)).unwrap_or(far));
        let first = deadline.unwrap_or(far);
        let end = first.min(idle);
        let too_late =
            || if first <= idle { self.silent(limits.first_token) } else { self.stalled(limits.idle) };
        // Bytes that are there already would be given however late it is.
        if now >= end {
            return Err(too_late());
        }
        let bytes = timeout_at(end, body.next()).await.map_err(|_| too_late())?;
        bytes.transpose().map_err(|error| self.named(error.into()))
    }

    fn sign(&self, headers: &mut HeaderMap) -> Result<(), ModelError> {
        let Some(key) = self.settings.key.as_ref().filter(|key| !key.is_empty()) else { return Ok(()) };
        let (name, prefix) = self.protocol.key_header();
        let value = key.header(prefix).ok_or_else(|| {
            let message = format!("{}: the key has characters that no key has; copy it anew", self.name);
            ModelError::new(ModelErrorKind::Authentication, message)
        })?;
        headers.insert(HeaderName::from_static(name), value);
        Ok(())
    }

    async fn refused(&self, reply: HttpReply, admission: &mut Admission) -> ModelError {
        let mut body = Vec::new();
        let mut rest = reply.body;
        let _ = timeout(REFUSAL, async {
            while let Some(Ok(bytes)) = rest.next().await {
                body.extend_from_slice(&bytes);
                if body.len() > LARGEST_REFUSAL {
                    break;
                }
            }
        })
        .await;
        // Before it is cut to what is shown: half a secret is not found any more.
        let body = match encoding(&reply.headers) {
            Some(encoding) => {
                let encoding = excerpt(encoding, SHOWN_OF_ENCODING);
                format!("why cannot be read: its words are compressed ({encoding}), which was not asked for")
            }
            None => self.hidden(&String::from_utf8_lossy(&body)),
        };
        let mut error = failure::of_reply(&*self.protocol, &self.name, reply.status, &reply.headers, &body);
        if matches!(error.kind, ModelErrorKind::RateLimited | ModelErrorKind::Overloaded) {
            match error.retry_after.filter(|wait| !wait.is_zero()) {
                // Some say it in the body only, which the gate has not seen.
                Some(wait) => admission.record_retry_after(wait),
                // Whoever asks again is not let through before, and must not say that it waits for less.
                None => error.retry_after = admission.closed_for().or(error.retry_after),
            }
        }
        self.redacted(error)
    }

    fn unsent(&self, mut error: TransportError) -> ModelError {
        let is_at = |port| self.settings.base_url.contains(port);
        if error.failure == TransportFailure::Connect {
            error.message.push_str(if self.settings.provider == Provider::Ollama || is_at(":11434") {
                "; is Ollama running? Start it with `ollama serve`"
            } else if is_at(":1234/") {
                "; is LM Studio's server running? Start it with `lms server start`"
            } else {
                ""
            });
        }
        self.named(error.into())
    }

    fn silent(&self, limit: Duration) -> ModelError {
        let message = format!("{}: no sign of an answer came within {limit:?}", self.name);
        ModelError::new(ModelErrorKind::TimedOut, message)
    }

    fn stalled(&self, limit: Duration) -> ModelError {
        let message = format!("{}: the reply stopped for {limit:?} before it was whole", self.name);
        ModelError::new(ModelErrorKind::TimedOut, message)
    }

    /// The error, with the model's name in front and without secrets.
    pub(crate) fn named(&self, error: ModelError) -> ModelError {
        self.redacted(ModelError { message: format!("{}: {}", self.name, error.message), ..error })
    }

    /// The error without secrets: some servers repeat what they were sent.
    fn redacted(&self, error: ModelError) -> ModelError {
        let request_id = error.request_id.map(|id| self.hidden(&id));
        ModelError { message: self.hidden(&error.message), request_id, ..error }
    }

    /// A text without secrets. Protocols cut what they quote, so part of one counts too.
    pub(crate) fn hidden(&self, text: &str) -> String {
        self.secrets.hide_cut(text)
    }
}

/// How a body is compressed. Nobody asks for it, so nothing here can read it.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then_some(encoding)
}

/// The address of a path at a base, which may have a query of its own: `https://host/v1?api-version=1`.
fn address(base: &str, path: &str) -> String {
    let Some((base, query)) = base.split_once('?') else { return format!("{base}{path}") };
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{}{path}{joint}{query}", base.trim_end_matches('/'))
}

fn protocol(model: &str, settings: &ProviderSettings) -> Box<dyn Protocol> {
    match settings.provider {
        Provider::Anthropic => Box::new(super::anthropic::Messages::new(model, settings)),
        Provider::OpenAi => Box::new(super::responses::Responses::new(&settings.base_url, model)),
        Provider::OpenAiCompatible => Box::new(super::chat::ChatCompletions::new(&settings.base_url, model)),
        Provider::Gemini => Box::new(super::gemini::GenerateContent::new(&settings.base_url, model)),
        Provider::Ollama => Box::new(super::ollama::OllamaChat::new(&settings.base_url, model)),
    }
}
