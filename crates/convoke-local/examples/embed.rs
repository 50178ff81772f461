//! Ranks texts by similarity to a question: `embed FOLDER [TEXT...]`.
//!
//! The folder has `model.onnx` and `tokenizer.json`, as `convoke-weights` pulls them for `all-minilm-l6-v2`. The first text
//! is the question. Also says how fast the embedder is here.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use convoke_core::{Embedder, EmbeddingPurpose, Embeddings};
use convoke_local::{EmbedderSettings, LocalEmbedder};

const TEXTS: [&str; 5] = [
    "How do I get my money back?",
    "Refunds are paid within ten days of a return.",
    "Our shops are closed on public holidays.",
    "A parcel can be tracked with the number in your confirmation.",
    "If you are not satisfied, we reimburse the price in full.",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: embed FOLDER [TEXT...]")?);
    let mut texts: Vec<String> = arguments.collect();
    if texts.is_empty() {
        texts = TEXTS.map(str::to_owned).into();
    }

    let begun = Instant::now();
    let settings = EmbedderSettings::default();
    let embedder = LocalEmbedder::open(folder.join("model.onnx"), folder.join("tokenizer.json"), settings)?;
    println!("{}: opened in {:.2} s", embedder.name(), begun.elapsed().as_secs_f64());

    let question = embedder.embed(vec![texts.remove(0)], EmbeddingPurpose::Query).await?;
    let documents = embedder.embed(texts.clone(), EmbeddingPurpose::Document).await?;
    let similarity = |vector: &Vec<f32>| Embeddings::similarity(&question.vectors[0], vector);
    let mut found: Vec<_> = documents.vectors.iter().map(similarity).zip(&texts).collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (similarity, text) in found {
        println!("{similarity:6.3}  {text}");
    }

    let many: Vec<_> = TEXTS.iter().cycle().take(200).map(|text| (*text).to_owned()).collect();
    let begun = Instant::now();
    let made = embedder.embed(many, EmbeddingPurpose::Document).await?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{:.0} texts/s, {:.0} tokens/s",
        made.vectors.len() as f64 / seconds,
        made.usage.input_tokens as f64 / seconds
    );
    Ok(())
}
