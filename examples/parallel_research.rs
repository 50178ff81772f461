//! Three sources are asked side by side; what succeeds is kept, and one prompt joins it into an answer.
//!
//! `cargo run --example parallel_research`
#![allow(clippy::print_stdout, missing_docs)]

use convoke::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Research {
    question: String,
    findings: Vec<Finding>,
    answer: String,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Finding {
    topic: String,
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ask = |name: &'static str, instruction: &'static str| {
        prompt(name, move |finding: &Finding| format!("{instruction}: {}", finding.topic))
            .text(|finding: &mut Finding| &mut finding.text)
    };
    let gather = Merge::builder("gather", Join::keep_succeeded(), |research: &Research| Finding {
        topic: research.question.clone(),
        ..Finding::default()
    })
    .source(ask("history", "Tell the history of"))
    .source(ask("mechanics", "Explain the mechanics of"))
    .source(ask("market", "Describe the market for"))
    .merge(|research, finished| {
        if finished.is_empty() {
            return Err(Error::from("no source answered; ask again later"));
        }
        research.findings = finished.into_iter().map(|source| source.value).collect();
        Ok(())
    })?;
    let answer = prompt("answer", |research: &Research| {
        let notes: Vec<&str> = research.findings.iter().map(|finding| finding.text.as_str()).collect();
        format!("Answer briefly: {}\nNotes:\n{}", research.question, notes.join("\n"))
    })
    .text(|research| &mut research.answer);
    let workflow = Workflow::new(Chain::new("research").then(gather).then(answer));

    let runtime = Runtime::builder().model(model()).build();
    let question = Research { question: "looms".to_owned(), ..Research::default() };
    let (events, outcome) = runtime.start(&workflow, question).stream().collect().await;
    for event in &events {
        if let EventKind::StepSkipped { error } = &event.kind {
            println!("left out {}: {error}", event.path);
        }
    }
    let research = outcome?.completed()?;
    println!("{} findings\n{}", research.findings.len(), research.answer);
    Ok(())
}

/// Stands in for a real model; one of the sources fails, as sources do.
fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::last_contains("history"), Reply::text("Looms are older than writing."))
        .when(
            Match::last_contains("mechanics"),
            Reply::text("Heddles lift the warp; a shuttle carries the weft."),
        )
        .when(
            Match::last_contains("market"),
            Reply::error(convoke::core::ModelError::of_status(503, "the market is closed")),
        )
        .otherwise(Reply::text("An old machine: heddles lift the warp, a shuttle carries the weft."))
        .build()
}
