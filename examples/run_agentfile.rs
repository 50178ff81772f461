//! An Agentfile, run by a program of your own: with the tools, the policy, the sandbox and the store that `convoke` would have.
//!
//! The run waits for a person, because nobody is there; the program answers, and goes on with it. `convoke` could have: its record
//! has everything that takes.
//!
//! `cargo run --example run_agentfile`, then `cargo run -p convoke-cli -- show last`
#![allow(clippy::print_stdout, missing_docs)]

use convoke::config::Config;
use convoke::goals::Values;
use convoke::host::{GoOnOptions, Host, StartOptions};
use convoke::prelude::Answer;

const AGENTFILE: &str = r#"NAME note
INPUT topic
TOOLS write, read
GOAL note "Write a note about $topic into note.txt" SUPERVISED HUMAN
RUN main USING note
"#;

/// Stands in for a real model.
const SCRIPT: &str = r#"
[[rule]]
when.output = "commitment"
json = { interpretation = "Write a note.", approach = "Into a file.", confidence = "high" }
[[rule]]
when.output = "assessment"
json = { met_commitment = true }
[[rule]]
when = { tool_result_of = "write" }
reply = "A note about looms is in note.txt."
[[rule]]
reply = { tool_calls = [{ name = "write", arguments = { path = "note.txt", content = "Looms keep threads taut." } }] }
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::fs::write("note.agent", AGENTFILE)?;
    std::fs::write("script.toml", SCRIPT)?;

    let host = Host::open(Config::load()?)?;
    let mut options = StartOptions::default();
    options.model = Some("scripted/script.toml".to_owned());
    let inputs = Values::from_iter([("topic", "looms")]);
    let running = host.start(host.load("note.agent")?, inputs, options).await?;
    let mut finished = running.finish().await?;

    for pending in finished.outcome.questions().to_vec() {
        println!("{} (the run is {})", pending.question.title, finished.outcome.status);
        host.answer(&pending.run, &pending.id, Answer::approve().by("ann")).await?;
    }
    if finished.result().is_none() {
        finished = host.go_on(&finished.outcome.run, GoOnOptions::default()).await?.finish().await?;
    }
    println!("{}", finished.result().unwrap_or("It did not complete."));
    println!("note.txt: {}", std::fs::read_to_string("note.txt")?);
    Ok(())
}
