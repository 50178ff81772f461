//! A writer and a reviewer take turns until the reviewer is content.
//!
//! `cargo run --example summarise_and_review`
#![allow(clippy::print_stdout, missing_docs)]

use convoke::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Article {
    text: String,
    summary: String,
    review: Review,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Review {
    /// Whether the summary may be published.
    accepted: bool,
    /// What to change, if not.
    feedback: String,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let round = Chain::new("round")
        .then(
            prompt("write", |article: &Article| match article.review.feedback.as_str() {
                "" => format!("Summarise in one sentence:\n{}", article.text),
                feedback => {
                    format!("Improve this summary: {}\nThe reviewer says: {feedback}", article.summary)
                }
            })
            .system("You are a terse writer.")
            .text(|article| &mut article.summary),
        )
        .then(
            prompt("review", |article: &Article| format!("Is this a good summary? {}", article.summary))
                .system("You are a strict reviewer.")
                .json(|article| &mut article.review),
        );
    let workflow = Workflow::new(
        Loop::until("summarise", round, |article: &Article| article.review.accepted).max_iterations(5),
    );

    let article = Article {
        text: "A loom is a device used to weave cloth. Its purpose is to hold the warp threads under tension, so that \
               the weft threads can be woven in between."
            .to_owned(),
        ..Article::default()
    };
    let runtime = Runtime::builder().model(model()).build();
    let mut run = runtime.start(&workflow, article).stream();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::LoopIteration { iteration } => println!("\n— round {iteration} —"),
            EventKind::MessageDelta { text, .. } => print!("{text}"),
            EventKind::MessageEnded { .. } => println!(),
            _ => {}
        }
    }
    let article = run.outcome().await?.completed()?;
    println!("\nPublished: {}", article.summary);
    Ok(())
}

/// Stands in for a real model, so that the example runs anywhere and always the same.
fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(
            Match::last_contains("The reviewer says"),
            Reply::text("A loom keeps warp threads taut so weft can cross them."),
        )
        .when(Match::last_contains("Summarise"), Reply::text("A loom weaves."))
        .when(
            Match::last_contains("taut"),
            Reply::json(serde_json::json!({"accepted": true, "feedback": ""})),
        )
        .otherwise(Reply::json(serde_json::json!({"accepted": false, "feedback": "Say how it weaves."})))
        .build()
}
