//! Positions of events in the account of their run.
//!
//! A position follows from the journal alone: it is the same whoever tells the event, when, and how often. So a reader who
//! knows the position of the last event it has read can come back, to any process, and read on.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::Path;

/// The position of an event in the account of its run. Later events have greater positions.
///
/// What happens side by side is put in an order that does not depend on who was quicker. As text it is for others to keep:
///
/// ```
/// use convoke_core::Position;
///
/// let position: Position = "17.2:main/plan".parse().unwrap();
/// assert!(position < "18.1:main".parse().unwrap());
/// assert_eq!(position.to_string(), "17.2:main/plan");
/// assert_eq!("0.1:".parse::<Position>().unwrap().to_string(), "0.1:"); // of the run itself
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    moment: LogicalTime,
    path: Path,
}

impl Position {
    pub(crate) fn new(moment: LogicalTime, path: Path) -> Self {
        Self { moment, path }
    }

    /// The number of the last entry of the journal that the event follows from; 0 if there is none.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.moment.entry()
    }
}

/// How far a scope had come in the account of its run, for what follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub(crate) LogicalTime);

/// A moment in the logical time of a run: the last entry of the journal that what happens follows from, and how much has been told
/// since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct LogicalTime(u64);

/// So many bits count what is told between two entries. Should they ever not suffice, moments still grow.
const TICKS: u32 = 24;

impl LogicalTime {
    /// The moment at which an entry was made.
    pub(crate) const fn of_entry(entry: u64) -> Self {
        Self(entry << TICKS)
    }

    /// The last moment before the next entry: for the end of a run, after which its journal may go on.
    pub(crate) const fn last_of_entry(entry: u64) -> Self {
        Self(((entry + 1) << TICKS) - 1)
    }

    /// The entry it follows from.
    pub(crate) const fn entry(self) -> u64 {
        self.0 >> TICKS
    }

    pub(crate) const fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogicalTime(number) = self.moment;
        write!(formatter, "{}.{}:{}", self.entry(), number & ((1 << TICKS) - 1), self.path.as_str())
    }
}

/// The error of a text that is not a position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid position `{0}`: write it as an event has it, like `17.2:main/plan`")]
pub struct InvalidPosition(String);

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once(':').and_then(|(moment, path)| {
            let (entry, tick) = moment.split_once('.')?;
            let (entry, tick): (u64, u64) = (entry.parse().ok()?, tick.parse().ok()?);
            let fits = entry < 1 << (64 - TICKS) && tick < 1 << TICKS;
            fits.then(|| Self::new(LogicalTime((entry << TICKS) | tick), Path::from(path)))
        });
        parsed.ok_or_else(|| InvalidPosition(text.to_owned()))
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
