//! `convoke memory`

use clap::Subcommand;
use convoke_agent::memory::MemorySession;
use convoke_core::{Message, Role};
use convoke_tools::memory::{Memory, RememberedConversation};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Align, Column, Output, Rich, Table, Tone, text};
use crate::{host, human};

/// What is done about conversations that are remembered.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what is remembered in this workspace, by name.
    List,
    /// Show everything that was said under a name, and the summary of it.
    Show {
        /// The memory's name.
        name: String,
    },
    /// Forget everything that was said under a name, for good. The runs that said it stay.
    Remove {
        /// The memory's name.
        name: String,
    },
}

pub(crate) async fn run(
    arguments: &Arguments,
    command: &MemoryCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    let memory = host::load(arguments)?.memory()?;
    match command {
        MemoryCommand::List => list(arguments, &memory.conversations().await?, output),
        MemoryCommand::Show { name } => {
            let known = memory.conversations().await?;
            let one = known.iter().find(|one| one.name == *name).ok_or_else(|| unknown(name, &known))?;
            show(arguments, &memory, one, output).await
        }
        MemoryCommand::Remove { name } => {
            let Some(said) = memory.forget_conversation(name).await? else {
                return Err(unknown(name, &memory.conversations().await?));
            };
            if arguments.json {
                return output.json(&json!({"name": name, "removed": said}));
            }
            output.plain(&text::clean(&format!("{name}: {} forgotten", human::count(said, "message"))))
        }
    }
}

fn unknown(name: &str, known: &[RememberedConversation]) -> Failure {
    Failure::not_found(format!("nothing is remembered under `{}` in this workspace", text::clean(name)))
        .meant(name, known.iter().map(|one| &*one.name), "`convoke memory list` lists what is")
}

fn list(arguments: &Arguments, known: &[RememberedConversation], output: &mut Output) -> Result<(), Failure> {
    if arguments.json {
        let all = known.iter().map(|one| {
            let last = one.last.map(|last| last.to_string());
            json!({"name": one.name, "messages": one.remarks, "summary": one.summary, "last": last})
        });
        return output.json(&all.collect::<Vec<_>>());
    }
    if known.is_empty() {
        output.note("nothing is remembered in this workspace; `convoke chat --memory` remembers");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("name", Align::Left),
        Column::new("messages", Align::Right),
        Column::new("last", Align::Left),
        Column::new("in short", Align::Left).yielding(20),
    ]);
    for one in known {
        table.row([
            (Tone::Strong, text::one_line(&one.name)),
            (Tone::Plain, one.remarks.to_string()),
            (Tone::Plain, one.last.map_or_else(String::new, human::moment)),
            (Tone::Faint, text::one_line(one.summary.as_deref().unwrap_or_default())),
        ]);
    }
    table.lines(output.width()).iter().try_for_each(|line| output.line(line))
}

async fn show(
    arguments: &Arguments,
    memory: &Memory,
    known: &RememberedConversation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = memory.session(&known.name).map_err(|error| Failure::usage(error.to_string()))?;
    let said = session.load().await?;
    if arguments.json {
        return output.json(&json!({"name": known.name, "summary": known.summary, "said": said}));
    }
    if let Some(summary) = &known.summary {
        output.line(&Rich::new(Tone::Strong, "in short"))?;
        output.verbatim(summary)?;
        output.plain("")?;
    }
    let who = |message: &Message| if message.role == Role::User { "user" } else { "model" };
    for message in &said {
        output.line(&Rich::new(Tone::Strong, who(message)))?;
        output.verbatim(&message.text())?;
    }
    Ok(())
}
