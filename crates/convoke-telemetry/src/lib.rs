//! What runs do, for those who watch: OpenTelemetry spans and metrics, log lines, and the original's events.
//!
//! Everything here is a view of what the kernel tells its [observers](convoke_core::Observer): the ordered events of a
//! run, and its calls of models.
//!
//! | to | use |
//! |---|---|
//! | send traces and metrics to a collector | [`Telemetry`], with a [`TelemetryConfig`] |
//! | be part of the caller's trace | [`TraceParent`] |
//! | write log lines | [`logging`] |
//! | have the original's events and sinks | [`original`] |
//!
//! ```
//! use convoke_core::Runtime;
//! use convoke_telemetry::{Telemetry, TelemetryConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Without an endpoint there is nothing to send to: nothing is started, and runs are not watched.
//! let telemetry = Telemetry::start(&TelemetryConfig::default())?;
//! let runtime = telemetry.watch(Runtime::builder()).build();
//! // … run workflows …
//! let delivery = telemetry.shutdown();
//! assert_eq!(delivery.dropped, 0);
//! # Ok(()) }
//! ```
//!
//! # What this crate must never do
//! Hold up a run, or fail it: what cannot be sent is dropped and counted. Send what people, models and tools say, unless
//! asked for ([`TelemetryConfig::record_content`]). Show what is in a header.

mod attribute;
mod config;
pub mod convention;
mod courier;
mod environment;
pub mod logging;
mod metrics;
pub mod original;
mod parent;
mod provider;
mod telemetry;
mod trace;
mod words;

pub use config::{Headers, TelemetryConfig, TelemetryError};
pub use courier::Delivery;
pub use environment::InvalidVariable;
pub use parent::{InvalidTraceParent, TraceParent};
pub use telemetry::{Telemetry, TelemetryObserver};
