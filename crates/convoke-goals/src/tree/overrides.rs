//! Overrides of settings for a part of a tree.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Limits, Model, ModelParams, Toolset};

use super::Name;
use crate::agentfile::model::{Retry, Tools};

/// Settings of a node and everything below it.
///
/// They are layered from the workflow down. Of the model, the parameters, the tools, the retries and the memory the innermost
/// that is given holds; the context grows; of the time and the budget all hold, so that a part never gets more than the
/// whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub(crate) model: Option<ModelChoice>,
    pub(crate) params: ModelParams,
    pub(crate) tools: Option<ToolChoice>,
    pub(crate) restrictions: Vec<Tools>,
    /// Rules about calls: of each list one must let a call be made.
    pub(crate) call_rules: Vec<Vec<String>>,
    pub(crate) context: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<Retry>,
    pub(crate) budget: Option<Limits>,
    pub(crate) memory: Option<String>,
}

/// A choice of model.
#[derive(Clone)]
pub enum ModelChoice {
    /// This one.
    Given(Arc<dyn Model>),
    /// The one with this name, from the [equipment](crate::Equipment)'s models.
    Named(Name),
    /// The one a profile of this name stands for.
    Profile(Name),
}

impl std::fmt::Debug for ModelChoice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(model) => write!(formatter, "Given({})", model.name()),
            Self::Named(name) => write!(formatter, "Named({name})"),
            Self::Profile(name) => write!(formatter, "Profile({name})"),
        }
    }
}

/// Two choices are the same if the same model is chosen, not if it is one that is called the same.
impl PartialEq for ModelChoice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(one), Self::Given(other)) => Arc::ptr_eq(one, other),
            (Self::Named(one), Self::Named(other)) | (Self::Profile(one), Self::Profile(other)) => {
                one == other
            }
            _ => false,
        }
    }
}

/// A choice of tools.
#[derive(Debug, Clone)]
pub enum ToolChoice {
    /// These, whatever the whole has.
    Given(Toolset),
    /// Of those the whole has, these.
    Allowed(Tools),
}

impl PartialEq for ToolChoice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(one), Self::Given(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other.iter()).all(|(one, other)| Arc::ptr_eq(one, other))
            }
            (Self::Allowed(one), Self::Allowed(other)) => one == other,
            _ => false,
        }
    }
}

impl Overrides {
    /// Overrides nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(ModelChoice::Given(Arc::new(model)));
        self
    }

    /// Sets the model: the one with this name, from the [equipment](crate::Equipment)'s models.
    #[must_use]
    pub fn model_named(self, name: impl Into<Name>) -> Self {
        self.model_choice(ModelChoice::Named(name.into()))
    }

    /// Sets the model: the one that a profile of this name stands for.
    #[must_use]
    pub fn profile(self, name: impl Into<Name>) -> Self {
        self.model_choice(ModelChoice::Profile(name.into()))
    }

    /// Sets the model, however it is chosen.
    #[must_use]
    pub fn model_choice(mut self, choice: ModelChoice) -> Self {
        self.model = Some(choice);
        self
    }

    /// Sets model parameters; those that are set here.
    #[must_use]
    pub fn params(mut self, params: ModelParams) -> Self {
        self.params = params;
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = Some(ToolChoice::Given(tools));
        self
    }

    /// Restricts the tools to these of those the whole has. What is said further in overrides it.
    #[must_use]
    pub fn allowed_tools(mut self, tools: Tools) -> Self {
        self.tools = Some(ToolChoice::Allowed(tools));
        self
    }

    /// Whatever tools it has by what was said here or elsewhere, only these of them, for it and everything below it.
    /// Unlike [`allowed_tools`](Self::allowed_tools), nothing below can undo it; several restrictions hold together.
    #[must_use]
    pub fn restrict_tools(mut self, tools: Tools) -> Self {
        self.restrictions.push(tools);
        self
    }

    /// Only calls that one of these rules lets be made, for it and everything below it, as a skill's `allowed-tools` writes
    /// them: `read` for a tool, `Bash(git:*)` for commands that begin with `git`. Whoever has no rule for a tool does not
    /// have it. Nothing below can undo it; several lists hold together.
    #[must_use]
    pub fn restrict_calls(mut self, rules: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call_rules.push(rules.into_iter().map(Into::into).collect());
        self
    }

    /// Adds instructions: they come after those of the whole. They are not looked at for variables.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.context = Some(text.into());
        self
    }

    /// Sets the time limit of the whole.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets the retries after a failure.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Sets the budget.
    #[must_use]
    pub fn budget(mut self, limits: Limits) -> Self {
        self.budget = Some(limits);
        self
    }

    /// Has the goals at and below it remembered under this name, in the [equipment](crate::Equipment)'s memories: each is told
    /// what fits it, and adds what it came to. What stands below a goal is part of that goal.
    #[must_use]
    pub fn memory(mut self, name: impl Into<String>) -> Self {
        self.memory = Some(name.into());
        self
    }
}
