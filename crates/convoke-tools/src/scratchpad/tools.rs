//! The `scratchpad_write`, `scratchpad_read`, `scratchpad_list` and `scratchpad_search` tools.

use std::sync::Arc;
use std::time::Duration;

use convoke_agent::{FunctionTool, ToolContext};
use convoke_core::{Access, Error, Origin, Timestamp, Tool, ToolEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Scratchpad, store};
use crate::database::{self, RecordedCall, StorageError};

const TIME: Duration = Duration::from_secs(60);
/// The longest note, in bytes. A result holds one whole.
const LONGEST: usize = 64 << 10;
/// Names, or finds, of one result.
const PAGE: usize = 100;
/// What is shown around a find, in characters.
const AROUND: usize = 80;

/// Arguments of `scratchpad_write`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The note's name.
    #[schemars(length(min = 1, max = 200))]
    key: String,
    /// What to write. It takes the place of what was there.
    value: String,
}

/// Arguments of `scratchpad_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// The note's name.
    key: String,
}

/// Arguments of `scratchpad_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only names with this in them.
    #[serde(default)]
    filter: Option<String>,
    /// The first name to show, counted from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: usize,
}

/// Arguments of `scratchpad_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The text to look for in names and notes, in upper or lower case.
    #[schemars(length(min = 1))]
    query: String,
    /// The first find to show, counted from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: usize,
}

fn one() -> usize {
    1
}

/// Returns all tools of the scratchpad.
#[must_use]
pub fn all(scratchpad: &Scratchpad) -> Vec<Arc<dyn Tool>> {
    let tools = [write(scratchpad), read(scratchpad), list(scratchpad), search(scratchpad)];
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

fn write(scratchpad: &Scratchpad) -> FunctionTool {
    let database = scratchpad.database.clone();
    FunctionTool::with_context(
        "scratchpad_write",
        "Writes a note for later in this run, under a name. All agents of the run see it; it is gone when the run is over.",
        move |context: ToolContext, arguments: Write| {
            let database = database.clone();
            async move {
                fits(&arguments).map_err(Error::failed)?;
                let call = RecordedCall::of(&context, &arguments, Timestamp::now())?;
                database::write(&database, move |transaction| store::write(transaction, &call, &arguments.key, &arguments.value)).await
            }
        },
    )
    .effects([ToolEffect::Writes])
    .idempotent()
    .keeps()
    .accesses(|arguments: Write| vec![Access::write(resource(&arguments.key))])
    .timeout(TIME)
}

fn fits(arguments: &Write) -> Result<(), StorageError> {
    let unfit = |problem: String| Err(StorageError::Unfit(problem));
    let name = arguments.key.as_str();
    if name.trim().is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return unfit("`key` must have 1 to 200 characters, on one line".to_owned());
    }
    let bytes = arguments.value.len();
    if bytes > LONGEST {
        return unfit(format!("`value` has {bytes} bytes; a note may have {LONGEST}: write several"));
    }
    Ok(())
}

fn read(scratchpad: &Scratchpad) -> FunctionTool {
    let database = scratchpad.database.clone();
    let tool = FunctionTool::with_context(
        "scratchpad_read",
        "Reads a note that was written in this run.",
        move |context: ToolContext, arguments: Read| {
            let (database, run) = (database.clone(), context.scope.run_id().as_str().to_owned());
            async move {
                database::read(&database, move |connection| store::read(connection, &run, &arguments.key))
                    .await
            }
        },
    );
    reading(tool).accesses(|arguments: Read| vec![Access::read(resource(&arguments.key))])
}

fn list(scratchpad: &Scratchpad) -> FunctionTool {
    let database = scratchpad.database.clone();
    let tool = FunctionTool::with_context(
        "scratchpad_list",
        "Lists the names of the notes of this run.",
        move |context: ToolContext, arguments: List| {
            let (database, run) = (database.clone(), context.scope.run_id().as_str().to_owned());
            async move {
                let notes =
                    database::read(&database, move |connection| store::notes(connection, &run)).await?;
                let filter = arguments.filter.unwrap_or_default();
                let names = notes.into_iter().filter(|(name, _)| name.contains(&filter));
                let lines =
                    names.map(|(name, value)| format!("{name} ({} characters)", value.chars().count()));
                Ok::<_, Error>(page(lines, arguments.offset, "no keys found"))
            }
        },
    );
    reading(tool).accesses(|_: List| vec![Access::read(resource("**"))])
}

fn search(scratchpad: &Scratchpad) -> FunctionTool {
    let database = scratchpad.database.clone();
    let tool = FunctionTool::with_context(
        "scratchpad_search",
        "Searches the names and texts of the notes of this run.",
        move |context: ToolContext, arguments: Search| {
            let (database, run) = (database.clone(), context.scope.run_id().as_str().to_owned());
            async move {
                let notes =
                    database::read(&database, move |connection| store::notes(connection, &run)).await?;
                let query = arguments.query.to_lowercase();
                let lines = notes.iter().filter_map(|(name, value)| find(name, value, &query));
                Ok::<_, Error>(page(lines, arguments.offset, "no matching entries found"))
            }
        },
    );
    reading(tool).accesses(|_: Search| vec![Access::read(resource("**"))])
}

fn reading(tool: FunctionTool) -> FunctionTool {
    tool.effects([ToolEffect::Reads])
        .keeps()
        .origin(|_: serde_json::Value| Origin::Memory("scratchpad".to_owned()))
        .timeout(TIME)
}

fn resource(name: &str) -> String {
    format!("convoke:scratchpad/{name}")
}

/// The place in a note where something stands, or its beginning if it stands in the name.
fn find(name: &str, value: &str, query: &str) -> Option<String> {
    let lower = value.to_lowercase();
    let before = match lower.find(query) {
        // Lower case may have other lengths than what it is made of; counted in characters it is near enough.
        Some(at) => lower[..at].chars().count(),
        None if name.to_lowercase().contains(query) => 0,
        None => return None,
    };
    let start = before.saturating_sub(AROUND);
    let shown: String = value.chars().skip(start).take(2 * AROUND + query.chars().count()).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("{name}: {shown}"))
}

/// Some of the lines, and how to get the others.
fn page(lines: impl Iterator<Item = String>, offset: usize, none: &str) -> String {
    let lines: Vec<String> = lines.collect();
    let shown: Vec<&str> = lines.iter().skip(offset - 1).take(PAGE).map(String::as_str).collect();
    if lines.is_empty() {
        return none.to_owned();
    }
    if shown.is_empty() {
        return format!("[there is no entry {offset}: there are {}]", lines.len());
    }
    let last = offset + shown.len() - 1;
    let mut text = shown.join("\n");
    if last < lines.len() {
        text.push_str(&format!("\n[{offset} to {last} of {}; go on with offset {}]", lines.len(), last + 1));
    }
    text
}
