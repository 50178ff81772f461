//! Logging: one `tracing` setup for the process, and an observer that logs runs.
//!
//! Lines carry the run's id and the path within it. They never carry what people, models or tools say; errors are told as
//! errors tell themselves, as far as they quote nobody.
//!
//! ```no_run
//! use convoke_core::Runtime;
//! use convoke_telemetry::logging::{self, LogConfig, LogFormat, RunLog};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! logging::init(&LogConfig { format: LogFormat::Json, ..LogConfig::at("debug") })?;
//! let runtime = Runtime::builder().observer(RunLog).build();
//! # Ok(()) }
//! ```

mod run_log;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use convoke_text::nearest;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

pub use run_log::RunLog;

/// The levels there are.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Logging configuration: what, how, and where to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogConfig {
    /// A level (`info`), which holds for us and lets only warnings of others through; or a filter such as
    /// `convoke=debug,hyper=info`, which is taken as it is. Empty is `warn`.
    pub filter: String,
    /// How lines look.
    pub format: LogFormat,
    /// Where they go.
    pub output: LogOutput,
}

impl LogConfig {
    /// Text on standard error, at this level or by this filter.
    #[must_use]
    pub fn at(filter: impl Into<String>) -> Self {
        Self { filter: filter.into(), ..Self::default() }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: a JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(LogError::Format(other.to_owned())),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// The destination of log lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogOutput {
    /// Standard error.
    #[default]
    Stderr,
    /// The end of this file, which is made if need be.
    File(PathBuf),
}

/// Logs cannot be written as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The filter makes no sense.
    #[error(
        "invalid log filter `{filter}`: {problem}. Write a level (off, error, warn, info, debug, trace) or `target=level,…`"
    )]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such format.
    #[error("there is no log format `{0}`; there are text and json")]
    Format(String),
    /// The file cannot be written.
    #[error("the log file {} cannot be written: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: io::Error,
    },
    /// Somebody has set up logs before.
    #[error("logs are set up already; that can be done once a process")]
    Twice,
}

/// Sets up logs for the whole process.
///
/// # Errors
/// If the filter, the format or the file cannot be used, or logs are set up already.
pub fn init(config: &LogConfig) -> Result<(), LogError> {
    tracing::subscriber::set_global_default(subscriber(config)?).map_err(|_| LogError::Twice)?;
    IS_ON.store(true, Ordering::Relaxed);
    Ok(())
}

/// Whether [`init`] has set up logs. What `tracing` knows is no answer: whoever listens for a moment, as the engine of local
/// models does while it loads one, raises its level for good.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Returns whether logs were set up for this process by [`init`].
#[must_use]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Returns the subscriber that [`init`] sets up, to combine it with others.
///
/// # Errors
/// If the filter, the format or the file cannot be used.
pub fn subscriber(config: &LogConfig) -> Result<Box<dyn Subscriber + Send + Sync>, LogError> {
    let filter = filter(&config.filter)?;
    Ok(match &config.output {
        LogOutput::Stderr => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            written(filter, config.format, colours, io::stderr)
        }
        LogOutput::File(path) => {
            let file: Result<File, _> = OpenOptions::new().create(true).append(true).open(path);
            let file = file.map_err(|problem| LogError::File { path: path.clone(), problem })?;
            written(filter, config.format, false, Arc::new(file))
        }
    })
}

fn written<W>(
    filter: EnvFilter,
    format: LogFormat,
    colours: bool,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    match format {
        LogFormat::Text => Box::new(builder.finish()),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish()),
    }
}

fn filter(text: &str) -> Result<EnvFilter, LogError> {
    let text = if text.trim().is_empty() { "warn" } else { text.trim() };
    let wrong = |problem: String| LogError::Filter { filter: text.to_owned(), problem };
    let level = |word: &str| LEVELS.into_iter().find(|level| word.eq_ignore_ascii_case(level));
    // A word alone would be a target of which everything is logged: more likely it was to be a level.
    let is_alone = |part: &&str| !part.is_empty() && !part.contains(['=', '[']) && level(part).is_none();
    if let Some(word) = text.split(',').map(str::trim).find(is_alone) {
        return Err(wrong(match nearest(word, LEVELS) {
            Some(meant) => format!("there is no level `{word}` (did you mean `{meant}`?)"),
            None => format!("there is no level `{word}`, and a target needs one, such as `{word}=debug`"),
        }));
    }
    let is_level = level(text);
    let directives = match is_level {
        // Of others no more than of ourselves.
        Some(level @ ("off" | "error" | "warn")) => level.to_owned(),
        Some(level) => format!("warn,convoke={level}"),
        None => text.to_owned(),
    };
    EnvFilter::builder().parse(&directives).map_err(|error| wrong(error.to_string()))
}
