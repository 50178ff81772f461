//! Compositions: steps that a state can be made of, and everything that is wrong with them.

mod check;
mod engine;
mod order;
mod predicate;
mod reference;

pub(super) use check::{Names, Surroundings, check};
pub use engine::{Engine, OnFailure, OutputRule};
pub(crate) use order::{said, waits};
pub(crate) use predicate::NotANumber;
pub use predicate::{Comparison, Predicate, PredicateError};
pub(crate) use reference::{NoValue, resolved};
pub use reference::{ReferenceError, references};

use serde::Deserialize;
use serde_json::{Map, Value};

/// Steps and what comes of them.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Composition {
    /// The version of the format of compositions, which is 1.
    pub version: i64,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The file with the JSON Schema of what it is given.
    pub input_schema: Option<String>,
    /// The file with the JSON Schema of what it gives.
    pub output_schema: Option<String>,
    /// The step whose output is its output; otherwise that of the last step that has one.
    pub output: Option<String>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Settings that only we know.
    #[serde(default)]
    pub engine: Engine,
}

impl Composition {
    /// The files with the JSON Schemas that it names, and where it names them, as JSON pointers.
    #[must_use]
    pub fn schema_files(&self) -> Vec<(String, &str)> {
        let mut files = Vec::new();
        let own = [("/input_schema", &self.input_schema), ("/output_schema", &self.output_schema)];
        files.extend(own.into_iter().filter_map(|(path, file)| Some((path.to_owned(), file.as_deref()?))));
        for (number, step) in self.steps.iter().enumerate() {
            step.schema_files(&format!("/steps/{number}"), &mut files);
        }
        files
    }
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// What it is called.
    pub id: String,
    /// The steps it waits for; without a word the one before it, with an empty list none.
    pub depends_on: Option<Vec<String>>,
    /// What is different about how it is run.
    #[serde(default)]
    pub modifiers: Modifiers,
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
}

impl Step {
    /// The steps that are run side by side in it, or itself.
    pub(crate) fn parts(&self) -> &[Self] {
        match &self.action {
            Action::Parallel { branches, .. } => branches,
            _ => std::slice::from_ref(self),
        }
    }

    fn schema_files<'a>(&'a self, path: &str, files: &mut Vec<(String, &'a str)>) {
        match &self.action {
            Action::Prompt { output_schema: Some(file), .. }
            | Action::Agent { output_schema: Some(file), .. } => {
                files.push((format!("{path}/output_schema"), file));
            }
            Action::Parallel { branches, .. } => {
                for (number, branch) in branches.iter().enumerate() {
                    branch.schema_files(&format!("{path}/branches/{number}"), files);
                }
            }
            _ => {}
        }
    }
}

/// The action of a step.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Asks a model once.
    Prompt {
        /// The prompt.
        #[serde(default)]
        prompt_task: String,
        /// What it is asked, with references in it.
        input: Option<Value>,
        /// The file with the JSON Schema of its answer.
        output_schema: Option<String>,
    },
    /// Lets a model work with tools.
    Agent {
        /// The prompt.
        prompt_task: String,
        /// What it is asked, with references in it.
        input: Option<Value>,
        /// Those of the prompt's tools that it has.
        tools: Option<Vec<String>>,
        /// When it is done.
        termination: Termination,
        /// The file with the JSON Schema of its answer.
        output_schema: Option<String>,
    },
    /// Calls a tool.
    Tool {
        /// The tool.
        tool: String,
        /// Its arguments, with references in them.
        #[serde(default)]
        args: Map<String, Value>,
    },
    /// Goes one way or another.
    Branch {
        /// What it depends on; see [`Predicate::parse`].
        predicate: Value,
        /// The step that is run if it holds.
        then: String,
        /// The step that is run if it does not.
        #[serde(rename = "else")]
        otherwise: Option<String>,
    },
    /// Runs steps side by side.
    Parallel {
        /// The steps.
        branches: Vec<Step>,
        /// How their outputs become one.
        reduce: Reduce,
    },
}

impl Action {
    /// Returns what kind of step it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Prompt { .. } => "prompt",
            Self::Agent { .. } => "agent",
            Self::Tool { .. } => "tool",
            Self::Branch { .. } => "branch",
            Self::Parallel { .. } => "parallel",
        }
    }
}

/// The condition under which an agent is done.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Termination {
    /// After so many rounds.
    pub max_steps: Option<u32>,
    /// When it has called this tool.
    pub tool_called: Option<String>,
}

/// The way in which outputs become one.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Reduce {
    /// In which way.
    pub strategy: Strategy,
    /// The name that it has in the output.
    pub into: String,
}

/// In which way outputs become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// A list of them, in the order of the branches.
    Append,
    /// The last branch's.
    Replace,
    /// Each under its branch's name.
    Barrier,
}

/// The modifiers of how a step is run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Modifiers {
    /// Whether it is tried again.
    pub retry: Option<Retry>,
    /// Evals of its output.
    pub eval: Vec<String>,
}

/// The number of times a step is tried, and the waits between.
#[derive(Debug, Clone, Copy, Deserialize)]
#[non_exhaustive]
pub struct Retry {
    /// How often in all.
    pub max_attempts: Option<u32>,
}
