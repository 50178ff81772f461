//! Who watches runs besides the user: a collector of traces and metrics, and the log.
//!
//! Neither can hold up a run or fail it. What cannot be sent is said once, at the end.

use convoke_config::{Config, Origin};
use convoke_core::RuntimeBuilder;
use convoke_telemetry::logging::{self, LogConfig, LogError, LogFormat, LogOutput, RunLog};
use convoke_telemetry::{Headers, Telemetry, TelemetryConfig};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::human;
use crate::run::Signals;
use crate::terminal::Output;

/// Sets up the log for this process, as the command line and `config` say. Without either there is none.
///
/// # Errors
/// If there is no such level, filter or format.
pub(crate) fn start_log(arguments: &Arguments, config: Option<&Config>) -> Result<(), Failure> {
    let configured = config.map(Config::log);
    let filter = match (&arguments.log, configured) {
        (Some(filter), _) => filter.clone(),
        (None, Some(log)) => log.level.name().to_owned(),
        (None, None) => return Ok(()),
    };
    if filter.trim().eq_ignore_ascii_case("off") {
        return Ok(());
    }
    let is_json = configured.is_some_and(|log| log.format == convoke_config::LogFormat::Json);
    let format = arguments.log_format.unwrap_or(if is_json { LogFormat::Json } else { LogFormat::Text });
    logging::init(&LogConfig { filter, format, output: LogOutput::Stderr }).map_err(|error| match error {
        LogError::Filter { .. } => Failure::usage(error.to_string()),
        other => Failure::failed(other.to_string()),
    })
}

/// What watches the runs of this process.
pub(crate) struct Watchers {
    telemetry: Telemetry,
}

impl Watchers {
    /// Begins to watch. What is wrong with how telemetry is configured is said; runs do without it.
    pub(crate) fn start(config: &Config, output: &mut Output) -> Self {
        let telemetry = settings(config)
            .and_then(|settings| Telemetry::start(&settings).map_err(|error| error.to_string()))
            .unwrap_or_else(|problem| {
                output.note(&format!("no traces are sent: {problem}"));
                Telemetry::off()
            });
        Self { telemetry }
    }

    /// Has the runtime's runs watched.
    pub(crate) fn watch(&self, builder: RuntimeBuilder) -> RuntimeBuilder {
        let builder = self.telemetry.watch(builder);
        if logging::is_on() { builder.observer(RunLog) } else { builder }
    }

    /// Delivers what is left, for a few seconds at most; being told to stop ends the wait.
    pub(crate) async fn finish(self, output: &mut Output) {
        if !self.telemetry.is_on() {
            return;
        }
        let delivery = match Signals::listen() {
            Ok(mut signals) => tokio::select! {
                delivery = self.telemetry.shutdown_async() => delivery,
                _ = signals.next() => self.telemetry.delivery(),
            },
            Err(_) => self.telemetry.shutdown_async().await,
        };
        if delivery.dropped > 0 {
            let dropped = human::count(delivery.dropped, "span");
            output.note(&format!(
                "{dropped} of the trace could not be delivered; the run is not affected, and is whole in the store"
            ));
        }
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
