//! The end of a run, as the store keeps it.

use serde::Deserialize;
use serde_json::Value;

use convoke_core::Path;

/// The end of a run, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Ending {
    /// The state it came to; a suspended run has none on record.
    pub state: Option<Value>,
    /// Why it did not complete, or what it waits for.
    pub error: Option<String>,
    /// The innermost steps that failed.
    pub failed_at: Vec<Path>,
    /// Whether it was cancelled for good: it is never resumed.
    pub for_good: bool,
}

impl Ending {
    /// Reads what the store keeps. What cannot be read is shown as it is, in place of the error.
    pub(super) fn read(outcome: &[u8]) -> Self {
        serde_json::from_slice(outcome).unwrap_or_else(|error| Self {
            error: Some(format!(
                "this outcome cannot be read ({error}): {}",
                String::from_utf8_lossy(outcome)
            )),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_read_and_a_broken_one_is_shown() {
        let ending = Ending::read(br#"{"state":{"n":1},"error":"no","failed_at":["main/x"]}"#);
        assert_eq!(ending.state, Some(serde_json::json!({"n": 1})));
        assert_eq!(ending.failed_at, [Path::from("main/x")]);
        assert!(Ending::read(b"oops").error.is_some_and(|error| error.ends_with(": oops")));
    }
}
