//! The JSON form of everything, for scripts. Fields are added, never renamed.
//!
//! Times are RFC 3339 in UTC, durations seconds, costs US dollars. What is not known is `null`.

mod effect;
mod event;
mod question;
mod run;
mod spent;
mod stats;
mod tree;

use std::time::Duration;

use convoke_core::{Money, Timestamp};

pub(crate) use effect::{EffectView, EntryView};
pub(crate) use event::event_json;
pub(crate) use question::QuestionView;
pub(crate) use run::{EndingView, RunView};
pub(crate) use spent::{SpentView, UsageView, known};
pub(crate) use stats::StatsView;
pub(crate) use tree::NodeView;

pub(crate) fn time(time: Timestamp) -> String {
    time.to_string()
}

pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
pub(crate) fn dollars(cost: Money) -> f64 {
    cost.as_micros() as f64 / 1e6
}
