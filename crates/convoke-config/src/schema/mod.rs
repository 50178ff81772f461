//! The schema: every key that is understood.

mod key;
mod keys;
pub(crate) mod path;
mod value_kind;

pub use key::{Key, MergeRule};
pub use keys::KEYS;
pub use value_kind::ValueKind;

/// Names that people know from other tools, and what the same thing is called here.
pub(crate) const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("llm", "model"),
    ("models", "model"),
    ("provider", "services"),
    ("providers", "services"),
    ("supervisor", "supervision"),
    ("storage", "store"),
    ("state", "store"),
    ("limits", "budgets"),
    ("otel", "telemetry"),
    ("tracing", "telemetry"),
    ("thinking", "reasoning"),
    ("max_cost", "cost_usd"),
    ("cost", "cost_usd"),
    ("timeout", "wall_time"),
    ("mcpServers", "mcp"),
    ("mcp_servers", "mcp"),
];

/// The first segments of keys: what stands at the top of the file, in order.
pub fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    KEYS.iter().map(Key::section).filter(move |section| std::mem::replace(&mut last, *section) != *section)
}
