//! The JSON form of runs, for scripts and other programs. Fields are added, never renamed.
//!
//! Times are RFC 3339 in UTC, durations seconds, costs US dollars. What is not known is `null`. A command line and a server
//! give the same documents; neither may add a form of its own.
//!
//! ```
//! use std::time::Duration;
//!
//! use convoke_core::{Event, EventKind, Path, Timestamp};
//! use convoke_history::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let event = Event {
//!     run: "plan-1".parse()?,
//!     seq: 7,
//!     path: Path::from("plan/main/draft"),
//!     at: Timestamp::from_micros(1_767_603_600_000_000),
//!     replayed: false,
//!     position: None,
//!     kind: EventKind::RetryScheduled { attempt: 1, delay: Duration::from_millis(1_500) },
//! };
//! let document = json::event_json(&event)?;
//! assert_eq!(document["at"], "2026-01-05T09:00:00.000Z");
//! assert_eq!(document["delay_seconds"], 1.5);
//! # Ok(())
//! # }
//! ```

mod effect;
mod event;
mod history;
mod question;
mod run;
mod spent;
mod stats;
mod tree;

use std::time::Duration;

use convoke_core::{Money, Timestamp};

pub use effect::{EffectView, EntryView};
pub use event::event_json;
pub use history::HistoryView;
pub use question::QuestionView;
pub use run::{EndingView, RunView};
pub(crate) use spent::known;
pub use spent::{SpentView, UsageView};
pub use stats::StatsView;
pub use tree::NodeView;

/// A point in time: RFC 3339, in UTC.
pub(crate) fn time(time: Timestamp) -> String {
    time.to_string()
}

/// A duration in seconds.
pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// A cost in US dollars.
#[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
pub(crate) fn dollars(cost: Money) -> f64 {
    cost.as_micros() as f64 / 1e6
}
