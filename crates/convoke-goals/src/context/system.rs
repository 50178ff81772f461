//! The system message.

use super::Fence;

/// The role that a system message addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role<'a> {
    /// The main model, which pursues a goal.
    Goal,
    /// An agent of the workflow, with its persona.
    Agent {
        /// Who it is.
        persona: &'a str,
    },
    /// An agent that was spawned at run time.
    Spawned {
        /// What it was called.
        role: &'a str,
    },
    /// Whoever puts answers together.
    Synthesis,
}

/// Guidance by what a worker can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guidance {
    /// It has tools.
    pub tools: bool,
    /// They are to be opened before they can be used.
    pub on_demand: bool,
    /// It can spawn agents.
    pub spawning: bool,
    /// It has a scratchpad.
    pub scratchpad: bool,
    /// It has a memory that outlives the run.
    pub memory: bool,
}

/// The parts of a system message.
#[derive(Debug, Clone, Copy)]
pub struct SystemParts<'a> {
    /// The role that is addressed.
    pub role: Role<'a>,
    /// Instructions, from the workflow's to its own.
    pub context: &'a [String],
    /// What is known of the folder that is worked in; may be empty.
    pub workspace: &'a str,
    /// The skills it may take up, and how; may be empty. See [`SkillShelf`](crate::SkillShelf).
    pub skills: &'a str,
    /// What it is told because of what it can do.
    pub guidance: Guidance,
    /// The scope of authorised security research, if it is that.
    pub research: Option<&'a str>,
    /// The marks of this run.
    pub fence: &'a Fence,
}

/// The system message: the parts that are there, a blank line between them.
#[must_use]
pub fn system(parts: &SystemParts<'_>) -> String {
    let mut said: Vec<String> = Vec::new();
    if parts.guidance.scratchpad {
        said.push(SCRATCHPAD.to_owned());
    }
    if parts.guidance.memory {
        said.push(MEMORY.to_owned());
    }
    // Who has to open the tool for it reads there what it is for.
    if parts.guidance.spawning && !parts.guidance.on_demand {
        said.push(SPAWNING.to_owned());
    }
    if let Some(scope) = parts.research {
        said.push(format!(
            "This is authorised security research. Its scope, and nothing beyond it, is: {scope}. Work to defend."
        ));
    }
    said.push(INFORMATION.to_owned());
    said.push(TERSENESS.to_owned());
    if parts.guidance.on_demand {
        said.push(TOOLS_ON_DEMAND.to_owned());
    } else if parts.guidance.tools {
        said.push(TOOLS.to_owned());
    }
    said.push(parts.fence.explanation());
    said.push(match parts.role {
        Role::Goal => "You are a helpful assistant who pursues one goal of a workflow.".to_owned(),
        Role::Agent { persona } => persona.to_owned(),
        Role::Spawned { role } => format!("You are a {role}, called in for one task."),
        Role::Synthesis => "You put the answers of several agents together into one.".to_owned(),
    });
    said.extend(parts.context.iter().filter(|text| !text.trim().is_empty()).cloned());
    if !parts.skills.is_empty() {
        said.push(parts.skills.to_owned());
    }
    if !parts.workspace.is_empty() {
        said.push(parts.workspace.to_owned());
    }
    said.join("\n\n")
}

const INFORMATION: &str = "\
Weigh what surprises or contradicts above what merely confirms, and spend effort where the information is.";

const TERSENESS: &str = "\
Nobody reads along. Give the result and nothing else: no preamble, no account of what you are about to do, no farewell.";

const TOOLS: &str = "\
Call tools that do not depend on each other in one turn. Read before you change something, change as little as does the \
job, and stop when it is done.";

const TOOLS_ON_DEMAND: &str = "\
If the work takes files, commands, the web or helpers, open the tools for it with open_tools first; otherwise answer at once.";

const SPAWNING: &str = "\
You can spawn sub-agents. Do so for work that splits into parts which do not need each other, or is too large for one \
reading; not for what you can do in a few steps yourself. Look at the whole first, divide it where it naturally divides, \
give each sub-agent a role name of its own and a task that can be understood without anything else, and reconcile what \
comes back.";

const SCRATCHPAD: &str = "\
The scratchpad keeps notes by key for this run. Write down what you will need later as soon as you know it.";

const MEMORY: &str = "\
Your memory outlasts this run. Recall what is known before you search, read or call anything; remember what would save \
the next one time. It is not the scratchpad.";
