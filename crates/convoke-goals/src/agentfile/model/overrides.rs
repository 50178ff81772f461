//! Overrides of settings for a part of a file.

use std::time::Duration;

use convoke_core::Limits;

/// Settings of a file, a step, a goal or an agent. They are layered in this order: of the model, the tools, the
/// retries and the memory the innermost that is given holds; of the time and the budget all do, so that a part never gets more than
/// the whole.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Overrides {
    /// The model.
    pub model: Option<String>,
    /// The tools.
    pub tools: Option<Tools>,
    /// How long at most.
    pub timeout: Option<Duration>,
    /// How often to try again.
    pub retry: Option<Retry>,
    /// What may be spent.
    pub budget: Option<Limits>,
    /// The memory that goals are remembered in.
    pub memory: Option<String>,
}

impl Overrides {
    /// Whether money is limited.
    pub(super) fn limits_cost(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.cost.is_some())
    }
}

/// The tools that may be used, of those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tools {
    /// None.
    None,
    /// Those with these names; `*` stands for any part of a name.
    Named(Vec<String>),
}

impl Tools {
    /// Returns whether a tool may be used.
    ///
    /// ```
    /// use convoke_goals::agentfile::model::Tools;
    ///
    /// let tools = Tools::Named(vec!["read".into(), "mcp_files_*".into()]);
    /// assert!(tools.allow("read") && tools.allow("mcp_files_list"));
    /// assert!(!tools.allow("reader") && !tools.allow("mcp_web_fetch"));
    /// assert!(!Tools::None.allow("read"));
    /// ```
    #[must_use]
    pub fn allow(&self, tool: &str) -> bool {
        match self {
            Self::None => false,
            Self::Named(patterns) => patterns.iter().any(|pattern| matches(pattern, tool)),
        }
    }
}

/// Whether a name fits a pattern, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            None => return false,
            Some(place) => rest = &rest[place + piece.len()..],
        }
    }
    rest.ends_with(last)
}

/// The number of retries, and the wait before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// So often, after the first time.
    pub times: u32,
    /// How long to wait before the second time; later ones wait longer.
    pub after: Option<Duration>,
}

impl Retry {
    /// Retries so often, after the first time, with the usual waits.
    #[must_use]
    pub fn times(times: u32) -> Self {
        Self { times, after: None }
    }

    /// Sets the wait before the second time.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.after = Some(wait);
        self
    }
}
