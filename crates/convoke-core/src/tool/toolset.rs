//! Sets of tools by name, in declared order.

use std::sync::Arc;

use super::{Tool, ToolDefinition};

/// An ordered set of tools with different names.
///
/// Adding gives a new set and leaves the old one as it is, so a request can have tools of its own without anybody
/// else seeing them.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<Arc<dyn Tool>>,
}

/// The error that two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool called `{name}`; rename one of them")]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl Toolset {
    /// Returns an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn with(mut self, tool: impl Tool + 'static) -> Result<Self, DuplicateTool> {
        self.add(Arc::new(tool))?;
        Ok(self)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If the name is taken; the set is then unchanged.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let name = tool.spec().name();
        if self.get(name).is_some() {
            return Err(DuplicateTool { name: name.to_owned() });
        }
        self.tools.push(tool);
        Ok(())
    }

    /// Overlays another set, for one request.
    ///
    /// # Errors
    /// If a name is in both; this set is unchanged.
    pub fn overlaid(&self, others: &Self) -> Result<Self, DuplicateTool> {
        let mut both = self.clone();
        for tool in &others.tools {
            both.add(Arc::clone(tool))?;
        }
        Ok(both)
    }

    /// Takes a tool out. Says whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.tools.len();
        self.tools.retain(|tool| tool.spec().name() != name);
        self.tools.len() < before
    }

    /// The tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name() == name)
    }

    /// The tools, in the order they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Their names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name())
    }

    /// Returns the descriptions for models.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|tool| tool.spec().definition.clone()).collect()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}
