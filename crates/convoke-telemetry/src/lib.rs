#![doc = include_str!("../README.md")]
//!
//! Everything here is a view of what the kernel tells its [observers](convoke_core::Observer): the ordered events of a
//! run, and its calls of models.
//!
//! | to | use |
//! |---|---|
//! | send traces and metrics to a collector | [`Telemetry`], with a [`TelemetryConfig`] |
//! | be part of the caller's trace | [`TraceParent`] |
//! | write log lines | [`logging`] |
//! | have the events and sinks of the Go `agentcore` library | [`agentcore_events`] |
//!
//! # What this crate must never do
//! Hold up a run, or fail it: what cannot be sent is dropped and counted. Send what people, models and tools say, unless
//! asked for ([`TelemetryConfig::record_content`]). Show what is in a header.

pub mod agentcore_events;
mod attribute;
mod config;
pub mod convention;
mod environment;
mod error_text;
mod export;
pub mod logging;
mod metrics;
mod provider;
mod telemetry;
mod trace;
mod trace_parent;

pub use config::{Headers, TelemetryConfig, TelemetryError};
pub use environment::InvalidVariable;
pub use export::Delivery;
pub use telemetry::{Telemetry, TelemetryObserver};
pub use trace_parent::{InvalidTraceParent, TraceParent};
