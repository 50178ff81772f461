//! Nodes that call tools: `tool`, `http`, `gate`, `context`. Whatever they do is a call of a tool that agents would have, under the
//! same policy, the same rules on addresses and the same sandbox. What it gives them is data, and a command that fails is an error.

use std::sync::Arc;

use convoke_core::{Category, Error, LostResult};
use convoke_steps::{StepsError, ToolStep};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ports::output;
use super::{GraphEquipment, NodeCall, NodeSite, Port, PortType, Ports, Typed};
use crate::board::GATES;
use crate::run::Rules;
use crate::{Board, GraphFault};

const SHELL: &str = "bash";
const FETCH: &str = "web_fetch";
const READ: &str = "read";

/// Calls a tool, and gives what it said.
async fn called(
    equipment: &GraphEquipment,
    call: &mut NodeCall<'_>,
    tool: &str,
    arguments: Value,
) -> Result<String, Error> {
    let mut said = String::new();
    let step =
        ToolStep::new(call.id, &equipment.tools, tool, move |_: &String| Ok::<_, Error>(arguments.clone()))
            .store(|said: &mut String, _, content| *said = content);
    call.scope.composing().inline(&step, &mut said).await?;
    Ok(said)
}

/// Calls a tool.
pub(super) struct ToolNode(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolConfig {
    /// The tool.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The variable that the result goes to; `tool_output` unless said otherwise.
    #[serde(default = "tool_output")]
    output_key: String,
    /// Whether the result is JSON and becomes the value it says.
    #[serde(default)]
    json: bool,
}

fn tool_output() -> String {
    "tool_output".to_owned()
}

impl Typed for ToolNode {
    const NAME: &'static str = "tool";
    type Config = ToolConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "tool_output", PortType::Any)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        site.check_tools()?;
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: ToolConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        let said = called(&self.0, &mut call, &config.tool, Value::Object(config.arguments)).await?;
        let value = if config.json { json_of(&config.tool, &said)? } else { Value::String(said) };
        Ok(call.board.set(&config.output_key, value)?)
    }
}

fn json_of(tool: &str, said: &str) -> Result<Value, Error> {
    serde_json::from_str(said).map_err(|error| {
        let begins: String = said.chars().take(60).collect();
        GraphFault::error(format!(
            "the result of `{tool}` is not JSON, which `json: true` says it is: {error}; it begins with {begins:?}. Have it give JSON and \
             nothing else, or leave `json` out to have it as a text"
        ))
    })
}

/// Reads an address of the web.
pub(super) struct Http(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpConfig {
    /// The address.
    url: String,
    /// The variable that what is there goes to; `http_response` unless said otherwise.
    #[serde(default = "http_response")]
    output_key: String,
}

fn http_response() -> String {
    "http_response".to_owned()
}

impl Typed for Http {
    const NAME: &'static str = "http";
    type Config = HttpConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "http_response", PortType::String)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        site.equipment.tool(FETCH)?;
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: HttpConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        let said = called(&self.0, &mut call, FETCH, json!({"url": config.url})).await?;
        Ok(call.board.set(&config.output_key, said)?)
    }
}

/// Runs commands until one fails, and says in `gate_result` whether one did: edges test that.
pub(super) struct Gate(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GateConfig {
    /// The commands, in order.
    commands: Vec<String>,
}

impl Typed for Gate {
    const NAME: &'static str = "gate";
    type Config = GateConfig;

    fn ports(_: &Value) -> Ports {
        let mut ports = Ports::writing([
            ("gate_result", PortType::String),
            ("gate_result_output", PortType::String),
            ("gate_result_failed_command", PortType::Any),
        ]);
        ports.outputs.push(Port::optional(GATES, PortType::Object));
        ports
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        site.equipment.tool(SHELL)?;
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: GateConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        let (mut output, mut failed) = (String::new(), None);
        for command in config.commands {
            match called(&self.0, &mut call, SHELL, json!({"command": command})).await {
                Ok(said) => add(&mut output, &said),
                Err(error) if error.passes(call.scope.path()) => return Err(error),
                // It says nothing about what is checked, and another time it may go well.
                Err(error) if error.category() == Category::Transient => return Err(error),
                Err(error) if error.downcast_ref::<LostResult>().is_some() => return Err(error),
                Err(error) => {
                    match error.downcast_ref::<StepsError>() {
                        Some(StepsError::ToolFailed { content, .. }) => add(&mut output, content),
                        _ => add(&mut output, &error.to_string()),
                    }
                    failed = Some(command);
                    break;
                }
            }
        }
        let result = if failed.is_some() { "fail" } else { "pass" };
        if call.rules >= Rules::Ordered {
            let mut gates: Map<String, Value> = call.board.typed(GATES).unwrap_or_default();
            let this = json!({"result": result, "output": output, "failed_command": failed});
            gates.insert(call.id.to_owned(), this);
            call.board.set(GATES, gates)?;
        }
        call.board.set("gate_result", result)?;
        call.board.set("gate_result_output", output)?;
        Ok(call.board.set("gate_result_failed_command", failed)?)
    }
}

/// Adds what a command said on a line of its own.
fn add(output: &mut String, said: &str) {
    // What earlier builds kept says at its end how the command ended, and was put together without line breaks.
    let ends = ["Exit code: ", "Killed by signal ", "command timed out after ", "command was killed: "];
    let is_kept = output.lines().next_back().is_some_and(|line| ends.iter().any(|end| line.starts_with(end)));
    if !output.is_empty() && !output.ends_with('\n') && !is_kept {
        output.push('\n');
    }
    output.push_str(said);
}

/// Puts files and the output of commands on the board.
pub(super) struct ContextNode(Arc<GraphEquipment>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextConfig {
    /// The files.
    #[serde(default)]
    files: Vec<ContextFile>,
    /// The commands.
    #[serde(default)]
    commands: Vec<ContextCommand>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextFile {
    /// Where it is, in the workspace.
    path: String,
    /// The variable that its text goes to; its path unless said otherwise.
    state_key: Option<String>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextCommand {
    /// The command.
    command: String,
    /// The variable that its output goes to; the command unless said otherwise.
    state_key: Option<String>,
}

impl Typed for ContextNode {
    const NAME: &'static str = "context";
    type Config = ContextConfig;

    fn ports(config: &Value) -> Ports {
        let named = [("files", "path"), ("commands", "command")].into_iter().flat_map(|(list, usual)| {
            let items = config[list].as_array().into_iter().flatten();
            items.map(move |item| item["state_key"].as_str().or(item[usual].as_str()))
        });
        match named.collect::<Option<Vec<_>>>() {
            Some(names) if names.iter().all(|name| !name.contains("${")) => {
                Ports::writing(names.into_iter().map(|name| (name, PortType::String)))
            }
            _ => Ports::unknown(),
        }
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        for (field, tool) in [("files", READ), ("commands", SHELL)] {
            if site.config[field].is_array() {
                site.equipment.tool(tool)?;
            }
        }
        Ok(Self(Arc::clone(site.equipment)))
    }

    async fn run(&self, config: ContextConfig, mut call: NodeCall<'_>) -> Result<(), Error> {
        for file in config.files {
            let said = called(&self.0, &mut call, READ, json!({"path": file.path})).await?;
            put(call.board, file.state_key.unwrap_or(file.path), said)?;
        }
        for one in config.commands {
            let said = called(&self.0, &mut call, SHELL, json!({"command": one.command})).await?;
            put(call.board, one.state_key.unwrap_or(one.command), said)?;
        }
        Ok(())
    }
}

fn put(board: &mut Board, key: String, said: String) -> Result<(), Error> {
    Ok(board.set(&key, said)?)
}
