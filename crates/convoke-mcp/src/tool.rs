//! A server's tool as one of ours.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Invocation, Origin, Tool, ToolSpec};
use rmcp::model::{CallToolRequestParams, JsonObject, RequestMetaObject};
use serde_json::{Value, json};

use crate::content;
use crate::effects::declared;
use crate::server::Server;

/// Where a server finds the key that marks every attempt at a call as the same one.
const KEY: &str = "convoke/idempotencyKey";

/// The most that is told of a tool.
const MAX_DESCRIPTION: usize = 4096;

/// A row of the table of exposed names.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolInfo {
    /// What a model calls it.
    pub exposed: String,
    /// The server it belongs to.
    pub server: String,
    /// What the server calls it.
    pub tool: String,
    /// What it is for, in the server's words.
    pub description: String,
    /// What it does to the world, and the rest that the kernel is told.
    pub spec: ToolSpec,
}

/// A tool of a server.
pub(crate) struct McpTool {
    server: Arc<Server>,
    tool: String,
    spec: ToolSpec,
}

impl McpTool {
    pub(crate) fn new(server: &Arc<Server>, tool: &rmcp::model::Tool, exposed: &str) -> Self {
        let config = &server.config;
        let (effects, repeat) = declared(tool.annotations.as_ref(), config.trust_annotations);
        let description = description(server.name(), tool.description.as_deref().unwrap_or_default());
        let spec = ToolSpec::new(exposed, description, effects)
            .repeat(repeat)
            .timeout(config.timeout)
            .parameters(parameters(&tool.input_schema));
        Self { server: Arc::clone(server), tool: tool.name.to_string(), spec }
    }

    async fn made(&self, call: Invocation<'_>) -> Result<String, Error> {
        let arguments = call.arguments.as_object().cloned().unwrap_or_default();
        let mut params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.0.insert(KEY.to_owned(), json!(call.key.to_string()));
        params.meta = Some(meta);
        let result = self.server.call(params, self.spec.repeat, call.scope).await?;
        let text = self.server.hide(&content::text_of(&result));
        match result.is_error {
            Some(true) if text.is_empty() => Err(Error::failed("it failed, and did not say why")),
            Some(true) => Err(Error::failed(text)),
            _ => Ok(text),
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The server checks the rest; this much is known here, before anything happens.
    fn check(&self, arguments: &Value) -> Result<(), String> {
        let given = arguments.as_object().ok_or("the arguments must be an object")?;
        let required = self.spec.definition.parameters["required"].as_array();
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<&str> = required.filter(|name| !given.contains_key(*name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("missing: {}", missing.join(", "))) }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(self.made(call))
    }

    fn origin(&self, _arguments: &Value) -> Origin {
        Origin::Mcp(format!("{}/{}", self.server.name(), self.tool))
    }
}

/// What a model is told: whose it is, and what its server says, within reason.
pub(crate) fn description(server: &str, said: &str) -> String {
    let mut text = format!("[MCP:{server}] {said}");
    if let Some((end, _)) = text.char_indices().nth(MAX_DESCRIPTION) {
        text.truncate(end);
        text.push('…');
    }
    text.trim_end().to_owned()
}

/// The schema as it came, as an object even if it does not say so.
fn parameters(schema: &JsonObject) -> Value {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}
