//! The `Telemetry` handle: started once a process, put on a runtime, and shut down at the end.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use convoke_core::{Event, Observer, RunId, RuntimeBuilder};
use opentelemetry::metrics::Meter;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter;

use crate::export::{self, Counts, SpanQueue};
use crate::metrics::Metrics;
use crate::trace::{ExportTarget, Tracer};
use crate::{Delivery, TelemetryConfig, TelemetryError, TraceParent};

/// Sends what runs do to a collector. Made once a process; [`shutdown`](Self::shutdown) is the last thing.
///
/// Each run is a trace: `invoke_workflow NAME`, with the steps, agents, calls of models and tools, and questions below it.
/// A run that goes on later is a trace of its own, of what is new in it; it links to the earlier one if that was seen by
/// this process, and both have the same `convoke.run.id`.
pub struct Telemetry {
    working: Option<Arc<Tracer>>,
    shutdown_timeout: Duration,
}

impl Telemetry {
    /// Begins. Without an endpoint, or disabled, it does nothing and costs nothing.
    ///
    /// # Errors
    /// If an address or a header is not one. That a collector cannot be reached is no error.
    pub fn start(config: &TelemetryConfig) -> Result<Self, TelemetryError> {
        let counts = Arc::new(Counts::default());
        let spans = match config.traces_url() {
            Some(url) => {
                let exporter = export::spans(config, &url, Arc::clone(&counts))?;
                Some(SpanQueue::start(config, &resource(config), exporter, Arc::clone(&counts))?)
            }
            None => None,
        };
        Self::with_spans(config, spans, counts)
    }

    /// Begins, with spans going to the caller's own exporter and not to an endpoint. Everything else is as
    /// [configured](TelemetryConfig); metrics go to their endpoint, if there is one.
    ///
    /// The exporter is called as the SDK's batch processor calls it: one batch at a time, on a thread of its own,
    /// outside of any asynchronous runtime. One that hangs holds up nobody; what it has not exported
    /// when [`shutdown`](Self::shutdown) ends is counted as dropped.
    ///
    /// ```
    /// use convoke_telemetry::{Telemetry, TelemetryConfig};
    /// # use opentelemetry_sdk::trace::InMemorySpanExporter;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let exporter = InMemorySpanExporter::default();
    /// let telemetry = Telemetry::with_exporter(&TelemetryConfig::default(), exporter)?;
    /// assert!(telemetry.is_on());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If an address or a header for metrics is not one, or there is no thread to be had.
    pub fn with_exporter(
        config: &TelemetryConfig,
        exporter: impl SpanExporter + 'static,
    ) -> Result<Self, TelemetryError> {
        let counts = Arc::new(Counts::default());
        let is_wanted = config.enabled && config.traces;
        let spans = is_wanted
            .then(|| SpanQueue::start(config, &resource(config), exporter, Arc::clone(&counts)))
            .transpose()?;
        Self::with_spans(config, spans, counts)
    }

    fn with_spans(
        config: &TelemetryConfig,
        spans: Option<SpanQueue>,
        counts: Arc<Counts>,
    ) -> Result<Self, TelemetryError> {
        let metrics = match config.metrics_url() {
            Some(url) => {
                let exporter = export::metrics(config, &url, Arc::clone(&counts))?;
                let interval = config.metrics_interval;
                Some(Metrics::new(resource(config), interval, exporter, Arc::clone(&counts)))
            }
            None => None,
        };
        if spans.is_none() && metrics.is_none() {
            return Ok(Self::off());
        }
        let content = config.record_content.then_some(config.content_limit);
        let scope = InstrumentationScope::builder("convoke").with_version(env!("CARGO_PKG_VERSION")).build();
        let target = ExportTarget { spans, metrics, counts, scope, content };
        let working = Some(Arc::new(Tracer::new(config, target)));
        Ok(Self { working, shutdown_timeout: config.shutdown_timeout })
    }

    /// Nothing is watched, nothing is sent.
    #[must_use]
    pub fn off() -> Self {
        Self { working: None, shutdown_timeout: Duration::ZERO }
    }

    /// Returns whether anything is sent.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.working.is_some()
    }

    /// Observes the runs of a runtime. If nothing is sent, no observer is added.
    pub fn watch(&self, runtime: RuntimeBuilder) -> RuntimeBuilder {
        match self.observer() {
            Some(observer) => runtime.observer(observer),
            None => runtime,
        }
    }

    /// The observer, for those who put it on a runtime themselves.
    #[must_use]
    pub fn observer(&self) -> Option<TelemetryObserver> {
        self.working.clone().map(TelemetryObserver)
    }

    /// Makes a run part of the caller's trace. Before it is started; a run that is to be continued needs an
    /// [id of its own](convoke_core::Start::id).
    pub fn continues(&self, run: &RunId, parent: TraceParent) {
        if let Some(tracer) = &self.working {
            tracer.continues(run, parent);
        }
    }

    /// The span of a run under way, for passing on to whatever the run calls.
    #[must_use]
    pub fn span_of(&self, run: &RunId) -> Option<TraceParent> {
        self.working.as_ref()?.span_of(run)
    }

    /// Returns the meter, for metrics of your own: agentcore's [counter](crate::agentcore_events::Counter), for instance.
    #[must_use]
    pub fn meter(&self) -> Option<Meter> {
        Some(self.working.as_ref()?.target().metrics.as_ref()?.meter())
    }

    /// Returns how many spans were delivered and dropped so far.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.working.as_ref().map(|tracer| tracer.target().counts.so_far()).unwrap_or_default()
    }

    /// Delivers what is left and stops, waiting at most [as long as configured](TelemetryConfig::shutdown_timeout).
    /// Blocks its thread: in asynchronous code use [`shutdown_async`](Self::shutdown_async).
    pub fn shutdown(&self) -> Delivery {
        if let Some(tracer) = &self.working {
            shut_down(tracer, self.shutdown_timeout);
        }
        self.delivery()
    }

    /// [`shutdown`](Self::shutdown) without blocking.
    pub async fn shutdown_async(&self) -> Delivery {
        if let Some(tracer) = self.working.clone() {
            let timeout = self.shutdown_timeout;
            let (done, waiting) = tokio::sync::oneshot::channel();
            let thread =
                std::thread::Builder::new().name("convoke-telemetry-end".to_owned()).spawn(move || {
                    shut_down(&tracer, timeout);
                    // Whoever waited may have gone.
                    let _ = done.send(());
                });
            if thread.is_ok() {
                let _ = waiting.await;
            }
        }
        self.delivery()
    }
}

fn shut_down(tracer: &Tracer, timeout: Duration) {
    let until = Instant::now() + timeout;
    let target = tracer.target();
    if let Some(spans) = &target.spans {
        spans.close();
    }
    if let Some(metrics) = &target.metrics {
        metrics.shutdown(until);
    }
    if let Some(spans) = &target.spans {
        spans.wait(until);
    }
    let Delivery { delivered, dropped, .. } = target.counts.so_far();
    if dropped > 0 {
        tracing::warn!(target: "convoke::telemetry", dropped, delivered, "spans were lost");
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Telemetry").field("on", &self.is_on()).finish_non_exhaustive()
    }
}

/// Hears what runs tell. Quick: it never waits for the collector.
#[derive(Clone)]
pub struct TelemetryObserver(Arc<Tracer>);

impl Observer for TelemetryObserver {
    fn observe(&self, event: &Event) {
        self.0.observe(event);
    }
}

impl fmt::Debug for TelemetryObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TelemetryObserver")
    }
}

/// What is known about this process.
fn resource(config: &TelemetryConfig) -> Resource {
    let own = [
        ("service.name", config.service_name.as_str()),
        ("telemetry.sdk.name", "convoke"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
    ];
    let own = own.into_iter().map(|(key, value)| KeyValue::new(key, value.to_owned()));
    let more = config.resource_attributes.clone().into_iter().map(|(key, value)| KeyValue::new(key, value));
    Resource::builder_empty().with_attributes(own.chain(more)).build()
}
