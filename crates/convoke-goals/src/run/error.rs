//! Errors of goals that the kernel does not know of.

use convoke_core::{CategorisedError, Category, Error, UnusableReply};

/// Errors of goals that could not be pursued, or came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GoalError {
    /// A text needs a value that is not there.
    #[error(
        "{kind} `{name}` needs `${variable}`, which has no value: what should have made it answered without it"
    )]
    NoValue {
        /// What needs it: `goal`, `agent`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The variable.
        variable: String,
    },
    /// How often to improve is said by a value that is not there.
    #[error(
        "`{name}`: WITHIN ${variable} is unresolved: there is no such value; it must be a whole number > 0"
    )]
    WithinUnresolved {
        /// The convergence or loop.
        name: String,
        /// The variable.
        variable: String,
    },
    /// How often to improve is said by something that is not a number.
    #[error("`{name}`: WITHIN ${variable} must be > 0, and `{value}` is not an integer")]
    WithinNotInteger {
        /// The convergence or loop.
        name: String,
        /// The variable.
        variable: String,
        /// What it is.
        value: String,
    },
    /// How often to improve is more than anybody can count.
    #[error("`{name}`: 'within' must be at most {}, and it is {value}", u32::MAX)]
    WithinTooLarge {
        /// The convergence or loop.
        name: String,
        /// What it is.
        value: i64,
    },
    /// How often to improve is never.
    #[error("`{name}`: 'within' must be > 0, and it is {value}")]
    WithinTooSmall {
        /// The convergence or loop.
        name: String,
        /// What it is.
        value: i64,
    },
    /// An answer lacks something that others need.
    #[error(
        "{kind} `{name}` gave no `{output}`, so `${output}`, which is needed further on, is unresolved: {problem}"
    )]
    MissingOutput {
        /// What it is: `goal`, `agent`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The output.
        output: String,
        /// What was wrong with the answer.
        problem: String,
    },
    /// There was no answer.
    #[error("`{name}` gave no answer: the model's reply was empty")]
    Empty {
        /// Who.
        name: String,
    },
    /// A limit was reached before there was an answer.
    #[error("`{name}` came to a limit before it had an answer: {reason}")]
    Incomplete {
        /// Who.
        name: String,
        /// Which.
        reason: String,
    },
    /// The answers of those a goal uses are there, and whoever was to make one of them made none.
    #[error(
        "the answers of those that `{name}` uses could not be put together: the model called a tool where none was offered, and said \
         nothing"
    )]
    Unassembled {
        /// The goal.
        name: String,
    },
    /// An agent in a sequence without anything to do.
    #[error("agent `{agent}`: task is required when it stands in a sequence: give it one with `.task(…)`")]
    NoTask {
        /// The agent.
        agent: String,
    },
    /// A workflow that is an agent, without a result.
    #[error("agent `{agent}` is a workflow that came to no result: all of its goals were skipped")]
    NoResult {
        /// The agent.
        agent: String,
    },
    /// An input of a workflow that is an agent.
    #[error("agent `{agent}` is a workflow whose input `{input}` nobody gives; give it a default")]
    NoInput {
        /// The agent.
        agent: String,
        /// The input.
        input: String,
    },
    /// A goal that is a workflow of another kind was given what it cannot take.
    #[error("goal `{goal}` cannot begin with what it is given: {problems}")]
    BadInputs {
        /// The goal.
        goal: String,
        /// What is wrong.
        problems: String,
    },
    /// A goal that is a workflow of another kind ended without a word.
    #[error("goal `{goal}` ended without an answer: nothing was said in it")]
    NothingSaid {
        /// The goal.
        goal: String,
    },
    /// All those a goal uses were skipped.
    #[error("goal `{goal}` has no answer: the conditions of all those it uses do not hold")]
    NobodyAnswered {
        /// The goal.
        goal: String,
    },
}

/// How a limit of turns is said.
const OUT_OF_TURNS: &str = "it reached its limit of";

/// The reason why the work of somebody who had so many turns is incomplete.
pub(super) fn out_of_turns(turns: u32) -> String {
    format!("{OUT_OF_TURNS} {turns} turns")
}

impl GoalError {
    /// Returns whether somebody would have had an answer with more turns, perhaps.
    #[must_use]
    pub fn is_out_of_turns(&self) -> bool {
        matches!(self, Self::Incomplete { reason, .. } if reason.contains(OUT_OF_TURNS))
    }
}

impl From<GoalError> for Error {
    fn from(error: GoalError) -> Self {
        match error {
            // The same question may well get an answer.
            GoalError::Empty { .. } | GoalError::MissingOutput { .. } => {
                Self::unusable_reply(CategorisedError::new(Category::Transient, error))
            }
            // A run that is resumed asks for the last reply once more, perhaps of another model or with a limit that was raised.
            GoalError::Incomplete { .. } | GoalError::Unassembled { .. } => {
                Self::unusable_reply(CategorisedError::new(Category::Permanent, error))
            }
            // A run that is resumed asks whoever did not give the value once more.
            GoalError::NoValue { ref variable, .. } => {
                let variable = variable.clone();
                Self::failed(
                    UnusableReply::new(CategorisedError::new(Category::Permanent, error)).lacking(variable),
                )
            }
            _ => Self::permanent(error),
        }
    }
}
