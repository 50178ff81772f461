//! The current activity of a step.

use std::time::Duration;

use convoke_core::Timestamp;

use crate::{human, text};

/// How much of a tool's arguments is remembered: more than any terminal shows in one line.
pub(super) const REMEMBERED: usize = 1_000;

/// The current activity of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// A part of the work that has a name: committing, assessing, putting together.
    Part(&'static str),
    /// A model was asked and has not said anything yet.
    Asking {
        /// Its name.
        model: String,
    },
    /// A model speaks.
    Hearing {
        /// Its name.
        model: String,
    },
    /// A tool is at work.
    Tool {
        /// Its name.
        name: String,
        /// The beginning of what it was given, as JSON.
        arguments: String,
    },
    /// Waiting to try again.
    Pausing {
        /// When that is.
        until: Timestamp,
    },
}

impl Activity {
    /// Describes it in a few words.
    #[must_use]
    pub fn words(&self, now: Timestamp) -> String {
        match self {
            Self::Part(words) => (*words).to_owned(),
            Self::Asking { model } => format!("asking {}", text::one_line(model)),
            Self::Hearing { model } => format!("hearing {}", text::one_line(model)),
            Self::Tool { name, arguments } => call_text(name, arguments),
            Self::Pausing { until } => {
                let left = Duration::from_secs(until.since(now).as_secs());
                format!("trying again in {}", human::duration(left))
            }
        }
    }
}

/// The words for a step that is a part of a goal's work, if they say anything.
pub(super) fn part(step: &str) -> Option<Activity> {
    Some(Activity::Part(match step {
        "commit" => "committing to a plan",
        "post" => "assessing the result",
        "supervise" => "being judged",
        "synthesis" => "putting results together",
        _ => return None,
    }))
}

/// A call of a tool in one line: `search("query": "looms", "limit": 3)`.
#[must_use]
pub fn call_text(name: &str, arguments: &str) -> String {
    let given = arguments.trim();
    let inner = given.strip_prefix('{').map(|inner| inner.strip_suffix('}').unwrap_or(inner));
    let given = inner.unwrap_or(given).trim();
    let given = if given == "null" { "" } else { given };
    format!("{}({})", text::one_line(name), text::one_line(given))
}
