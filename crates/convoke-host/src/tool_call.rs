//! Calls of MCP tools by hand: a run of one step that nobody keeps, so that what a server asks is a question like any other.

use convoke_core::{Error, Responder, Runtime, Toolset, Workflow};
use convoke_mcp::ServerConfig;
use convoke_steps::{StepsError, ToolStep};
use serde_json::Value;

use crate::{Host, HostError};

/// An error in calling a tool by hand.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolCallError {
    /// The server cannot be started.
    #[error(transparent)]
    Server(#[from] HostError),
    /// Nobody answered what the server asked.
    #[error("the server asks something, and nobody is there to answer; the call was given up")]
    Unanswered,
    /// There is no such tool, or it failed.
    #[error("{0}")]
    Failed(String),
}

impl Host {
    /// Starts a server, calls one of its tools, and gives what that says. What the server asks meanwhile, `responder` answers.
    ///
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be started, has no such tool, or the tool fails.
    pub async fn call_tool(
        &self,
        server: ServerConfig,
        tool: &str,
        arguments: Value,
        responder: impl Responder + 'static,
    ) -> Result<String, ToolCallError> {
        let name = server.name.clone();
        let servers = self.start_servers(&self.policies(None)?, vec![server]).await?;
        let called = async {
            let failed = |error: &dyn std::error::Error| ToolCallError::Failed(error.to_string());
            let found = servers.tool(&name, tool).await.map_err(|error| failed(&error))?;
            let exposed = found.spec().name().to_owned();
            let mut tools = Toolset::new();
            tools.add(found).map_err(|error| failed(&error))?;
            let given = move |_: &Option<String>| Ok::<_, Error>(arguments.clone());
            let step = ToolStep::new(tool, &tools, exposed, given);
            let workflow = Workflow::new(step.store(|result, _, content| *result = Some(content)));
            let runtime = Runtime::builder().responder(responder).build();
            let outcome = runtime.start(&workflow, None).await.map_err(|error| failed(&error))?;
            match outcome.error {
                None => Ok(outcome.state.unwrap_or_default()),
                Some(Error::Suspended(_)) => Err(ToolCallError::Unanswered),
                Some(error) => Err(match error.downcast_ref::<StepsError>() {
                    Some(StepsError::ToolFailed { content, .. }) => ToolCallError::Failed(content.clone()),
                    _ => failed(&error),
                }),
            }
        };
        let called = called.await;
        servers.close().await;
        called
    }
}
