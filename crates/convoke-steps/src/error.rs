//! Errors of typed steps.

/// An error of a typed step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepsError {
    /// No condition of a router held.
    #[error("no route matched; add a route for this state, or `otherwise`")]
    NoRoute,
    /// A classifier's answer was empty.
    #[error("empty classification response; ask for exactly one of the labels")]
    EmptyClassification,
    /// A classifier's answer is not one of its labels.
    #[error("unknown classification: {label:?}; the labels are {known}. Add a route for it, or `otherwise`")]
    UnknownClassification {
        /// The answer.
        label: String,
        /// The labels there are.
        known: String,
    },
    /// A loop went round as often as it may.
    #[error(
        "maximum loop iterations exceeded: still not done after {limit}; raise the maximum, or fix the condition"
    )]
    MaxIterations {
        /// How often it went round.
        limit: u64,
    },
    /// A tool step names a tool that is not there.
    #[error("tool not found: `{tool}`; there are {known}")]
    ToolNotFound {
        /// The name.
        tool: String,
        /// The names there are.
        known: String,
    },
    /// A tool step names a tool that is executed elsewhere.
    #[error("`{tool}` is a client-side tool: only an agent can hand its calls over")]
    ClientTool {
        /// The name.
        tool: String,
    },
    /// A tool step's tool failed.
    #[error("tool `{tool}` execution failed: {content}")]
    ToolFailed {
        /// The tool.
        tool: String,
        /// What it said.
        content: String,
    },
}

/// The arguments for a tool could not be made.
#[derive(Debug, thiserror::Error)]
#[error("building arguments: {0}")]
pub struct ArgumentsError(#[source] pub(crate) Box<dyn std::error::Error + Send + Sync>);

/// An error in how steps are put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two branches or routes have the same name.
    #[error("`{step}` has two branches called `{name}`; rename one of them")]
    DuplicateName {
        /// The step being built.
        step: String,
        /// The name.
        name: String,
    },
    /// The join needs a branch that is not there.
    #[error("`{step}` needs branch `{name}` to succeed and has none of that name")]
    UnknownName {
        /// The step being built.
        step: String,
        /// The name.
        name: String,
    },
    /// Nothing to choose from.
    #[error("`{step}` has nothing to run; add at least one branch or route")]
    Empty {
        /// The step being built.
        step: String,
    },
    /// A step waits for itself, directly or through others.
    #[error("`{step}` never comes to `{name}`, which waits for itself; break the circle")]
    Cycle {
        /// The step being built.
        step: String,
        /// The name.
        name: String,
    },
    /// More branches must succeed than there are.
    #[error("`{step}` needs {needed} branches to succeed and has only {branches}")]
    Unreachable {
        /// The step being built.
        step: String,
        /// How many must succeed.
        needed: usize,
        /// How many there are.
        branches: usize,
    },
}

impl From<BuildError> for convoke_core::Error {
    fn from(error: BuildError) -> Self {
        Self::failed(error)
    }
}
