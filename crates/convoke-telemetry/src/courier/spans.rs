//! Spans in batches.

use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Phase, Post};
use crate::TelemetryConfig;

/// Collects spans, and takes them away in batches.
pub(super) struct Rounds {
    resource: Resource,
    batch_size: usize,
    delay: Duration,
}

impl Rounds {
    pub(super) fn new(config: &TelemetryConfig, resource: Resource) -> Self {
        Self { resource, batch_size: config.batch_size.max(1), delay: config.batch_delay }
    }

    /// Goes on until the queue is closed and empty.
    pub(super) async fn deliver(
        &self,
        post: &Post,
        url: &str,
        mut queue: mpsc::Receiver<Span>,
        mut phase: watch::Receiver<Phase>,
    ) {
        let mut is_closing = false;
        loop {
            let mut batch = Vec::new();
            let mut leave: Option<Instant> = None;
            while batch.len() < self.batch_size {
                let at = leave.unwrap_or_else(Instant::now);
                tokio::select! {
                    biased;
                    span = queue.recv() => match span {
                        Some(span) => {
                            batch.push(span);
                            leave.get_or_insert_with(|| Instant::now() + self.delay);
                        }
                        None => break,
                    },
                    () = tokio::time::sleep_until(at), if leave.is_some() => break,
                    // Closed, the queue gives what it has and then nothing: there is no more waiting.
                    _ = phase.wait_for(|phase| phase.deadline().is_some()), if !is_closing => {
                        is_closing = true;
                        queue.close();
                    }
                }
            }
            if batch.is_empty() {
                return;
            }
            self.deliver_batch(post, url, batch).await;
        }
    }

    async fn deliver_batch(&self, post: &Post, url: &str, spans: Vec<Span>) {
        let count = spans.len() as u64;
        match post.deliver(url, self.encoded(spans)).await {
            Ok(answer) => {
                // An answer that makes no sense is still a success.
                let rejected = ExportTraceServiceResponse::decode(answer)
                    .ok()
                    .and_then(|answer| answer.partial_success)
                    .map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0).min(count));
                post.counts().delivered(count - rejected);
                if rejected > 0 {
                    post.counts().dropped(rejected);
                    post.counts().say_lost("the collector rejected some of the spans");
                }
            }
            Err(lost) => {
                post.counts().dropped(count);
                post.counts().say_lost(&lost.to_string());
            }
        }
    }

    fn encoded(&self, spans: Vec<Span>) -> Bytes {
        let scope = InstrumentationScope {
            name: "convoke".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
        let resource = Some(self.resource.clone());
        let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
        ExportTraceServiceRequest { resource_spans }.encode_to_vec().into()
    }
}
