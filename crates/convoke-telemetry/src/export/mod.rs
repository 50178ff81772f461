//! Hands finished spans to an exporter of the OpenTelemetry SDK, on a thread of its own.
//!
//! The SDK's own batch processor is not used: it does not say what it dropped. Nobody waits for the thread: who hands a
//! span over does so without waiting, and what does not fit is dropped and counted. At the end it is given a time, and
//! what it has not delivered by then is dropped. Exporters are called as the SDK calls them: one batch at a time, outside of any
//! asynchronous runtime.

mod counts;
mod http;
mod otlp;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

pub(crate) use counts::Counts;
pub use counts::Delivery;
pub(crate) use otlp::{metrics, spans};

use crate::{TelemetryConfig, TelemetryError};

/// Spans on their way to an exporter.
pub(crate) struct SpanQueue {
    /// Gone once no more spans are taken.
    spans: RwLock<Option<Sender<SpanData>>>,
    waiting: Arc<AtomicUsize>,
    most: usize,
    counts: Arc<Counts>,
    /// Disconnected when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl SpanQueue {
    /// Starts the thread that exports.
    pub(crate) fn start<E: SpanExporter + 'static>(
        config: &TelemetryConfig,
        resource: &Resource,
        mut exporter: E,
        counts: Arc<Counts>,
    ) -> Result<Self, TelemetryError> {
        exporter.set_resource(resource);
        let (spans, queue) = channel();
        let (alive, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let worker = Worker {
            queue,
            waiting: Arc::clone(&waiting),
            batch_size: config.batch_size.max(1),
            delay: config.batch_delay,
            counts: Arc::clone(&counts),
        };
        std::thread::Builder::new()
            .name("convoke-telemetry".to_owned())
            .spawn(move || {
                worker.work(&exporter);
                drop(exporter);
                drop(alive);
            })
            .map_err(|error| TelemetryError::System(error.to_string()))?;
        let most = config.queue_size.max(1);
        Ok(Self { spans: RwLock::new(Some(spans)), waiting, most, counts, ended: Mutex::new(ended) })
    }

    /// Takes a span, or drops it if there is no room.
    pub(crate) fn take(&self, span: SpanData) {
        let spans = self.spans.read().unwrap_or_else(PoisonError::into_inner);
        let Some(spans) = spans.as_ref() else { return self.counts.dropped("telemetry has been shut down") };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return self.counts.dropped("more spans than can wait were finished");
        }
        self.counts.taken();
        // It fails only if the thread panicked; then `wait` counts the span as dropped.
        let _ = spans.send(span);
    }

    /// Lets no more spans in. What waits is exported.
    pub(crate) fn close(&self) {
        self.spans.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits until everything is exported, or the time has come; what is left then is dropped.
    pub(crate) fn wait(&self, until: Instant) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is ever sent: it comes back when the thread has ended, or when the time has come.
        let _ = ended.recv_timeout(until.saturating_duration_since(Instant::now()));
        self.counts.give_up();
    }
}

struct Worker {
    queue: Receiver<SpanData>,
    waiting: Arc<AtomicUsize>,
    batch_size: usize,
    delay: Duration,
    counts: Arc<Counts>,
}

impl Worker {
    /// Goes on until no more spans can come, or there is no more time.
    fn work(&self, exporter: &impl SpanExporter) {
        while let Ok(first) = self.queue.recv() {
            let batch = self.batch(first);
            let spans = batch.len() as u64;
            let result = futures_executor::block_on(exporter.export(batch)).map_err(|error| reason(&error));
            if !self.counts.exported(spans, result.as_ref().copied().map_err(String::as_str)) {
                break;
            }
        }
        // What could not be exported has been said.
        let _ = exporter.shutdown();
    }

    fn batch(&self, first: SpanData) -> Vec<SpanData> {
        let leave = Instant::now() + self.delay;
        let mut batch = vec![first];
        while batch.len() < self.batch_size
            && let Ok(span) = self.queue.recv_timeout(leave.saturating_duration_since(Instant::now()))
        {
            batch.push(span);
        }
        self.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        batch
    }
}

/// Why an export failed.
fn reason(error: &OTelSdkError) -> String {
    match error {
        OTelSdkError::InternalFailure(reason) => reason.clone(),
        other => other.to_string(),
    }
}
