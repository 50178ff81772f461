//! The `telemetry` and `log` sections, and which hosts telemetry may be sent to.

use std::path::PathBuf;

use convoke_models::Environment;
use convoke_models::choose::{address, header};
use http::HeaderMap;

use crate::schema::path;
use crate::{Setting, Value};

/// The `telemetry` section: what is sent elsewhere about runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Telemetry {
    /// Where it is sent; `None` is nowhere.
    pub endpoint: Option<String>,
    /// Headers to send with it. All are marked as sensitive.
    pub headers: HeaderMap,
    /// What this program is called there.
    pub service_name: String,
    /// The share of runs that is sent, from 0 to 1.
    pub sample_ratio: f64,
    /// Whether prompts, answers and tool arguments are sent, too.
    pub record_content: bool,
}

/// The `log` section: what is logged, on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Log {
    /// How much.
    pub level: LogLevel,
    /// How.
    pub format: LogFormat,
}

/// The level of logging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What went wrong.
    Error,
    /// What may have gone wrong, too.
    Warn,
    /// What happens, too.
    Info,
    /// How, too.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// Returns its name in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// A line of JSON each.
    Json,
}

/// Telemetry that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A file in the working folder sends it to a place its user has not agreed to.
    #[error(
        "{file} sends telemetry to {host}; if you trust both, add `trusted_hosts = [\"{host}\"]` to your own \
         convoke.toml, or set CONVOKE_TRUSTED_HOSTS={host}"
    )]
    Untrusted {
        /// The file.
        file: PathBuf,
        /// Where it would go.
        host: String,
    },
    /// A header cannot be made.
    #[error("{place}: telemetry.headers: {message}")]
    Header {
        /// Where it is configured.
        place: String,
        /// What is wrong.
        message: String,
    },
}

pub(crate) fn telemetry(
    settings: &[Setting],
    trusted_hosts: &[String],
    environment: &Environment,
) -> Result<Telemetry, TelemetryError> {
    let mut telemetry = Telemetry {
        endpoint: None,
        headers: HeaderMap::new(),
        service_name: "convoke".to_owned(),
        sample_ratio: 1.0,
        record_content: false,
    };
    let mut headers = None;
    let mut folder_file = None;
    for setting in settings {
        match (setting.key.path, &setting.value) {
            (path::TELEMETRY_ENDPOINT, Value::Address(address)) => {
                telemetry.endpoint = Some(address.clone());
                folder_file = folder_file.or(setting.origin.folder_file());
            }
            (path::TELEMETRY_HEADERS, Value::Headers(pairs)) => headers = Some((pairs, &setting.origin)),
            (path::TELEMETRY_SERVICE_NAME, Value::Text(name)) => telemetry.service_name.clone_from(name),
            (path::TELEMETRY_SAMPLE_RATIO, Value::Number(ratio)) => telemetry.sample_ratio = *ratio,
            (path::TELEMETRY_RECORD_CONTENT, Value::Flag(flag)) => telemetry.record_content = *flag,
            _ => {}
        }
    }
    let Some(endpoint) = &telemetry.endpoint else { return Ok(telemetry) };
    if let Some(file) = folder_file {
        let host = address::host(endpoint).unwrap_or_default();
        // This machine is not the user's alone: anybody on it may listen there.
        if !trusted_hosts.contains(&host) {
            return Err(TelemetryError::Untrusted { file: file.to_owned(), host });
        }
    }
    if let Some((pairs, origin)) = headers {
        let place = origin.to_string();
        telemetry.headers = header::headers(pairs, environment)
            .map_err(|message| TelemetryError::Header { place, message })?;
    }
    Ok(telemetry)
}

pub(crate) fn log(settings: &[Setting]) -> Log {
    let mut log = Log { level: LogLevel::Off, format: LogFormat::Text };
    for setting in settings {
        match (setting.key.path, &setting.value) {
            (path::TELEMETRY_LOG_LEVEL, Value::Text(level)) => log.level = level_named(level),
            (path::TELEMETRY_LOG_FORMAT, Value::Text(format)) => {
                log.format = if format == "json" { LogFormat::Json } else { LogFormat::Text };
            }
            _ => {}
        }
    }
    log
}

fn level_named(name: &str) -> LogLevel {
    match name {
        "error" => LogLevel::Error,
        "warn" => LogLevel::Warn,
        "info" => LogLevel::Info,
        "debug" => LogLevel::Debug,
        "trace" => LogLevel::Trace,
        _ => LogLevel::Off,
    }
}
