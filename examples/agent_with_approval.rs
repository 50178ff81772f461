//! An agent with two tools. Looking something up is free; sending money needs a person's approval.
//!
//! The first run stops at the question and the process could end there. The answer is given through the store, as
//! `convoke answer` would from another terminal, and a second run goes on where the first one stopped: the model is not
//! asked again, and the lookup is not made again.
//!
//! `cargo run --example agent_with_approval`, then `cargo run -p convoke-cli -- show last`
#![allow(clippy::print_stdout, missing_docs)]

use convoke::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Case {
    request: String,
    answer: String,
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    order: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order's number.
    order: u32,
    /// How much to send back, in cents.
    cents: u32,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let look_up = FunctionTool::new("look_up_order", "Looks up an order.", |order: Order| async move {
        println!("  (looking up order {})", order.order);
        Ok::<_, Error>(format!("order {}: one loom, 3000 cents, paid twice", order.order))
    })
    .effects([ToolEffect::Reads]);
    let refund = FunctionTool::new("send_refund", "Sends money back.", |refund: Refund| async move {
        println!("  (sending {} cents for order {})", refund.cents, refund.order);
        Ok::<_, Error>("sent".to_owned())
    })
    .effects([ToolEffect::Network, ToolEffect::Irreversible]);
    let agent = Agent::builder("support")
        .system("You help customers.")
        .tool(look_up)
        .tool(refund)
        .approval(Approval::of(["send_refund"]))
        .build()?;
    let workflow = Workflow::new(
        AgentStep::new("support", agent, |case: &Case| case.request.clone())
            .store(|case: &mut Case, result| case.answer = result.text()),
    );

    let model = model();
    let store = std::sync::Arc::new(SqliteStore::open("convoke.db")?);
    let runtime = Runtime::builder().shared_store(store.clone()).model(model.clone()).build();
    let case = Case { request: "Order 17 was charged twice.".to_owned(), ..Case::default() };

    let outcome = runtime.start(&workflow, case).await?;
    println!("The run is {}.", outcome.status);
    for pending in outcome.questions() {
        println!("It asks: {} {}", pending.question.title, pending.question.subject);
        store.answer(&outcome.run, &pending.id, Answer::approve().by("ann")).await?;
        println!("Ann approves.");
    }

    let case = runtime.resume(&workflow, outcome.run).await?.completed()?;
    println!("Answer: {}", case.answer);
    println!("The model was called {} times.", model.calls());
    Ok(())
}

/// Stands in for a real model.
fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::tool_result_of("send_refund"), Reply::text("You got 3000 cents back."))
        .when(
            Match::tool_result_of("look_up_order"),
            Reply::tool("send_refund", serde_json::json!({"order": 17, "cents": 3000})),
        )
        .otherwise(Reply::text("Let me look.").and_tool("look_up_order", serde_json::json!({"order": 17})))
        .build()
}
