//! A sink that writes log lines.

use std::sync::Arc;

use serde_json::{Map, Value};
use tracing::Dispatch;
use tracing::dispatcher::with_default;

use super::{Level, Notice, Sink};

/// Writes one record per event: the event's name as the message, its level, and its attributes; `err` if there is an
/// error. Attributes that agentcore's events do not have are together in `attributes`, as JSON.
#[derive(Debug, Clone, Default)]
pub struct Logger {
    dispatch: Option<Dispatch>,
}

impl Logger {
    /// Writes to whatever the program's log is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes to this.
    #[must_use]
    pub fn to(dispatch: Dispatch) -> Self {
        Self { dispatch: Some(dispatch) }
    }
}

/// One record. The level must be known when this is compiled.
macro_rules! record {
    ($level:ident, $notice:expr) => {{
        let mut attributes: Map<String, Value> =
            $notice.attributes().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut text = |key: &str| attributes.remove(key).map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        });
        let (workflow, goal, description) = (text("workflow"), text("goal"), text("description"));
        let (agent, convergence) = (text("agent"), text("convergence"));
        let output_len = attributes.remove("output_len").and_then(|value| value.as_u64());
        let cap = attributes.remove("cap").and_then(|value| value.as_u64());
        let rest = (!attributes.is_empty()).then(|| Value::Object(attributes).to_string());
        tracing::$level!(
            target: "convoke::original",
            workflow, goal, description, output_len, agent, convergence, cap,
            attributes = rest,
            err = $notice.error().map(crate::error_text::without_quotes),
            "{}", $notice.name()
        );
    }};
}

fn write(notice: &dyn Notice) {
    match notice.level() {
        Level::Debug => record!(debug, notice),
        Level::Info => record!(info, notice),
        Level::Warn => record!(warn, notice),
        Level::Error => record!(error, notice),
    }
}

impl Sink for Logger {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        match &self.dispatch {
            Some(dispatch) => with_default(dispatch, || write(&**notice)),
            None => write(&**notice),
        }
    }
}
