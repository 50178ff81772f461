//! Points in time in the context's JSON: RFC 3339 with fractions of a second.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

/// What the Go program writes for "not known": the first moment of the year 1.
const UNKNOWN_SECOND: i64 = -62_135_596_800;

/// The time that stands for one that nobody noted.
pub(super) fn unknown() -> Timestamp {
    Timestamp::from_second(UNKNOWN_SECOND).unwrap_or(Timestamp::MIN)
}

pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| serde::de::Error::custom(format_args!("`{text}` is not a time: {error}")))
}
