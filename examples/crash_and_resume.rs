//! A workflow is killed in the middle and goes on as if nothing had happened.
//!
//! The program starts itself as a child and kills it, without warning, in the middle of the third of four model calls. Then it
//! runs the same workflow under the same id: what was done answers from the journal, the rest is done.
//!
//! `cargo run --example crash_and_resume`, then `cargo run -p convoke-cli -- show last`
#![allow(clippy::print_stdout, missing_docs)]

use std::process::{Command, Stdio};

use convoke::core::RunStream;
use convoke::prelude::*;
use serde::{Deserialize, Serialize};

/// Tells the child which run to do, and that it is going to die.
const DOOMED: &str = "CRASH_AND_RESUME_RUN";

#[derive(Default, Serialize, Deserialize)]
struct Story {
    parts: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let workflow = Workflow::new(["beginning", "trouble", "turn", "ending"].into_iter().fold(
        Chain::new("story"),
        |chain, part| {
            chain.then(
                prompt(part, move |story: &Story| {
                    format!("So far: {} Write the {part}.", story.parts.join(" "))
                })
                .text(|story| {
                    story.parts.push(String::new());
                    let last = story.parts.len() - 1;
                    &mut story.parts[last]
                }),
            )
        },
    ));
    let runtime = Runtime::builder().store(SqliteStore::open("convoke.db")?).model(model()).build();

    if let Ok(run) = std::env::var(DOOMED) {
        let run = runtime.start(&workflow, Story::default()).id(run.parse()?);
        return write(run.stream(), Some(2)).await?.completed().map(drop);
    }

    let run = RunId::mint();
    println!("First process:");
    let program = std::env::current_exe()?;
    let died = Command::new(program).env(DOOMED, run.as_str()).stderr(Stdio::null()).status()?;
    println!("It ended with {died}.\n\nSecond process:");
    let outcome = write(runtime.start(&workflow, Story::default()).id(run).stream(), None).await?;
    println!("The run is {}; {} model calls in all.", outcome.status, outcome.totals.model_calls);
    println!("\n{}", outcome.completed()?.parts.join(" "));
    Ok(())
}

/// Tells how a run gets on, and dies in the middle of a part once so many are written.
async fn write(mut run: RunStream<Story>, die_after: Option<usize>) -> Result<Outcome<Story>, Error> {
    let mut written = 0;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::MessageStarted { .. } if Some(written) == die_after => {
                println!("  dies while it writes {}", event.path);
                std::process::abort();
            }
            EventKind::MessageEnded { .. } => {
                println!("  {} {}", if event.replayed { "remembered" } else { "wrote" }, event.path);
                written += 1;
            }
            _ => {}
        }
    }
    run.outcome().await
}

/// Stands in for a real model.
fn model() -> ScriptedModel {
    let part = |name: &'static str, text: &'static str| {
        (Match::last_contains(format!("Write the {name}")), Reply::text(text))
    };
    let parts = [
        part("beginning", "A weaver had a loom that never stopped."),
        part("trouble", "One night the lights went out."),
        part("turn", "But the loom remembered every thread."),
        part("ending", "By morning the cloth was whole."),
    ];
    parts.into_iter().fold(ScriptedModel::builder(), |script, (when, reply)| script.when(when, reply)).build()
}
