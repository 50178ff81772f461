//! `convoke memory`

use clap::Subcommand;
use convoke_agent::memory::MemorySession;
use convoke_core::{Message, Role};
use convoke_history::human;
use convoke_host::FailureReport;
use convoke_tools::memory::{Memory, RememberedConversation};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::host;
use crate::terminal::{Output, Rich, Tone, text};

/// What is done about conversations that are remembered.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what is remembered in this project, by name.
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
        MemoryCommand::List => output.show(&*memory.conversations().await?),
        MemoryCommand::Show { name } => {
            let known = memory.conversations().await?;
            let one = known.iter().find(|one| one.name == *name).ok_or_else(|| unknown(name, &known))?;
            show(arguments, &memory, one, output).await
        }
        MemoryCommand::Remove { name } => {
            let Some(said) = memory.forget_conversation(name).await? else {
                return Err(unknown(name, &memory.conversations().await?));
            };
            let line = format!("{name}: {} forgotten", human::count(said, "message"));
            output.give(&json!({"name": name, "removed": said}), line)
        }
    }
}

fn unknown(name: &str, known: &[RememberedConversation]) -> Failure {
    let message = format!("nothing is remembered under `{}` in this project", text::clean(name));
    let names = known.iter().map(|one| &*one.name);
    FailureReport::not_found(message).meant(name, names, "`convoke memory list` lists what is").into()
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
