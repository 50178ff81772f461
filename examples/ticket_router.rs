//! A model decides what kind of ticket it is; the workflow decides what happens then.
//!
//! `cargo run --example ticket_router -- "I was charged twice"`
#![allow(clippy::print_stdout, missing_docs)]

use convoke::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Ticket {
    text: String,
    queue: String,
    reply: String,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let file_under = |queue: &'static str| {
        func("file", move |ticket: &mut Ticket| {
            ticket.queue = queue.to_owned();
            Ok::<_, Error>(())
        })
    };
    let answer = |instruction: &'static str| {
        prompt("answer", move |ticket: &Ticket| format!("{instruction}\n{}", ticket.text))
            .text(|ticket: &mut Ticket| &mut ticket.reply)
    };
    let triage = Classifier::builder("triage", |ticket: &Ticket| {
        format!("Is this about billing or is it technical? {}", ticket.text)
    })
    .route(
        "billing",
        Chain::new("billing")
            .then(file_under("billing"))
            .then(answer("Apologise and offer to check the invoice.")),
    )
    .route(
        "technical",
        Chain::new("technical")
            .then(file_under("engineering"))
            .then(answer("Ask for the version and the log.")),
    )
    .otherwise(file_under("a person"))
    .build()?;

    let text = std::env::args().nth(1).unwrap_or_else(|| "I was charged twice for my loom.".to_owned());
    let runtime = Runtime::builder().model(model()).build();
    let ticket = Ticket { text, ..Ticket::default() };
    let ticket = runtime.start(&Workflow::new(triage), ticket).await?.completed()?;
    println!("Filed under: {}", ticket.queue);
    println!("Reply: {}", if ticket.reply.is_empty() { "(left to a person)" } else { &ticket.reply });
    Ok(())
}

/// Stands in for a real model.
fn model() -> ScriptedModel {
    let classify = |word: &'static str, label: &str| {
        (
            Match::output("classification").and(Match::last_contains(word)),
            Reply::json(serde_json::json!({"classification": label})),
        )
    };
    let (charged, billing) = classify("charged", "billing");
    let (crashes, technical) = classify("crash", "technical");
    ScriptedModel::builder()
        .when(charged, billing)
        .when(crashes, technical)
        .when(Match::output("classification"), Reply::text("other"))
        .when(
            Match::last_contains("Apologise"),
            Reply::text("We are sorry. We will look at your invoice today."),
        )
        .otherwise(Reply::text("Which version is it, and what does the log say?"))
        .build()
}
