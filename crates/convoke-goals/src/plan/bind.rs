//! Binds inputs to a workflow, checked against their types.

use std::fmt;

use serde_json::Value;

use super::PreparedWorkflow;
use super::prepare::{times, times_in_words};
use super::problem::lines;
use crate::agentfile::model::{Type, Within};
use crate::secret::{SHORTEST, Seals, is_long_enough, mark, nonce};
use crate::state::{GoalState, Values};
use crate::tree::{Input, Name, Order};
use convoke_text::nearest;

/// The inputs a run begins with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BoundInputs {
    /// The state to start the workflow with.
    pub state: GoalState,
    /// What was given and is not an input: it has no effect.
    pub ignored: Vec<String>,
}

/// The error of inputs that do not fit: everything that is wrong with them, in the order the inputs are declared in.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidInputs {
    /// What is wrong. At least one.
    pub problems: Vec<InputProblem>,
}

impl fmt::Display for InvalidInputs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines(&self.problems, formatter)
    }
}

impl std::error::Error for InvalidInputs {}

/// A problem of an input. It never has the value of a secret in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputProblem {
    /// It was not given and has no default.
    #[error("required input missing: `{input}` must be {}{}", .ty.in_words(), meant(.instead))]
    Missing {
        /// The input.
        input: Name,
        /// What it may be.
        ty: Type,
        /// Something that was given and is not an input: perhaps this was meant by it.
        instead: Option<String>,
    },
    /// It is not what it must be.
    #[error("the input `{input}` {why}")]
    Wrong {
        /// The input.
        input: Name,
        /// What it must be.
        why: String,
    },
    /// A secret that was not given as one, or cannot be one.
    #[error("the secret input `{input}` {why}")]
    Secret {
        /// The input.
        input: Name,
        /// What is wrong.
        why: String,
    },
}

fn meant(instead: &Option<String>) -> String {
    instead
        .as_ref()
        .map_or_else(String::new, |given| format!(" (`{given}` was given; did you mean this input?)"))
}

/// The form in which values are given.
#[derive(Clone, Copy, PartialEq)]
enum InputForm {
    /// As they are.
    Values,
    /// As texts, such as those of a command line.
    Texts,
}

impl PreparedWorkflow {
    /// Gives the workflow its inputs. Secret ones are not among them: they are in
    /// [`Equipment::secrets`](crate::Equipment::secrets).
    ///
    /// # Errors
    /// Everything that is missing or wrong, at once.
    pub fn bind(&self, values: Values) -> Result<BoundInputs, InvalidInputs> {
        self.bind_as(&values, InputForm::Values)
    }

    /// Binds texts, such as those of a command line: what is not to be a text is read from them.
    ///
    /// # Errors
    /// Everything that is missing or wrong, at once.
    pub fn bind_texts(&self, texts: Values) -> Result<BoundInputs, InvalidInputs> {
        self.bind_as(&texts, InputForm::Texts)
    }

    fn bind_as(&self, given: &Values, how: InputForm) -> Result<BoundInputs, InvalidInputs> {
        let inputs = self.inputs();
        let declared = |name: &str| inputs.iter().any(|input| &*input.name == name);
        let ignored: Vec<String> =
            given.iter().map(|(name, _)| name).filter(|name| !declared(name)).map(str::to_owned).collect();
        let nonce = nonce();
        let seals = self.seals(&nonce);
        let mut state = GoalState { plan: Some(self.digest()), ..GoalState::default() };
        let mut problems = Vec::new();
        for input in inputs {
            let bound = match input.secret {
                true => self.secret(input, &nonce, given.get(&input.name).is_some()),
                // A secret may have been copied into another value too.
                false => self.input(input, given, how, &ignored).map(|value| seals.seal_value(&value)),
            };
            match bound {
                Ok(value) => state.inputs.set(input.name.clone(), value),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(BoundInputs { state, ignored }) } else { Err(InvalidInputs { problems }) }
    }

    fn input(
        &self,
        input: &Input,
        given: &Values,
        how: InputForm,
        ignored: &[String],
    ) -> Result<Value, InputProblem> {
        let name = || input.name.clone();
        let Some(value) = given.get(&input.name).or(input.default.as_ref()) else {
            let instead = nearest(&input.name, ignored.iter().map(String::as_str)).map(str::to_owned);
            return Err(InputProblem::Missing { input: name(), ty: input.ty.clone(), instead });
        };
        let value = match value {
            Value::String(text) if how == InputForm::Texts && given.get(&input.name).is_some() => {
                input.ty.read(text).map_err(|why| InputProblem::Wrong { input: name(), why })?
            }
            value if input.ty.admits(value) => value.clone(),
            _ => {
                let why = format!("must be {}", input.ty.in_words());
                return Err(InputProblem::Wrong { input: name(), why });
            }
        };
        if self.is_limit(&input.name) && times(&value).is_none() {
            let why = format!("says how often something is done at most: it must be {}", times_in_words());
            return Err(InputProblem::Wrong { input: name(), why });
        }
        Ok(value)
    }

    fn seals(&self, nonce: &str) -> Seals {
        let secret = self.inputs().iter().filter(|input| input.secret);
        Seals::new(secret.filter_map(|input| {
            let secret = self.equipment().secrets.get(&input.name)?;
            is_long_enough(secret).then(|| (mark(&input.name, nonce), secret))
        }))
    }

    /// The mark of a secret, if the secret is there.
    fn secret(&self, input: &Input, nonce: &str, among_values: bool) -> Result<Value, InputProblem> {
        let problem = |why: String| Err(InputProblem::Secret { input: input.name.clone(), why });
        if among_values {
            return problem(
                "is among the values, which are stored; give it in `Equipment::secrets`, where \
                 `Workflow::separate_secrets` puts it"
                    .to_owned(),
            );
        }
        match self.equipment().secrets.get(&input.name) {
            None => Err(InputProblem::Missing { input: input.name.clone(), ty: Type::String, instead: None }),
            Some(secret) if !is_long_enough(secret) => problem(format!(
                "is too short to be kept secret: it must have at least {SHORTEST} characters, or it would be found \
                 everywhere by chance"
            )),
            Some(_) => Ok(Value::String(mark(&input.name, nonce))),
        }
    }

    /// Whether an input says how often something is done at most.
    fn is_limit(&self, input: &Name) -> bool {
        fn is(within: &Within<Name>, input: &Name) -> bool {
            matches!(within, Within::Variable(name) if name == input)
        }
        fn goal(node: &super::PlannedNode, input: &Name) -> bool {
            match node {
                super::PlannedNode::Goal(inner) => {
                    inner.converge.as_ref().is_some_and(|within| is(within, input))
                        || inner.using.iter().any(|node| goal(node, input))
                }
                super::PlannedNode::Agent(_) => false,
            }
        }
        self.plan().sequences.iter().any(|sequence| {
            matches!(&sequence.order, Order::Loop(within) if is(within, input))
                || sequence.nodes.iter().any(|node| goal(node, input))
        })
    }
}
