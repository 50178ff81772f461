//! A server's resources and prompts: what the protocol has beside tools, and tools to use them.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Invocation, Origin, Repeat, Tool, ToolEffect, ToolEffects, ToolSpec};
use rmcp::model::{GetPromptRequestParams, GetPromptResponse, ReadResourceRequestParams, Role};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::McpError;
use crate::server::Server;
use crate::{content, pages, tool};

/// Something a server has to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Resource {
    /// Its address; with `{…}` in it, a pattern for addresses.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its media type, if the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Something a server suggests to say to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerPrompt {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
}

/// Something a prompt takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

impl Server {
    /// What there is to read: resources, then patterns for more.
    pub(crate) async fn resources(&self) -> Result<Vec<Resource>, McpError> {
        let connection = self.connection().await?;
        if connection.info().capabilities.resources.is_none() {
            return Ok(Vec::new());
        }
        let peer = connection.peer();
        let refused = |error| self.refused("a list of its resources", error);
        let listed = pages::all(async |page| {
            peer.list_resources(page).await.map(|list| (list.resources, list.next_cursor))
        });
        let resources = listed.await.map_err(refused)?;
        let patterns = pages::all(async |page| {
            peer.list_resource_templates(page).await.map(|list| (list.resource_templates, list.next_cursor))
        });
        // Servers without patterns may not know the question.
        let patterns = patterns.await.unwrap_or_default();
        let resources = resources.into_iter().map(|one| Resource {
            uri: one.uri,
            name: one.name,
            description: one.description.unwrap_or_default(),
            mime_type: one.mime_type,
        });
        let patterns = patterns.into_iter().map(|one| Resource {
            uri: one.uri_template,
            name: one.name,
            description: one.description.unwrap_or_default(),
            mime_type: one.mime_type,
        });
        Ok(resources.chain(patterns).collect())
    }

    /// What is in a resource, as text.
    pub(crate) async fn read_resource(&self, uri: &str) -> Result<String, McpError> {
        let connection = self.connection().await?;
        let read = connection.peer().read_resource(ReadResourceRequestParams::new(uri)).await;
        let read = read.map_err(|error| self.refused(&format!("to read `{uri}`"), error))?;
        self.answered();
        Ok(read.contents.iter().map(content::resource).collect::<Vec<_>>().join("\n"))
    }

    /// What it suggests to say.
    pub(crate) async fn prompts(&self) -> Result<Vec<ServerPrompt>, McpError> {
        let connection = self.connection().await?;
        if connection.info().capabilities.prompts.is_none() {
            return Ok(Vec::new());
        }
        let peer = connection.peer();
        let listed = pages::all(async |page| {
            peer.list_prompts(page).await.map(|list| (list.prompts, list.next_cursor))
        });
        let prompts = listed.await.map_err(|error| self.refused("a list of its prompts", error))?;
        let argument = |one: rmcp::model::PromptArgument| PromptArgument {
            name: one.name,
            description: one.description.unwrap_or_default(),
            required: one.required == Some(true),
        };
        let prompt = |one: rmcp::model::Prompt| ServerPrompt {
            name: one.name,
            description: one.description.unwrap_or_default(),
            arguments: one.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        };
        Ok(prompts.into_iter().map(prompt).collect())
    }

    /// A prompt with its arguments put in, as text: who says what.
    pub(crate) async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<String, McpError> {
        let connection = self.connection().await?;
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = format!("the prompt `{name}`");
        let got = connection.peer().get_prompt_once(params).await;
        let got = match got.map_err(|error| self.refused(&request, error))? {
            GetPromptResponse::Complete(got) => got,
            _ => {
                let reason = format!("{request} wants to know more than it was given");
                return Err(McpError::Protocol { server: self.name().to_owned(), reason });
            }
        };
        self.answered();
        let said = got.messages.iter().map(|message| {
            let who = if message.role == Role::Assistant { "assistant" } else { "user" };
            format!("{who}: {}", content::blocks([&message.content]))
        });
        Ok(said.collect::<Vec<_>>().join("\n\n"))
    }
}

/// A service that a library tool gives.
#[derive(Clone, Copy)]
pub(crate) enum Service {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Service {
    /// What this server's configuration asks for.
    pub(crate) fn of(server: &Server) -> Vec<Self> {
        let mut services = Vec::new();
        if server.config.resources {
            services.extend([Self::ListResources, Self::ReadResource]);
        }
        if server.config.prompts {
            services.extend([Self::ListPrompts, Self::GetPrompt]);
        }
        services
    }

    /// What the tool is called, beside the server's own.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::ListResources => {
                "Lists what this server has to read: addresses, or patterns for addresses."
            }
            Self::ReadResource => "Reads one of this server's resources.",
            Self::ListPrompts => "Lists what this server suggests to say.",
            Self::GetPrompt => "Gives one of this server's suggestions, with its arguments put in.",
        }
    }

    fn parameters(self) -> Value {
        match self {
            Self::ListResources | Self::ListPrompts => json!({"type": "object", "properties": {}}),
            Self::ReadResource => json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "its address"}},
                "required": ["uri"],
            }),
            Self::GetPrompt => json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "what it is called"},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["name"],
            }),
        }
    }
}

/// A tool of the library: it looks at a server's resources or prompts.
pub(crate) struct LibraryTool {
    server: Arc<Server>,
    service: Service,
    spec: ToolSpec,
}

impl LibraryTool {
    pub(crate) fn new(server: &Arc<Server>, service: Service, exposed: &str) -> Self {
        // Who is not believed may do anything when asked to look, too; the protocol says that looking changes nothing.
        let effects = ToolEffects::from([ToolEffect::Reads, ToolEffect::Network]);
        let spec = ToolSpec::new(exposed, tool::description(server.name(), service.description()), effects)
            .repeat(Repeat::Safe)
            .timeout(server.config.timeout)
            .parameters(service.parameters());
        Self { server: Arc::clone(server), service, spec }
    }

    async fn look(&self, arguments: &Value) -> Result<String, Error> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        let looked = match self.service {
            Service::ListResources => self.server.resources().await.map(|list| lines(&list)),
            Service::ReadResource => self.server.read_resource(text("uri")).await,
            Service::ListPrompts => self.server.prompts().await.map(|list| lines(&list)),
            Service::GetPrompt => {
                let given = arguments["arguments"].as_object().cloned().unwrap_or_default();
                self.server.prompt(text("name"), given).await
            }
        };
        Ok(self.server.hide(&looked?))
    }
}

impl Tool for LibraryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        let required = self.spec.definition.parameters["required"].as_array();
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<&str> = required.filter(|name| !arguments[*name].is_string()).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("missing: {}", missing.join(", "))) }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(self.look(call.arguments))
    }

    fn origin(&self, _arguments: &Value) -> Origin {
        Origin::Mcp(format!("{}/{}", self.server.name(), self.service.name()))
    }
}

/// A list as one JSON object a line.
fn lines<T: Serialize>(list: &[T]) -> String {
    if list.is_empty() {
        return "there are none".to_owned();
    }
    list.iter().filter_map(|one| serde_json::to_string(one).ok()).collect::<Vec<_>>().join("\n")
}
