//! Takes finished spans and metrics to the collector, on a thread of its own.
//!
//! Nobody waits for it: who hands something over does so without waiting, and what does not fit is dropped and counted.
//! The thread ends when it is told to, and then by the time it is given.

mod counts;
mod post;
mod spans;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

pub(crate) use counts::Counts;
pub use counts::Delivery;
use post::{Lost, Post};

use crate::{TelemetryConfig, TelemetryError};

/// How many exports of metrics may wait; there is never more than one under way.
const METRICS_WAITING: usize = 2;

/// How far the end has come.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Everything is taken.
    Open,
    /// No more spans are taken; everything must be delivered by then.
    Closing(Instant),
    /// No more metrics are taken either.
    Closed(Instant),
}

impl Phase {
    fn deadline(self) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::Closing(by) | Self::Closed(by) => Some(by),
        }
    }
}

/// Encoded metrics, and where to say what became of them.
pub(crate) type MetricsParcel = (Bytes, oneshot::Sender<Result<(), String>>);

pub(crate) struct Courier {
    spans: mpsc::Sender<Span>,
    metrics: mpsc::Sender<MetricsParcel>,
    counts: Arc<Counts>,
    phase: watch::Sender<Phase>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Courier {
    pub(crate) fn start(config: &TelemetryConfig, resource: Resource) -> Result<Self, TelemetryError> {
        let counts = Arc::new(Counts::default());
        let (phase, seen) = watch::channel(Phase::Open);
        let (spans, span_queue) = mpsc::channel(config.queue_size.max(1));
        let (metrics, metrics_queue) = mpsc::channel(METRICS_WAITING);
        let post = Post::new(config, Arc::clone(&counts), seen.clone())?;
        let rounds = spans::Rounds::new(config, resource);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| TelemetryError::System(error.to_string()))?;
        let traces_url = config.traces_url();
        let metrics_url = config.metrics_url();
        let work = async move {
            let spans = async {
                if let Some(url) = traces_url {
                    rounds.deliver(&post, &url, span_queue, seen.clone()).await;
                }
            };
            let metrics = async {
                if let Some(url) = metrics_url {
                    deliver_metrics(&post, &url, metrics_queue, seen.clone()).await;
                }
            };
            tokio::join!(spans, metrics);
        };
        let thread = std::thread::Builder::new()
            .name("convoke-telemetry".to_owned())
            .spawn(move || runtime.block_on(work))
            .map_err(|error| TelemetryError::System(error.to_string()))?;
        Ok(Self { spans, metrics, counts, phase, thread: Mutex::new(Some(thread)) })
    }

    /// Takes a span, or drops it if there is no room.
    pub(crate) fn take(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
            self.counts.dropped(1);
            self.counts.say_lost("more spans than can wait were finished");
        }
    }

    pub(crate) fn metrics(&self) -> mpsc::Sender<MetricsParcel> {
        self.metrics.clone()
    }

    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Lets no more spans in, and has what is there delivered by then.
    pub(crate) fn begin_closing(&self, within: Duration) {
        self.phase.send_if_modified(|phase| {
            let is_open = matches!(phase, Phase::Open);
            if is_open {
                *phase = Phase::Closing(Instant::now() + within);
            }
            is_open
        });
    }

    /// Lets nothing in any more.
    pub(crate) fn close(&self) {
        self.phase.send_modify(|phase| {
            *phase = Phase::Closed(phase.deadline().unwrap_or_else(Instant::now));
        });
    }

    /// Waits for the thread, which ends by the time it was given.
    pub(crate) fn wait(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It ends by panicking only if we made a mistake, and then there is nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Drop for Courier {
    /// Whoever did not shut down does not wait: what is queued is delivered if the process lives long enough.
    fn drop(&mut self) {
        self.begin_closing(Duration::from_secs(5));
        self.close();
    }
}

async fn deliver_metrics(
    post: &Post,
    url: &str,
    mut queue: mpsc::Receiver<MetricsParcel>,
    mut phase: watch::Receiver<Phase>,
) {
    loop {
        let parcel = tokio::select! {
            biased;
            parcel = queue.recv() => parcel,
            () = closed(&mut phase) => None,
        };
        let Some((body, told)) = parcel else { return };
        let result = post.deliver(url, body).await.map(|_| ()).map_err(|lost: Lost| lost.to_string());
        if let Err(reason) = &result {
            post.counts().say_lost(reason);
        }
        // The reader may have given up waiting.
        let _ = told.send(result);
    }
}

async fn closed(phase: &mut watch::Receiver<Phase>) {
    // The sender lives as long as the courier; without it there is nothing left to come.
    let _ = phase.wait_for(|phase| matches!(phase, Phase::Closed(_))).await;
}
