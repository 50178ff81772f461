//! Tests of embeddings with the real model.

use std::path::PathBuf;

use convoke_core::{Embedder, EmbeddingPurpose, Embeddings, ModelErrorKind, Money};
use convoke_local::{EmbedderSettings, LocalEmbedder, LongTexts};

/// Names the folder with `model.onnx` and `tokenizer.json` of all-MiniLM-L6-v2.
const FOLDER: &str = "CONVOKE_TEST_EMBEDDER";

#[expect(clippy::print_stderr, reason = "whoever runs the tests must see that they did not run")]
fn open_with(settings: EmbedderSettings) -> Option<LocalEmbedder> {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        eprintln!("SKIPPED: set {FOLDER} to a folder with all-minilm-l6-v2's model.onnx and tokenizer.json");
        return None;
    };
    let opened = LocalEmbedder::open(folder.join("model.onnx"), folder.join("tokenizer.json"), settings);
    Some(opened.expect("the model opens"))
}

fn open() -> Option<LocalEmbedder> {
    open_with(settings())
}

/// Settings that leave the machine to others.
fn settings() -> EmbedderSettings {
    EmbedderSettings::default().threads(1).name("minilm")
}

async fn embed(embedder: &LocalEmbedder, texts: &[&str]) -> Embeddings {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder.embed(texts, EmbeddingPurpose::Document).await.expect("vectors")
}

const TEXTS: [&str; 6] = [
    "A cat sleeps on the sofa.",
    "The central bank raised interest rates by a quarter of a point on Monday, and markets fell sharply.",
    "A kitten naps on the couch.",
    "Share prices dropped after the monetary authority made borrowing more expensive.",
    "xyzzyq",
    "Ein Kätzchen, 小猫, и котёнок: \u{1F408}!",
];

/// How many tokens the reference makes of the texts, and how it begins their vectors.
const TOKENS: u64 = 81;
const REFERENCE: [[f32; 4]; 6] = [
    [0.160728, -0.069806, -0.048117, 0.048161],
    [0.045932, -0.021324, -0.015205, 0.010928],
    [0.049733, -0.022460, -0.037762, 0.069592],
    [0.031684, -0.005597, 0.073980, 0.072919],
    [-0.104045, -0.043571, -0.019088, 0.006305],
    [0.008365, 0.084840, 0.057019, -0.014191],
];

#[tokio::test]
async fn what_means_much_the_same_lies_close_together() {
    let Some(embedder) = open() else { return };
    let Embeddings { vectors, usage } = embed(&embedder, &TEXTS).await;
    let similarity = |one: usize, other: usize| Embeddings::similarity(&vectors[one], &vectors[other]);
    assert!(similarity(0, 2) > 0.4, "{}", similarity(0, 2));
    assert!(similarity(1, 3) > 0.4, "{}", similarity(1, 3));
    for (one, other) in [(0, 1), (0, 3), (2, 1), (2, 3)] {
        assert!(similarity(one, other) < 0.2, "{one} and {other}: {}", similarity(one, other));
    }
    for vector in &vectors {
        assert_eq!(vector.len(), embedder.dimensions());
        assert!((Embeddings::similarity(vector, vector) - 1.0).abs() < 1e-5);
    }
    assert_eq!((embedder.name(), embedder.dimensions()), ("local/minilm", 384));
    assert_eq!(usage.cost, Some(Money::ZERO));
}

/// Numbers from another implementation: the Hugging Face tokenizer and ONNX Runtime on the same file.
#[tokio::test]
async fn vectors_are_those_of_the_reference() {
    let Some(embedder) = open() else { return };
    let Embeddings { vectors, usage } = embed(&embedder, &TEXTS).await;
    assert_eq!(usage.input_tokens, TOKENS);
    for (text, (vector, reference)) in TEXTS.iter().zip(vectors.iter().zip(REFERENCE)) {
        for (number, wanted) in vector.iter().zip(reference) {
            assert!((number - wanted).abs() < 1e-4, "{text}: {:?}", &vector[..4]);
        }
    }
}

#[tokio::test]
async fn a_text_has_one_vector_alone_and_in_any_company() {
    let Some(embedder) = open_with(settings().batch_size(4)) else { return };
    let together = embed(&embedder, &TEXTS).await.vectors;
    let mut backwards = TEXTS;
    backwards.reverse();
    let turned = embed(&embedder, &backwards).await.vectors;
    for (index, text) in TEXTS.iter().enumerate() {
        let alone = embed(&embedder, &[text]).await.vectors;
        assert_eq!(alone, embed(&embedder, &[text]).await.vectors, "{text}");
        for other in [&together[index], &turned[TEXTS.len() - 1 - index]] {
            // Sums may be rounded otherwise in a larger batch.
            let difference =
                alone[0].iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
            assert!(difference < 1e-5, "{text}: {difference}");
        }
    }
}

#[tokio::test]
async fn long_texts_are_refused_or_cut_as_set() {
    let Some(embedder) = open() else { return };
    let (fits, long) = ("word ".repeat(254), "word ".repeat(255));
    assert_eq!(embed(&embedder, &[&fits]).await.usage.input_tokens, 256);
    let refused =
        embedder.embed(vec!["short".to_owned(), long.clone()], EmbeddingPurpose::Query).await.unwrap_err();
    assert_eq!(refused.kind, ModelErrorKind::ContextTooLong);
    assert!(refused.message.contains("text 2 of 2 has 257 tokens, and the model reads 256"), "{refused}");

    let Some(cutting) = open_with(settings().max_tokens(16).long_texts(LongTexts::Cut)) else { return };
    let end = format!("{}and something else entirely", "word ".repeat(14));
    let cut = embed(&cutting, &[&end, &"word ".repeat(14)]).await;
    assert_eq!(cut.vectors[0], cut.vectors[1]);
    assert_eq!(cut.usage.input_tokens, 32);
}

#[tokio::test]
async fn empty_texts_are_errors() {
    let Some(embedder) = open() else { return };
    for empty in ["", " \n", "\u{200b}"] {
        let texts = vec!["a".to_owned(), empty.to_owned()];
        let error = embedder.embed(texts, EmbeddingPurpose::Document).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{empty:?}");
        assert!(error.message.contains("text 2 of 2"), "{error}");
    }
    assert!(embed(&embedder, &[]).await.vectors.is_empty());
}

#[tokio::test]
async fn a_dropped_request_leaves_the_embedder_to_others() {
    let Some(embedder) = open_with(settings().batch_size(1)) else { return };
    // It would take hours: this test ends only if it is dropped.
    let endless = vec!["A very long list of the same sentence.".to_owned(); 100_000];
    tokio::select! {
        biased;
        _ = embedder.embed(endless, EmbeddingPurpose::Document) => panic!("it cannot be done already"),
        made = async {
            tokio::task::yield_now().await;
            embed(&embedder, &["short"]).await
        } => assert_eq!(made.vectors.len(), 1),
    }
    assert_eq!(embed(&embedder, &["another"]).await.vectors.len(), 1);
}
