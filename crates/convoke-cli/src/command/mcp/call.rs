//! `convoke mcp call`

use std::sync::{Arc, Mutex};

use convoke_host::{Host, ToolCallError};
use convoke_mcp::ServerConfig;
use serde_json::{Value, json};

use super::person::CallResponder;
use crate::failure::Failure;
use crate::files;
use crate::terminal::{Output, Spinner, text};

pub(super) async fn run(
    host: &Host,
    server: ServerConfig,
    tool: &str,
    given: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let given = parsed(given)?;
    let name = server.name.clone();
    let waiting = Arc::new(Mutex::new(Spinner::begin(&format!("{name} {tool}"))));
    let called = host.call_tool(server, tool, given, CallResponder::new(Arc::clone(&waiting))).await;
    // Before anything is said about how it went.
    drop(waiting);
    let content = called.map_err(|error| match error {
        ToolCallError::Server(error) => error.into(),
        ToolCallError::Unanswered => Failure::failed(error.to_string()).hint("call it at a terminal"),
        _ => Failure::failed(text::clean(&error.to_string())),
    })?;
    let document = json!({"server": name, "tool": tool, "content": content});
    output.give(&document, content.trim_end())
}

/// The arguments: an object, from the command line or from standard input.
fn parsed(given: Option<&str>) -> Result<Value, Failure> {
    let text = match given {
        None => return Ok(json!({})),
        Some("-") => files::standard_input()?,
        Some(text) => text.to_owned(),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the arguments are not JSON: {error}")))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Failure::usage("the arguments must be an object, such as '{\"path\": \"README.md\"}'")),
    }
}
