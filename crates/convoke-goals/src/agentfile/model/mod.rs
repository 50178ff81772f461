//! The checked file that an executor works with.
//!
//! Nothing in it is unresolved. Agents, goals and variables are referred to by ids of the file they are in, texts are
//! [templates](super::Template), and what `FROM` named has been loaded. An [`Agentfile`] can only be made by
//! [checking](super::check) a file that has no error.
//!
//! # What an executor may rely on
//! - Every variable a goal, one of its agents or a condition uses has a value by the time the goal is run: it is an
//!   input, or an earlier goal that was not skipped made it.
//! - The goals of a step that runs them [in parallel](StepKind::Parallel) use nothing that another of them makes.
//! - Defaults fit the types of their inputs; values in conditions fit the types of their variables.
//! - [`Supervision`] is never weaker in a part than [`Supervision::Human`] in the whole: [`Supervision::within`].

mod condition;
mod overrides;
mod supervision;
mod ty;

pub use condition::{Condition, Test, TestKind};
pub use overrides::{Overrides, Retry, Tools};
pub use supervision::Supervision;
pub use ty::Type;
pub(crate) use ty::written;

use serde_json::Value;

use super::Template;
use super::load::Skill;
use crate::embedded::EmbeddedWorkflow;

/// The longest name of a workflow, a step, a goal or an agent, in bytes.
pub(crate) const LONGEST_NAME: usize = 200;

/// A checked file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Agentfile {
    /// The workflow's name.
    pub name: String,
    /// Whether everything is supervised. Never [`Supervision::Inherit`].
    pub supervision: Supervision,
    /// The security mode, if the file says.
    pub security: Option<SecurityMode>,
    /// Settings of everything in the file.
    pub overrides: Overrides,
    /// The inputs, in the order of the file.
    pub inputs: Vec<Input>,
    /// The agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// The goals, in the order of the file.
    pub goals: Vec<Goal>,
    /// The steps, in this order.
    pub steps: Vec<Step>,
    /// Everything texts can refer to.
    pub variables: Vec<Variable>,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident => $of:ident in $field:ident: $method:ident,)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $id(pub(crate) usize);
        )*

        impl Agentfile {
            $(
                /// Looks up an id of this file. Ids of other files have no meaning here.
                #[must_use]
                pub fn $method(&self, id: $id) -> &$of {
                    &self.$field[id.0]
                }
            )*
        }
    };
}

ids! {
    /// An agent of a file.
    AgentId => Agent in agents: agent,
    /// A goal of a file.
    GoalId => Goal in goals: goal,
    /// A variable of a file.
    VariableId => Variable in variables: variable,
}

/// A value the workflow is given.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What it is if it is not given. `None`: it must be given.
    pub default: Option<Value>,
    /// Whether nobody may see it: it is kept out of logs, events and records of prompts.
    pub secret: bool,
}

impl Input {
    /// A value that is no secret.
    #[must_use]
    pub fn new(name: impl Into<String>, ty: Type, default: Option<Value>) -> Self {
        Self { name: name.into(), ty, default, secret: false }
    }
}

/// An agent, which pursues goals.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its persona.
    pub persona: Persona,
    /// What it is to give, for the goal that uses it.
    pub outputs: Vec<Output>,
    /// The profile of model it needs.
    pub requires: Option<String>,
    /// Whether it is supervised.
    pub supervision: Supervision,
    /// Its settings.
    pub overrides: Overrides,
}

/// The persona of an agent: a text, a skill or a workflow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Persona {
    /// Instructions.
    Prompt(Text),
    /// Instructions from a skill's folder.
    Skill {
        /// The skill.
        skill: Skill,
        /// Its description, its instructions and the names of its scripts.
        text: Text,
    },
    /// Another workflow, which is given the goal's text.
    Workflow {
        /// The path it was loaded from.
        path: String,
        /// The workflow.
        file: Box<Agentfile>,
        /// The name of the input that is given the goal's text.
        task: String,
    },
}

/// A text, and where it is from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Text {
    /// The text.
    pub template: Template,
    /// The path it was loaded from; `None` if it is in the file itself.
    pub path: Option<String>,
}

/// A goal.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Goal {
    /// What it is called. Its result is the variable of this name, unless an output of its own has the name.
    pub name: String,
    /// The goal's text. That of a workflow of another kind has the values in it that it is given.
    pub text: Text,
    /// The workflow of another kind that it is, if it is one.
    pub embedded: Option<EmbeddedWorkflow>,
    /// Its outputs.
    pub outputs: Vec<Output>,
    /// Who pursues it, each once; if nobody is named, the main model does.
    pub agents: Vec<AgentId>,
    /// If it is to be improved on: how often at most.
    pub converge: Option<Within>,
    /// Under which condition. Otherwise it is skipped and makes no values.
    pub when: Option<Condition>,
    /// Whether it is supervised.
    pub supervision: Supervision,
    /// Its settings.
    pub overrides: Overrides,
}

/// A value a goal or an agent is to give.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// The limit of a loop or a convergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<V = VariableId> {
    /// So often, at least once.
    Times(u32),
    /// As often as a variable says. What it says is known when the file is run: a whole number above 0, or an error.
    Variable(V),
}

/// Goals that are run now.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its kind: how its goals are run.
    pub kind: StepKind,
    /// Its goals. The same goal may be named more than once and is then run more than once.
    pub goals: Vec<GoalId>,
    /// Under which condition. Otherwise all of its goals are skipped.
    pub when: Option<Condition>,
    /// Whether its goals are supervised.
    pub supervision: Supervision,
    /// Settings of its goals.
    pub overrides: Overrides,
}

/// The kind of a step: how its goals are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// One after the other.
    Sequence,
    /// All at the same time. All must succeed.
    Parallel,
    /// One after the other, again and again until nothing is left to improve.
    Loop(Within),
}

/// A variable, which a text can refer to as `$name`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it is secret.
    pub secret: bool,
    /// Whether it is an input.
    pub input: bool,
    /// The goals that give it a value, in the order of the file: the last one that was run decides. Before the first
    /// of them it has the value of the input, if there is one of the name.
    pub goals: Vec<GoalId>,
}

/// The security mode: how suspicious to be of what tools bring in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecurityMode {
    /// As usual.
    Default,
    /// Of everything.
    Paranoid,
    /// What would otherwise be refused is allowed within a scope.
    Research {
        /// What is allowed.
        scope: String,
    },
}

impl SecurityMode {
    /// Returns it as it is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Paranoid => "paranoid",
            Self::Research { .. } => "research",
        }
    }
}

impl Agentfile {
    /// The variable of a name.
    #[must_use]
    pub fn variable_named(&self, name: &str) -> Option<VariableId> {
        self.variables.iter().position(|variable| variable.name == name).map(VariableId)
    }

    /// The profiles that agents require, each once, in the order of the file.
    #[must_use]
    pub fn profiles(&self) -> Vec<&str> {
        let mut profiles: Vec<&str> = Vec::new();
        for profile in self.agents.iter().filter_map(|agent| agent.requires.as_deref()) {
            if !profiles.contains(&profile) {
                profiles.push(profile);
            }
        }
        profiles
    }

    /// Returns whether anything is supervised.
    #[must_use]
    pub fn is_supervised(&self) -> bool {
        let own = self.own_supervisions().any(Supervision::is_on);
        self.supervision.is_on() || own
    }

    /// Returns whether a person is needed.
    #[must_use]
    pub fn needs_human(&self) -> bool {
        self.supervision == Supervision::Human
            || self.own_supervisions().any(|supervision| supervision == Supervision::Human)
    }

    /// The steps and goals that a person must approve, by name: first steps, then goals, each in the order of the file.
    #[must_use]
    pub fn human_names(&self) -> Vec<&str> {
        let human = |own: Supervision| own.within(self.supervision) == Supervision::Human;
        let steps = self.steps.iter().filter(|step| human(step.supervision)).map(|step| step.name.as_str());
        let goals = self.goals.iter().filter(|goal| human(goal.supervision)).map(|goal| goal.name.as_str());
        steps.chain(goals).collect()
    }

    /// Returns whether a `BUDGET` anywhere in it, or in a file that an agent is, limits money.
    #[must_use]
    pub fn limits_cost(&self) -> bool {
        let of_file =
            |agent: &Agent| matches!(&agent.persona, Persona::Workflow { file, .. } if file.limits_cost());
        let steps = self.steps.iter().map(|step| &step.overrides);
        let goals = self.goals.iter().map(|goal| &goal.overrides);
        let agents = self.agents.iter().map(|agent| &agent.overrides);
        let mut all = std::iter::once(&self.overrides).chain(steps).chain(goals).chain(agents);
        all.any(Overrides::limits_cost) || self.agents.iter().any(of_file)
    }

    fn own_supervisions(&self) -> impl Iterator<Item = Supervision> {
        let steps = self.steps.iter().map(|step| step.supervision);
        let goals = self.goals.iter().map(|goal| goal.supervision);
        steps.chain(goals).chain(self.agents.iter().map(|agent| agent.supervision))
    }
}
