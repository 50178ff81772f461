//! The registry of specialists: agents by name and capability.

use convoke_core::{DuplicateTool, Toolset};

use super::AgentTool;
use crate::agent::Agent;

/// An agent that others can call upon.
#[derive(Debug, Clone)]
#[must_use = "a specialist is for registering"]
pub struct Specialist {
    agent: Agent,
    description: Option<String>,
    capabilities: Vec<String>,
}

impl Specialist {
    /// A specialist named like its agent.
    pub fn new(agent: Agent) -> Self {
        Self { agent, description: None, capabilities: Vec::new() }
    }

    /// Says what it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says what it is good at.
    pub fn capabilities<T: Into<String>>(mut self, capabilities: impl IntoIterator<Item = T>) -> Self {
        self.capabilities.extend(capabilities.into_iter().map(Into::into));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.agent.name()
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns whether it is good at this.
    #[must_use]
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|own| own == capability)
    }

    /// The specialist as a tool.
    pub fn tool(&self) -> AgentTool {
        let tool = AgentTool::new(self.agent.clone());
        match &self.description {
            Some(description) => tool.description(description),
            None => tool,
        }
    }
}

/// Specialists, in the order they were registered.
///
/// ```
/// use convoke_agent::{Agent, Specialist, SpecialistRegistry};
///
/// let specialists = SpecialistRegistry::new()
///     .register(Specialist::new(Agent::builder("lawyer").build()?).capabilities(["contracts", "patents"]))
///     .register(Specialist::new(Agent::builder("engineer").build()?).capabilities(["patents"]));
/// assert_eq!(specialists.able_to("patents").count(), 2);
/// let tools = specialists.tools()?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["lawyer", "engineer"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SpecialistRegistry {
    specialists: Vec<Specialist>,
}

impl SpecialistRegistry {
    /// Returns an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a specialist, in the place of one that had its name before.
    #[must_use]
    pub fn register(mut self, specialist: Specialist) -> Self {
        match self.specialists.iter_mut().find(|other| other.name() == specialist.name()) {
            Some(before) => *before = specialist,
            None => self.specialists.push(specialist),
        }
        self
    }

    /// The specialist with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Specialist> {
        self.specialists.iter().find(|specialist| specialist.name() == name)
    }

    /// Returns whether there is one with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Iterates over all specialists.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Specialist> {
        self.specialists.iter()
    }

    /// Their names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.specialists.iter().map(Specialist::name)
    }

    /// Returns those that are good at this.
    pub fn able_to(&self, capability: &str) -> impl Iterator<Item = &Specialist> {
        self.specialists.iter().filter(move |specialist| specialist.can(capability))
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.specialists.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.specialists.is_empty()
    }

    /// A tool for each of them.
    ///
    /// # Errors
    /// Never for a registry by itself: names are different in it.
    pub fn tools(&self) -> Result<Toolset, DuplicateTool> {
        self.add_to(Toolset::new())
    }

    /// Adds a tool for each specialist to these tools.
    ///
    /// # Errors
    /// If a name is taken.
    pub fn add_to(&self, tools: Toolset) -> Result<Toolset, DuplicateTool> {
        self.specialists.iter().try_fold(tools, |tools, specialist| tools.with(specialist.tool()))
    }
}
