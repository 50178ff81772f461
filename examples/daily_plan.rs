//! Goals: what is to be achieved, by whom, and under whose eyes.
//!
//! Two agents look at the tasks at the same time, what they say becomes one choice, and a plan is made of it and improved on
//! until nothing is left to improve. A person decides about the plan. Nobody is there at first, so the run is suspended; the
//! answer sends the plan back, and the next one lets it pass.
//!
//! `cargo run --example daily_plan`, then `cargo run -p convoke-cli -- show last`
#![allow(clippy::print_stdout, missing_docs)]

use std::sync::Arc;

use convoke::goals::prelude::*;
use serde_json::json;

fn tree() -> Workflow {
    let critic = Agent::new("critic", "You are a rigorous critic of plans.");
    let optimist = Agent::new("optimist", "You know how much can be done in $hours hours.");
    Workflow::new("daily-plan")
        .input(Input::new("tasks"))
        .input(Input::new("hours").typed(Type::Int).default(4))
        .sequence(
            Sequence::new("main")
                .goal(
                    Goal::new("choose", "Choose what of $tasks fits into $hours hours")
                        .output(("chosen", Type::List(Box::new(Type::String))))
                        .using(critic)
                        .using(optimist),
                )
                .goal(Goal::converging("plan", "Make a plan for today of $chosen", 3).supervised_by_human()),
        )
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Arc::new(SqliteStore::open("convoke.db")?);
    let runtime = Runtime::builder().shared_store(store.clone()).build();
    let equipment = Equipment::default().with_model(model()).without_spawning();
    let prepared = tree().prepare(&equipment)?;
    let bound = prepared.bind_texts(Values::from_iter([("tasks", "weave, sweep, sleep"), ("hours", "3")]))?;

    let workflow = prepared.workflow();
    let mut outcome = runtime.start(&workflow, bound.state).await?;
    for answer in [Answer::revise("Sleep comes first.").by("ann"), Answer::approve().by("ann")] {
        println!("The run is {}.", outcome.status);
        for pending in outcome.questions() {
            println!("{} {}", pending.question.title, pending.question.subject["output"]);
            println!("Ann: {:?}", answer.decision);
            store.answer(&outcome.run, &pending.id, answer.clone()).await?;
        }
        outcome = runtime.resume(&workflow, outcome.run).await?;
    }
    let state = outcome.completed()?;
    println!("Chosen: {}", state.text("chosen").unwrap_or_default());
    println!("The plan: {}", state.text("plan").unwrap_or_default());
    Ok(())
}

/// Stands in for a real model.
fn model() -> ScriptedModel {
    let promise = json!({"interpretation": "a plan for today", "confidence": "high"});
    let kept = json!({"met_commitment": true});
    ScriptedModel::builder()
        .when(Match::output("commitment"), Reply::json(promise))
        .when(Match::output("assessment"), Reply::json(kept))
        .when(Match::any_contains("rigorous critic"), "Not more than two of them: weave and sleep.")
        .when(Match::any_contains("how much can be done"), "All of them!")
        .when(Match::any_contains("several agents"), Reply::json(json!({"chosen": ["weave", "sleep"]})))
        .when(Match::any_contains("Sleep comes first"), "First sleep, then weave.\nCONVERGED")
        .when(Match::any_contains("<iteration n=\"1\">"), "Weave until noon, then sleep.\nCONVERGED")
        .otherwise("Weave, then sleep.")
        .build()
}
