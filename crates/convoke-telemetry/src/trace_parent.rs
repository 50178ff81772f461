//! Parses and writes `traceparent`, the caller's span in W3C Trace Context.

use std::fmt;
use std::str::FromStr;

use convoke_text::{hex, unhex};

use opentelemetry::trace::TraceContextExt;

/// A span of somebody else's that a run is part of.
///
/// ```
/// use convoke_telemetry::TraceParent;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent: TraceParent = text.parse()?;
/// assert!(parent.is_sampled());
/// assert_eq!(parent.to_string(), text);
/// # Ok::<(), convoke_telemetry::InvalidTraceParent>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub(crate) trace_id: [u8; 16],
    pub(crate) span_id: [u8; 8],
    pub(crate) sampled: bool,
    pub(crate) state: String,
}

/// Text that is no `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid traceparent `{0}`: it must be like `00-<32 hex digits>-<16 hex digits>-01`, and not all zeros"
)]
pub struct InvalidTraceParent(String);

impl TraceParent {
    /// The span that the caller is in, if it uses OpenTelemetry: that of the current context. With `tracing`, its layer
    /// for OpenTelemetry sets that.
    #[must_use]
    pub fn current() -> Option<Self> {
        opentelemetry::Context::map_current(|context| {
            let span = context.span();
            let known = span.span_context();
            known.is_valid().then(|| Self {
                trace_id: known.trace_id().to_bytes(),
                span_id: known.span_id().to_bytes(),
                sampled: known.is_sampled(),
                state: known.trace_state().header(),
            })
        })
    }

    /// Adds the `tracestate` that goes along.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<String>) -> Self {
        self.state = state.into();
        self
    }

    /// Returns the `tracestate` that goes along; may be empty.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns whether the caller sends its trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.trim()).ok_or_else(|| InvalidTraceParent(text.chars().take(80).collect()))
    }
}

fn parse(text: &str) -> Option<TraceParent> {
    let mut parts = text.split('-');
    let version = bytes::<1>(parts.next()?)?[0];
    let (trace_id, span_id) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
    let flags = bytes::<1>(parts.next()?)?[0];
    // Later versions may add parts at the end; the first has none.
    let has_more = parts.next().is_some();
    let is_valid = version != 0xff && !(version == 0 && has_more) && trace_id != [0; 16] && span_id != [0; 8];
    is_valid.then(|| TraceParent { trace_id, span_id, sampled: flags & 1 == 1, state: String::new() })
}

/// Exactly so many bytes, in lower-case hexadecimal.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower_case = !text.contains(|digit: char| digit.is_ascii_uppercase());
    unhex(text).filter(|_| is_lower_case)?.try_into().ok()
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{:02x}", hex(&self.trace_id), hex(&self.span_id), u8::from(self.sampled))
    }
}
