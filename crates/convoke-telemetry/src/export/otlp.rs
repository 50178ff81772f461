//! The exporters of `opentelemetry-otlp`, as configured, for spans and for metrics.
//!
//! They encode, compress and try again. How requests are made is ours ([`HttpSender`]).

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_otlp::{
    Compression, ExporterBuildError, Protocol, RetryPolicy, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use super::Counts;
use super::http::HttpSender;
use crate::{TelemetryConfig, TelemetryError};

/// The first pause before trying again; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause, unless the collector asks for more. Short, for at the end the last one is waited for too.
const LONGEST_PAUSE: Duration = Duration::from_millis(1_600);

/// Exports spans to the configured collector.
pub(crate) fn spans(
    config: &TelemetryConfig,
    url: &str,
    counts: Arc<Counts>,
) -> Result<impl SpanExporter + 'static, TelemetryError> {
    let sender = Arc::new(HttpSender::new(config, url)?);
    let builder = opentelemetry_otlp::SpanExporter::builder().with_http();
    let exporter = configured(builder, config, url, &sender).build().map_err(unusable)?;
    Ok(OtlpSpans { exporter, sender, counts })
}

/// Exports metrics to the configured collector.
pub(crate) fn metrics(
    config: &TelemetryConfig,
    url: &str,
    counts: Arc<Counts>,
) -> Result<impl PushMetricExporter, TelemetryError> {
    let sender = Arc::new(HttpSender::new(config, url)?);
    let builder = opentelemetry_otlp::MetricExporter::builder().with_http();
    let builder = configured(builder, config, url, &sender).with_temporality(Temporality::Cumulative);
    Ok(OtlpMetrics { exporter: builder.build().map_err(unusable)?, sender, counts })
}

fn configured<B: WithExportConfig + WithHttpConfig>(
    builder: B,
    config: &TelemetryConfig,
    url: &str,
    sender: &Arc<HttpSender>,
) -> B {
    // How long one request may take is the sender's to know; this is the time for all of them.
    let retries = RetryPolicy::recommended()
        .with_max_retries(usize::MAX)
        .with_initial_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE);
    let builder = builder
        .with_endpoint(url)
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(config.retry_for)
        .with_retry_policy(retries)
        .with_shared_http_client(Arc::clone(sender) as Arc<_>);
    if config.gzip { builder.with_compression(Compression::Gzip) } else { builder }
}

fn unusable(error: ExporterBuildError) -> TelemetryError {
    TelemetryError::System(error.to_string())
}

struct OtlpSpans {
    exporter: opentelemetry_otlp::SpanExporter,
    sender: Arc<HttpSender>,
    counts: Arc<Counts>,
}

impl SpanExporter for OtlpSpans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        let rejected = self.sender.rejected();
        if rejected > 0 {
            self.counts.rejected(rejected);
        }
        explained(result, &self.sender)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

// What is in it may be secret.
impl std::fmt::Debug for OtlpSpans {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OtlpSpans")
    }
}

struct OtlpMetrics {
    exporter: opentelemetry_otlp::MetricExporter,
    sender: Arc<HttpSender>,
    counts: Arc<Counts>,
}

impl PushMetricExporter for OtlpMetrics {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = explained(self.exporter.export(metrics).await, &self.sender);
        if let Err(error) = &result {
            self.counts.log_loss(&super::reason(error));
        }
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

/// A failure with the reason that the sender knows: the library says only that there was one.
fn explained(result: OTelSdkResult, sender: &HttpSender) -> OTelSdkResult {
    let failure = sender.failure();
    result.map_err(|error| failure.map_or(error, OTelSdkError::InternalFailure))
}
