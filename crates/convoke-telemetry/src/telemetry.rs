//! The whole: started once a process, put on a runtime, and shut down at the end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Event, Observer, RunId, RuntimeBuilder};
use opentelemetry::metrics::Meter;
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::courier::Courier;
use crate::metrics::Metrics;
use crate::trace::{Outlet, Tracer};
use crate::{Delivery, TelemetryConfig, TelemetryError, TraceParent, attribute};

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
        let (traces, metrics) = (config.traces_url(), config.metrics_url());
        if traces.is_none() && metrics.is_none() {
            return Ok(Self::off());
        }
        let courier = Courier::start(config, resource(config))?;
        let metrics = metrics.map(|_| {
            let described = described(config).into_iter().map(|(k, v)| opentelemetry::KeyValue::new(k, v));
            let resource = opentelemetry_sdk::Resource::builder_empty().with_attributes(described).build();
            let (sender, counts) = (courier.metrics(), Arc::clone(courier.counts()));
            Metrics::new(resource, config.metrics_interval, sender, counts)
        });
        let content = config.record_content.then_some(config.content_limit);
        let outlet = Outlet { courier, metrics, sends_spans: traces.is_some(), content };
        let working = Some(Arc::new(Tracer::new(config, outlet)));
        Ok(Self { working, shutdown_timeout: config.shutdown_timeout })
    }

    /// Nothing is watched, nothing is sent.
    #[must_use]
    pub fn off() -> Self {
        Self { working: None, shutdown_timeout: Duration::ZERO }
    }

    /// Whether anything is sent.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.working.is_some()
    }

    /// Has the runtime's runs watched. If nothing is sent, nobody is told anything.
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

    /// Where to count more: the original's [counter](crate::original::Counter), for instance.
    #[must_use]
    pub fn meter(&self) -> Option<Meter> {
        Some(self.working.as_ref()?.outlet().metrics.as_ref()?.meter())
    }

    /// What was delivered so far, and what was not.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.working.as_ref().map(|tracer| tracer.outlet().courier.counts().so_far()).unwrap_or_default()
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
    let outlet = tracer.outlet();
    outlet.courier.begin_closing(timeout);
    if let Some(metrics) = &outlet.metrics {
        metrics.shutdown();
    }
    outlet.courier.close();
    outlet.courier.wait();
    let Delivery { delivered, dropped, .. } = outlet.courier.counts().so_far();
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
fn described(config: &TelemetryConfig) -> Vec<(String, String)> {
    let own = [
        ("service.name", config.service_name.as_str()),
        ("telemetry.sdk.name", "convoke"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
    ];
    let own = own.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    own.chain(config.resource_attributes.clone()).collect()
}

fn resource(config: &TelemetryConfig) -> Resource {
    let attributes = described(config).into_iter().map(|(key, value)| attribute::text(&key, value)).collect();
    Resource { attributes, ..Resource::default() }
}
