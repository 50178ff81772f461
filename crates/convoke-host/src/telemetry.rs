//! Telemetry of runs: a collector of traces and metrics, and the log.
//!
//! Neither can hold up a run or fail it. What cannot be sent is said once, at the end.

use convoke_config::{Config, Origin};
use convoke_core::RuntimeBuilder;
use convoke_telemetry::logging::{self, RunLog};
use convoke_telemetry::{Delivery, Headers, Telemetry, TelemetryConfig};

/// The telemetry of the runs of this process.
pub struct RunTelemetry {
    telemetry: Telemetry,
}

impl RunTelemetry {
    /// Begins to watch. What is wrong with how telemetry is configured is noted; runs do without it.
    #[must_use]
    pub fn start(config: &Config, notes: &mut Vec<String>) -> Self {
        let telemetry = settings(config)
            .and_then(|settings| Telemetry::start(&settings).map_err(|error| error.to_string()))
            .unwrap_or_else(|problem| {
                notes.push(format!("no traces are sent: {problem}"));
                Telemetry::off()
            });
        Self { telemetry }
    }

    /// Has the runtime's runs watched.
    pub fn watch(&self, builder: RuntimeBuilder) -> RuntimeBuilder {
        let builder = self.telemetry.watch(builder);
        if logging::is_on() { builder.observer(RunLog) } else { builder }
    }

    /// Checks whether anything is sent anywhere.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.telemetry.is_on()
    }

    /// Delivers what is left, for a few seconds at most.
    pub async fn finish(&self) -> Delivery {
        if !self.telemetry.is_on() {
            return self.telemetry.delivery();
        }
        self.telemetry.shutdown_async().await
    }

    /// Returns what was delivered so far.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.telemetry.delivery()
    }
}

/// What is configured, then what only the standard variables say.
fn settings(config: &Config) -> Result<TelemetryConfig, String> {
    let ours = config.telemetry().map_err(|error| error.to_string())?;
    let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
    let headers: Headers = ours.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
    let settings = TelemetryConfig {
        endpoint: ours.endpoint,
        headers,
        service_name: ours.service_name,
        sample_ratio: ours.sample_ratio,
        record_content: ours.record_content,
        ..TelemetryConfig::default()
    };
    let is_ours =
        |key: &str| matches!(config.origin(key), Origin::Variable(name) if name.starts_with("CONVOKE_"));
    let environment = config.environment();
    settings
        .with_variables(|name| {
            let is_settled = match name {
                // The configuration reads these itself, and knows who may set them.
                "OTEL_EXPORTER_OTLP_ENDPOINT" => true,
                "OTEL_SERVICE_NAME" => is_ours("telemetry.service_name"),
                "OTEL_TRACES_SAMPLER" => is_ours("telemetry.sample_ratio"),
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" => is_ours("telemetry.record_content"),
                _ => false,
            };
            if is_settled { None } else { environment.get(name) }
        })
        .map_err(|error| error.to_string())
}
