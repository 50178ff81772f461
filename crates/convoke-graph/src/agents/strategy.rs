//! Strategies: how agents go about requests.

use std::sync::{Arc, OnceLock};

use convoke_core::{Error, SharedStep, Toolset};

use super::{Agent, Dependencies};
use crate::{Board, CompiledGraph, GraphDefinition, GraphEquipment, NodeTypes};

/// The dependency with what the nodes of graphs work with, a [`GraphEquipment`].
pub const GRAPH_EQUIPMENT: &str = "graph.equipment";

/// The way in which an agent goes about requests.
pub trait Strategy: Send + Sync {
    /// What kind of strategy it is.
    fn kind(&self) -> &str;

    /// The variable with the answer.
    fn answer_key(&self) -> &str {
        "answer"
    }

    /// Makes the step that does the work, anew for every request.
    ///
    /// # Errors
    /// What it lacks.
    fn build(&self, agent: &Agent, dependencies: &Dependencies) -> Result<SharedStep<Board>, Error>;
}

/// A graph as a strategy. It has the tools of its agent, and no others.
pub struct GraphStrategy {
    definition: GraphDefinition,
    types: NodeTypes,
    compiled: OnceLock<CompiledGraph>,
}

impl GraphStrategy {
    /// A graph that is compiled when it is first needed.
    #[must_use]
    pub fn new(definition: GraphDefinition, types: NodeTypes) -> Self {
        Self { definition, types, compiled: OnceLock::new() }
    }

    fn graph(&self) -> Result<&CompiledGraph, Error> {
        if let Some(graph) = self.compiled.get() {
            return Ok(graph);
        }
        let graph = CompiledGraph::new(self.definition.clone(), &self.types).map_err(Error::permanent)?;
        Ok(self.compiled.get_or_init(|| graph))
    }
}

impl From<CompiledGraph> for GraphStrategy {
    fn from(graph: CompiledGraph) -> Self {
        let (definition, types) = (graph.definition.clone(), graph.types.clone());
        Self { definition, types, compiled: graph.into() }
    }
}

impl Strategy for GraphStrategy {
    fn kind(&self) -> &str {
        "graph"
    }

    fn answer_key(&self) -> &str {
        &self.definition.answer_key
    }

    fn build(&self, agent: &Agent, dependencies: &Dependencies) -> Result<SharedStep<Board>, Error> {
        let given = dependencies.get::<GraphEquipment>(GRAPH_EQUIPMENT);
        let mut equipment = match given {
            Ok(equipment) => (*equipment).clone(),
            Err(super::DependencyError::Missing { .. }) => GraphEquipment::default(),
            Err(error) => return Err(Error::permanent(error)),
        };
        if let Some(allowed) = agent.allowed_tools() {
            let mut tools = Toolset::new();
            for tool in equipment.tools.iter().filter(|tool| allowed.contains(&tool.spec().definition.name)) {
                tools.add(Arc::clone(tool)).map_err(Error::permanent)?;
            }
            equipment.tools = tools;
        }
        let graph =
            self.graph()?.equip(equipment).map_err(|problems| Error::permanent(problems.join("; ")))?;
        Ok(Arc::new(graph))
    }
}
