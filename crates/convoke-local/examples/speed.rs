//! Measures how fast a local model is here: `speed MODEL.gguf [THREADS]`.
//!
//! Prints the time to load, tokens a second for reading a prompt of 512 words and writing 128 tokens, alone, four at
//! once, and under a grammar; to be compared with `llama-bench -p 512 -n 128`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Instant;

use convoke_core::{
    CallContext, IdempotencyKey, Model, ModelRequest, OutputSchema, Path, ReplyDelta, RunId, ToolChoice,
    ToolDefinition, Usage,
};
use convoke_local::{LocalModel, LocalSettings};
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: speed MODEL.gguf [THREADS]")?;
    let mut settings = LocalSettings::default().context_tokens(2048);
    settings.threads = arguments.next().map(|threads| threads.parse()).transpose()?;
    let begun = Instant::now();
    let model = LocalModel::open(file, settings).await?;
    println!("{}: loaded in {:.2} s", model.name(), begun.elapsed().as_secs_f64());

    let prompt = "word ".repeat(512);
    let read = measure(&model, request(&prompt, 1)).await?;
    println!("prompt:    {:7.1} tokens/s", rate(read.usage.input_tokens, read.first));

    let text =
        measure(&model, request("Write a long story about a lighthouse keeper and the sea.", 128)).await?;
    println!("text:      {:7.1} tokens/s", rate(text.usage.output_tokens - 1, text.total - text.first));

    let begun = Instant::now();
    let four = join_all((0..4).map(|number| {
        measure(
            &model,
            request(&format!("Write a long story about a lighthouse keeper, number {number}."), 128),
        )
    }));
    let written: u64 = four.await.into_iter().map(|run| run.map_or(0, |run| run.usage.output_tokens)).sum();
    println!("four:      {:7.1} tokens/s together", rate(written, begun.elapsed().as_secs_f64()));

    let strings = json!({"type": "array", "items": {"type": "string", "minLength": 60}, "minItems": 20});
    let mut shaped = request("Write twenty sentences about the sea.", 128);
    shaped.output = Some(OutputSchema { name: "story".into(), description: String::new(), schema: strings });
    measure(&model, shaped.clone()).await?; // The first use of grammars prepares them for the whole vocabulary.
    let run = measure(&model, shaped).await?;
    println!(
        "grammar:   {:7.1} tokens/s (JSON strings)",
        rate(run.usage.output_tokens - 1, run.total - run.first)
    );

    let point = json!({"type": "object", "properties": {"horizontal_coordinate": {"type": "integer", "maximum": 99, "minimum": 0}, "vertical_coordinate": {"type": "integer", "maximum": 99, "minimum": 0}}, "required": ["horizontal_coordinate", "vertical_coordinate"], "additionalProperties": false});
    let mut shaped = request("Give ten points.", 256);
    shaped.output = Some(OutputSchema {
        name: "points".into(),
        description: String::new(),
        schema: json!({"type": "array", "items": point, "minItems": 10, "maxItems": 10}),
    });
    let run = measure(&model, shaped).await?;
    println!(
        "grammar:   {:7.1} tokens/s (JSON with long keys)",
        rate(run.usage.output_tokens - 1, run.total - run.first)
    );

    let mut maybe = request("Write a long story about a lighthouse keeper and the sea.", 128);
    maybe.tool_choice = ToolChoice::Auto;
    maybe.tools = vec![ToolDefinition {
        name: "look_up".into(),
        description: "Looks up a word.".into(),
        parameters: json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"], "additionalProperties": false}),
    }];
    let run = measure(&model, maybe).await?;
    println!(
        "tools:     {:7.1} tokens/s (text, with a tool it may call)",
        rate(run.usage.output_tokens - 1, run.total - run.first)
    );
    Ok(())
}

fn request(prompt: &str, tokens: u32) -> ModelRequest {
    let mut request = ModelRequest::new(prompt);
    request.params = request.params.temperature(0.0).max_tokens(tokens).seed(1);
    request
}

struct Run {
    usage: Usage,
    /// Seconds to the first piece.
    first: f64,
    total: f64,
}

async fn measure(model: &LocalModel, request: ModelRequest) -> Result<Run, Box<dyn Error>> {
    let run: RunId = "speed".parse()?;
    let mut pieces =
        model.reply(request, CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), 0) });
    let begun = Instant::now();
    let (mut usage, mut first) = (Usage::default(), None);
    while let Some(piece) = pieces.next().await {
        first.get_or_insert_with(|| begun.elapsed().as_secs_f64());
        if let ReplyDelta::Usage(used) = piece? {
            usage = used;
        }
    }
    let total = begun.elapsed().as_secs_f64();
    Ok(Run { usage, first: first.unwrap_or(total), total })
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a rough number")]
fn rate(tokens: u64, seconds: f64) -> f64 {
    tokens as f64 / seconds
}
