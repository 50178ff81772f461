//! `convoke mcp call`
//!
//! A call by hand is a run of one step that nobody keeps: what a server asks meanwhile is asked like any other question.

use std::io::Read;
use std::sync::{Arc, Mutex};

use convoke_core::{Error, Runtime, Toolset, Workflow};
use convoke_host::Host;
use convoke_mcp::ServerConfig;
use convoke_steps::{StepsError, ToolStep};
use serde_json::{Value, json};

use super::person::Person;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Output, Spinner, text};

pub(super) async fn run(
    arguments: &Arguments,
    host: &Host,
    server: ServerConfig,
    tool: &str,
    given: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let given = parsed(given)?;
    let name = server.name.clone();
    let waiting = Arc::new(Mutex::new(Spinner::begin(&format!("{name} {tool}"))));
    let servers = host.start_servers(&host.policies(None)?, vec![server]).await?;
    let called = async {
        let found = servers.tool(&name, tool).await.map_err(|error| Failure::failed(error.to_string()))?;
        let exposed = found.spec().name().to_owned();
        let mut tools = Toolset::new();
        tools.add(found).map_err(|error| Failure::failed(error.to_string()))?;
        let step =
            ToolStep::new(tool, &tools, exposed, move |_: &Option<String>| Ok::<_, Error>(given.clone()));
        let workflow = Workflow::new(step.store(|result, _, content| *result = Some(content)));
        let runtime = Runtime::builder().responder(Person::new(Arc::clone(&waiting))).build();
        let outcome =
            runtime.start(&workflow, None).await.map_err(|error| Failure::failed(error.to_string()))?;
        match outcome.error {
            None => Ok(outcome.state.unwrap_or_default()),
            Some(error) => Err(failure(&error)),
        }
    };
    let called = called.await;
    servers.close().await;
    // Before anything is said about how it went.
    drop(waiting);
    let content = called?;
    if arguments.json {
        return output.json(&json!({"server": name, "tool": tool, "content": content}));
    }
    output.plain(text::clean(&content).trim_end())
}

/// The arguments: an object, from the command line or from standard input.
fn parsed(given: Option<&str>) -> Result<Value, Failure> {
    let text = match given {
        None => return Ok(json!({})),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
            text
        }
        Some(text) => text.to_owned(),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the arguments are no JSON: {error}")))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Failure::usage("the arguments must be an object, such as '{\"path\": \"README.md\"}'")),
    }
}

fn failure(error: &Error) -> Failure {
    if matches!(error, Error::Suspended(_)) {
        return Failure::failed(
            "the server asks something, and nobody is there to answer; the call was given up",
        )
        .hint("call it at a terminal");
    }
    match error.downcast_ref::<StepsError>() {
        Some(StepsError::ToolFailed { content, .. }) => Failure::failed(text::clean(content)),
        _ => Failure::failed(text::clean(&error.to_string())),
    }
}
