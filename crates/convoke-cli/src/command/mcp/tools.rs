//! `convoke mcp tools`

use convoke_core::Repeat;
use convoke_host::{ConfiguredServers, Host};
use convoke_mcp::ToolInfo;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Align, Column, Output, Table, Tone, text};

pub(super) async fn run(
    arguments: &Arguments,
    host: &Host,
    configured: ConfiguredServers,
    server: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let chosen = match server {
        Some(name) => vec![super::only(configured, name)?],
        None => {
            for server in &configured.untrusted {
                output.note(&text::clean(&server.to_string()));
            }
            configured.trusted
        }
    };
    if chosen.is_empty() {
        super::none(output);
    }
    let servers = host.start_servers(&host.policies(None)?, chosen).await?;
    let (tools, warnings) = (servers.table::<String>([]), servers.warnings());
    servers.close().await;
    for warning in &warnings {
        output.note(&text::clean(warning));
    }
    if arguments.json {
        return output.json(&tools.iter().map(as_json).collect::<Vec<_>>());
    }
    if !tools.is_empty() {
        print(&tools, output)?;
    }
    match server {
        // Who asks for one server wants to know that it is not there.
        Some(name) if tools.is_empty() && !warnings.is_empty() => {
            Err(Failure::failed(format!("MCP server `{name}` is not there")))
        }
        _ => Ok(()),
    }
}

fn print(tools: &[ToolInfo], output: &mut Output) -> Result<(), Failure> {
    let left = |title| Column::new(title, Align::Left);
    let mut table = Table::new([left("TOOL"), left("EFFECTS"), left("WHAT IT IS FOR").yielding(20)]);
    for tool in tools {
        table.row([
            (Tone::Strong, text::clean(&tool.exposed)),
            (Tone::Plain, effects(tool)),
            (Tone::Plain, text::one_line(&tool.description)),
        ]);
    }
    output.table(&table)
}

/// The words for what it does to the world.
fn effects(tool: &ToolInfo) -> String {
    let effects = json!(tool.spec.effects);
    let words: Vec<&str> = effects.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    words.join(", ")
}

fn as_json(tool: &ToolInfo) -> Value {
    json!({
        "name": tool.exposed,
        "server": tool.server,
        "tool": tool.tool,
        "description": tool.description,
        "effects": tool.spec.effects,
        "repeatable": tool.spec.repeat == Repeat::Safe,
        "parameters": tool.spec.definition.parameters,
    })
}
