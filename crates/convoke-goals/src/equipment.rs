//! The equipment of a workflow: models, tools, a supervisor, limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_agent::memory::Memories;
use convoke_core::{Model, RetrieverSource, Tool, Toolset};

use crate::context::ContextBudget;
use crate::secret::Secrets;
use crate::skills::SkillShelf;
use crate::supervise::{HumanPolicy, Supervisor};

/// The source of models that a tree refers to by name.
pub trait Models: Send + Sync {
    /// The model of a name, such as `anthropic/claude-sonnet-4-5`.
    ///
    /// # Errors
    /// Why there is none, and what to do about it.
    fn named(&self, name: &str) -> Result<Arc<dyn Model>, String>;

    /// The model that a profile stands for, such as `fast`.
    ///
    /// # Errors
    /// Why there is none, and what to do about it.
    fn profile(&self, name: &str) -> Result<Arc<dyn Model>, String>;
}

/// Gives what stands for a tool; nothing if that is the tool itself.
pub type StandIn = Arc<dyn Fn(&Arc<dyn Tool>) -> Option<Arc<dyn Tool>> + Send + Sync>;

/// The equipment of a workflow: models, tools, a supervisor, limits.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Equipment {
    /// The model for whatever names none. Without it, the runtime's.
    pub model: Option<Arc<dyn Model>>,
    /// The source of models that are referred to by name.
    pub models: Option<Arc<dyn Models>>,
    /// The tools everybody has unless it says otherwise.
    pub tools: Toolset,
    /// Why tools of these names are not among [`tools`](Self::tools), for workflows of other kinds that cannot do without.
    pub absent_tools: BTreeMap<String, String>,
    /// What stands for tools that workflows of other kinds bring themselves. Those of [`tools`](Self::tools) are as they are.
    pub stand_in: Option<StandIn>,
    /// Whether [`tools`](Self::tools) are offered by name only, until whoever needs some opens them: what is not needed then
    /// costs next to nothing. Those that a node names are always described in full. `false` by default.
    pub tools_on_demand: bool,
    /// The memories that goals are remembered in, by name.
    pub memories: Option<Arc<dyn Memories>>,
    /// What workflows of other kinds search by name. Goals have tools for that.
    pub knowledge: Option<RetrieverSource>,
    /// The skills that those who pursue something may take up.
    pub skills: SkillShelf,
    /// Instructions everybody gets.
    pub context: String,
    /// What is known of the folder that is worked in, told to those who pursue goals. A run keeps what was known when it
    /// began.
    pub workspace: String,
    /// Who judges what a supervised goal came to. Without it, [`ModelSupervisor`](crate::supervise::ModelSupervisor)
    /// with the goal's own model.
    pub supervisor: Option<Arc<dyn Supervisor>>,
    /// How often a supervisor may send a goal back with a correction; `None`: twice.
    pub max_reorients: Option<u32>,
    /// The policy for asking people.
    pub human: HumanPolicy,
    /// The size limit of prompts.
    pub context_budget: ContextBudget,
    /// Whether agents may spawn others, and how deep.
    pub spawning: Spawning,
    /// The secret inputs: see [`Workflow::separate_secrets`](crate::Workflow::separate_secrets).
    pub secrets: Secrets,
    /// Reads command lines, for skills that allow some commands of a shell only. Without it, such a command must be plain
    /// words.
    pub commands: Option<CommandReader>,
    /// How many turns those have who pursue something; `None`: 50 for the main model, 30 for an agent, or as many as the
    /// innermost budget that limits their turns says, if that is more.
    pub max_turns: Option<u32>,
}

/// Reads a command line of a shell: the words of every program that it would start, in order. `None` if the text does not
/// say all of them.
pub type CommandReader = Arc<dyn Fn(&str) -> Option<Vec<Vec<String>>> + Send + Sync>;

impl Equipment {
    /// Sets the model for whatever names none.
    ///
    /// ```
    /// use convoke_goals::Equipment;
    /// use convoke_models::ScriptedModel;
    ///
    /// let equipment = Equipment::default().with_model(ScriptedModel::replies(["Hum"])).without_spawning();
    /// assert!(equipment.model.is_some());
    /// ```
    #[must_use]
    pub fn with_model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the supervisor.
    #[must_use]
    pub fn with_supervisor(mut self, supervisor: impl Supervisor + 'static) -> Self {
        self.supervisor = Some(Arc::new(supervisor));
        self
    }

    /// Sets the secrets.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Forbids spawning agents at run time.
    #[must_use]
    pub fn without_spawning(mut self) -> Self {
        self.spawning = Spawning::Never;
        self
    }
}

/// The setting for spawning agents at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawning {
    /// They may not: there is no tool for it.
    Never,
    /// Goals may spawn agents, which may spawn others, so deep; at most so many at the same time.
    Allowed {
        /// 1: those that are spawned cannot spawn.
        depth: u32,
        /// At most so many in one call.
        at_once: u32,
    },
}

impl Default for Spawning {
    fn default() -> Self {
        Self::Allowed { depth: 1, at_once: 16 }
    }
}
