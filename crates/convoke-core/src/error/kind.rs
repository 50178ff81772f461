//! One-word error kinds, for metrics and logs.

use super::Error;

impl Error {
    /// One word for what went wrong, of few: the HTTP status if there was one, else its kind.
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = match self.root() {
            Self::Model(model) => {
                let name = || serde_json::to_value(model.kind).ok()?.as_str().map(str::to_owned);
                let known = model.status.map(|status| status.to_string()).or_else(name);
                return known.unwrap_or_else(|| OTHER.to_owned());
            }
            Self::TimedOut(_) => "timed_out",
            Self::Cancelled(_) => "cancelled",
            Self::Panicked { .. } => "panicked",
            Self::Budget(_) => "budget_exhausted",
            _ => OTHER,
        };
        kind.to_owned()
    }
}

/// What OpenTelemetry calls everything else.
const OTHER: &str = "_OTHER";
