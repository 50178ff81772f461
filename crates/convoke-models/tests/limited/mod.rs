//! A server that allows so many requests in a period, and a model behind a gate that asks it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use convoke_core::{CallContext, Model, ModelError, ModelRequest, Reality, ReplyStream, Role};
use convoke_models::{Gate, ScriptedModel};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::Instant;

/// How the server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    /// So many in each period, one period after the other.
    Windows,
    /// A bucket that is filled all the time, and holds a period's worth.
    Bucket,
}

/// What the server says about its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// What is left, and when it is full again, with every reply.
    Spans,
    /// The same, in points in time to the second.
    Dates,
    /// How long to wait, with every refusal.
    RetryAfter,
    /// Nothing at all.
    Nothing,
}

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) who: String,
    pub(crate) at: Instant,
    pub(crate) is_refused: bool,
}

/// A server without a network.
pub(crate) struct LimitedServer {
    allowed: f64,
    per: Duration,
    counting: Counting,
    says: Says,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    left: f64,
    counted_at: Instant,
    seen: Vec<Seen>,
}

impl LimitedServer {
    pub(crate) fn new(allowed: u32, per: Duration, counting: Counting, says: Says) -> Self {
        let (allowed, began) = (f64::from(allowed), Instant::now());
        let state = State { left: allowed, counted_at: began, seen: Vec::new() };
        Self { allowed, per, counting, says, began, state: Mutex::new(state) }
    }

    pub(crate) fn ask(&self, who: String) -> (StatusCode, HeaderMap) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap();
        let full_in = match self.counting {
            Counting::Windows => {
                let window =
                    |time: Instant| time.duration_since(self.began).div_duration_f64(self.per) as u32;
                if window(now) > window(state.counted_at) {
                    state.left = self.allowed;
                }
                self.per * (window(now) + 1) - now.duration_since(self.began)
            }
            Counting::Bucket => {
                let filled = now.duration_since(state.counted_at).div_duration_f64(self.per) * self.allowed;
                state.left = (state.left + filled).min(self.allowed);
                self.per.mul_f64((self.allowed - state.left + 1.0) / self.allowed)
            }
        };
        state.counted_at = now;
        let is_refused = state.left < 1.0;
        if !is_refused {
            state.left -= 1.0;
        }
        state.seen.push(Seen { who, at: now, is_refused });
        let status = if is_refused { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
        (status, self.headers(is_refused, state.left, full_in))
    }

    fn headers(&self, is_refused: bool, left: f64, full_in: Duration) -> HeaderMap {
        let open_in = match self.counting {
            Counting::Windows => full_in,
            Counting::Bucket => self.per.div_f64(self.allowed),
        };
        let (limit, left) = (self.allowed.to_string(), left.floor().to_string());
        let pairs = match self.says {
            Says::Spans => vec![
                ("x-ratelimit-limit-requests", limit),
                ("x-ratelimit-remaining-requests", left),
                ("x-ratelimit-reset-requests", format!("{}ms", full_in.as_millis() + 1)),
            ],
            Says::Dates => {
                let clock = SystemTime::UNIX_EPOCH + self.began.elapsed();
                let full = (self.began.elapsed() + full_in).as_secs() + 1;
                let full = format!("1970-01-01T{:02}:{:02}:{:02}Z", full / 3_600, full / 60 % 60, full % 60);
                vec![
                    ("date", httpdate::fmt_http_date(clock)),
                    ("anthropic-ratelimit-requests-limit", limit),
                    ("anthropic-ratelimit-requests-remaining", left),
                    ("anthropic-ratelimit-requests-reset", full),
                ]
            }
            Says::RetryAfter if is_refused => vec![("retry-after", (open_in.as_secs() + 1).to_string())],
            Says::RetryAfter | Says::Nothing => vec![],
        };
        let header = |(name, value): (&'static str, String)| {
            (HeaderName::from_static(name), HeaderValue::try_from(value).unwrap())
        };
        pairs.into_iter().map(header).collect()
    }

    /// Everything it was asked, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }
}

/// A model at such a server, as providers' models are: each request passes the gate, and holds it until its reply is whole.
pub(crate) struct Gated {
    pub(crate) gate: Arc<Gate>,
    pub(crate) server: Arc<LimitedServer>,
    /// What it answers when it is let.
    pub(crate) script: ScriptedModel,
    /// How long a request is on its way, and its answer too.
    pub(crate) latency: Duration,
}

impl Gated {
    async fn open(&self, request: ModelRequest, call: CallContext) -> Result<ReplyStream<'_>, ModelError> {
        let mut admission = self.gate.admit(100).await;
        tokio::time::sleep(self.latency).await;
        let (status, headers) = self.server.ask(who(&request));
        tokio::time::sleep(self.latency).await;
        admission.record_response(status, &headers);
        if !status.is_success() {
            let error = ModelError::of_status(status.as_u16(), "slow down");
            let wait = headers.get("retry-after").and_then(|wait| wait.to_str().ok()?.parse().ok());
            return Err(wait.map_or(error.clone(), |wait| error.with_retry_after(Duration::from_secs(wait))));
        }
        let pieces = self.script.reply(request, call);
        Ok(Box::pin(pieces.inspect(move |_| {
            let _held = &admission;
        })))
    }
}

/// The first thing a user said in a conversation.
fn who(request: &ModelRequest) -> String {
    let first = request.messages.iter().find(|message| message.role == Role::User);
    first.map(|message| message.text()).unwrap_or_default()
}

impl Model for Gated {
    fn name(&self) -> &str {
        "gated"
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        Box::pin(stream::once(self.open(request, call)).try_flatten())
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }
}
