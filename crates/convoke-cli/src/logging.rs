//! Starts the log of this process, and delivers what is left of traces.

use convoke_config::Config;
use convoke_history::human;
use convoke_host::RunTelemetry;
use convoke_telemetry::logging::{self, LogConfig, LogError, LogFormat, LogOutput};

use crate::arguments::Arguments;
use crate::failure::Failure;
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

/// Delivers what is left of traces, for a few seconds at most; being told to stop ends the wait.
pub(crate) async fn finish(telemetry: &RunTelemetry, output: &mut Output) {
    if !telemetry.is_on() {
        return;
    }
    let delivery = match Signals::listen() {
        Ok(mut signals) => tokio::select! {
            delivery = telemetry.finish() => delivery,
            _ = signals.next() => telemetry.delivery(),
        },
        Err(_) => telemetry.finish().await,
    };
    if delivery.dropped > 0 {
        let dropped = human::count(delivery.dropped, "span");
        output.note(&format!(
            "{dropped} of the trace could not be delivered; the run is not affected, and is whole in the store"
        ));
    }
}
