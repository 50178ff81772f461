//! Tests of the embedder with a scripted engine.

use std::sync::{Arc, Mutex};

use convoke_core::{Embedder, EmbeddingPurpose, Embeddings, ModelError, ModelErrorKind, Money};
use tokio::sync::mpsc;

use super::tokenizer::Token;
use super::worker::Engine;
use super::{EmbedderSettings, LocalEmbedder, LongTexts};
use crate::LocalError;

/// Every letter is a token, and a vector is the text's length and its first letter.
struct Letters {
    /// Gets every batch that is begun.
    begun: mpsc::Sender<Vec<String>>,
    /// A batch ends when it may.
    may_end: mpsc::Receiver<()>,
}

impl Engine for Mutex<Letters> {
    fn dimensions(&self) -> usize {
        2
    }

    fn tokens(&self, text: &str) -> Vec<Token> {
        let letters = text.bytes().filter(u8::is_ascii_alphanumeric).map(Token::from);
        [1].into_iter().chain(letters).chain([2]).collect()
    }

    fn vectors(&self, batch: &[Vec<Token>]) -> Result<Vec<Vec<f32>>, String> {
        let mut letters = self.lock().expect("one thread has it");
        let text = |tokens: &Vec<Token>| {
            assert_eq!((tokens.first(), tokens.last()), (Some(&1), Some(&2)));
            tokens[1..tokens.len() - 1].iter().map(|token| char::from(*token as u8)).collect()
        };
        let texts: Vec<String> = batch.iter().map(text).collect();
        letters.begun.blocking_send(texts.clone()).expect("the test listens");
        letters.may_end.blocking_recv();
        assert!(!texts.contains(&"panic".to_owned()), "a text that makes the engine panic");
        if texts.contains(&"fail".to_owned()) {
            return Err("no such letter".to_owned());
        }
        Ok(batch.iter().map(|tokens| vec![tokens.len() as f32 - 2.0, tokens[1] as f32]).collect())
    }
}

/// An embedder, what it begins, and what lets it end.
fn start(settings: &EmbedderSettings) -> (Arc<LocalEmbedder>, mpsc::Receiver<Vec<String>>, mpsc::Sender<()>) {
    let (begun, begins) = mpsc::channel(100);
    let (ends, may_end) = mpsc::channel(100);
    let engine = move || Ok(Mutex::new(Letters { begun, may_end }));
    let embedder = LocalEmbedder::start("local/letters".to_owned(), settings, engine).expect("it starts");
    (Arc::new(embedder), begins, ends)
}

/// One whose batches end at once.
fn start_freely(settings: &EmbedderSettings) -> (Arc<LocalEmbedder>, mpsc::Receiver<Vec<String>>) {
    let (embedder, begins, _) = start(settings);
    (embedder, begins)
}

fn settings() -> EmbedderSettings {
    EmbedderSettings::default().batch_size(2).max_tokens(8)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn embed(embedder: &LocalEmbedder, texts: &[&str]) -> Result<Embeddings, ModelError> {
    embedder.embed(owned(texts), EmbeddingPurpose::Document).await
}

fn spawn(
    embedder: &Arc<LocalEmbedder>,
    texts: &[&str],
) -> tokio::task::JoinHandle<Result<Embeddings, ModelError>> {
    let (embedder, texts) = (Arc::clone(embedder), owned(texts));
    tokio::spawn(async move { embedder.embed(texts, EmbeddingPurpose::Query).await })
}

#[tokio::test]
async fn texts_of_like_length_are_computed_together_and_their_order_is_kept() {
    let (embedder, mut begins) = start_freely(&settings());
    let made = embed(&embedder, &["cccc", "a", "dddddd", "bb", "e"]).await.unwrap();
    let firsts: Vec<_> = made.vectors.iter().map(|vector| (vector[0], vector[1] as u8 as char)).collect();
    assert_eq!(firsts, [(4.0, 'c'), (1.0, 'a'), (6.0, 'd'), (2.0, 'b'), (1.0, 'e')]);
    assert_eq!((made.usage.input_tokens, made.usage.output_tokens), (14 + 10, 0));
    assert_eq!(made.usage.cost, Some(Money::ZERO));
    assert_eq!(begins.recv().await.unwrap(), ["a", "e"]);
    assert_eq!(begins.recv().await.unwrap(), ["bb", "cccc"]);
    assert_eq!(begins.recv().await.unwrap(), ["dddddd"]);
}

#[tokio::test]
async fn nothing_to_embed_computes_nothing() {
    let (embedder, mut begins) = start_freely(&settings());
    let made = embed(&embedder, &[]).await.unwrap();
    assert!(made.vectors.is_empty());
    assert_eq!(made.usage.cost, Some(Money::ZERO));
    assert!(begins.try_recv().is_err());
}

#[tokio::test]
async fn one_wrong_text_is_named_before_anything_is_computed() {
    let (embedder, mut begins) = start_freely(&settings());
    for (texts, kind, message) in [
        (
            &["a", " \n\t"][..],
            ModelErrorKind::InvalidRequest,
            "local/letters: text 2 of 2 is empty; leave it out",
        ),
        (
            &["a", "b", "?"],
            ModelErrorKind::InvalidRequest,
            "local/letters: text 3 of 3 has nothing that can be read",
        ),
        (
            &["abcdefg", "a"],
            ModelErrorKind::ContextTooLong,
            "local/letters: text 1 of 2 has 9 tokens, and the model reads 8",
        ),
    ] {
        let error = embed(&embedder, texts).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.starts_with(message), "{error}");
    }
    let mut many = vec!["a"; 1000];
    many[700] = "?";
    let error = embed(&embedder, &many).await.unwrap_err();
    assert!(error.message.contains("text 701 of 1000"), "{error}");
    assert!(begins.try_recv().is_err());
}

#[tokio::test]
async fn long_texts_are_cut_if_that_is_set() {
    let (embedder, mut begins) = start_freely(&settings().long_texts(LongTexts::Cut));
    let made = embed(&embedder, &["abcdefghijk", "abcdef"]).await.unwrap();
    assert_eq!(made.vectors[0], made.vectors[1]);
    assert_eq!(made.usage.input_tokens, 16);
    assert_eq!(begins.recv().await.unwrap(), ["abcdef", "abcdef"]);
}

#[tokio::test]
async fn a_dropped_request_stops_after_the_batch_under_way() {
    let (embedder, mut begins, ends) = start(&settings());
    let dropped = spawn(&embedder, &["a", "b", "c", "d", "e", "f"]);
    assert_eq!(begins.recv().await.unwrap(), ["a", "b"]);
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    let next = spawn(&embedder, &["next"]);
    ends.send(()).await.unwrap();
    assert_eq!(begins.recv().await.unwrap(), ["next"]);
    ends.send(()).await.unwrap();
    assert_eq!(next.await.unwrap().unwrap().vectors.len(), 1);
}

#[tokio::test]
async fn requests_take_turns() {
    let (embedder, mut begins, ends) = start(&settings());
    let long = spawn(&embedder, &["1", "2", "3", "4", "5", "6", "7", "8"]);
    let mut batches = vec![begins.recv().await.unwrap()];
    let short = spawn(&embedder, &["short"]);
    while batches.len() < 5 {
        // Lets both put into the queue what they can, while a batch is under way.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        ends.send(()).await.unwrap();
        batches.push(begins.recv().await.unwrap());
    }
    ends.send(()).await.unwrap();
    let turn = batches.iter().position(|batch| *batch == ["short"]).unwrap();
    assert!(turn <= 2, "{batches:?}");
    assert_eq!(short.await.unwrap().unwrap().vectors.len(), 1);
    assert_eq!(long.await.unwrap().unwrap().vectors.len(), 8);
}

#[tokio::test]
async fn failures_and_a_dead_engine_are_errors() {
    let (embedder, _begins) = start_freely(&settings());
    let failed = embed(&embedder, &["fail"]).await.unwrap_err();
    assert_eq!(failed.message, "local/letters: the network failed: no such letter");
    assert!(embed(&embedder, &["works"]).await.is_ok());
    for _ in 0..2 {
        let stopped = embed(&embedder, &["panic"]).await.unwrap_err();
        assert_eq!(
            (stopped.kind, stopped.message.contains("open the model again")),
            (ModelErrorKind::Other, true)
        );
    }
}

#[test]
fn an_engine_that_cannot_be_made_says_why() {
    let fails = || Err::<Mutex<Letters>, _>(LocalError::Engine { reason: "no reason".to_owned() });
    let error = LocalEmbedder::start("local/none".to_owned(), &settings(), fails).unwrap_err();
    assert!(error.to_string().contains("no reason"), "{error}");
    let panics = || -> Result<Mutex<Letters>, LocalError> { panic!("while loading") };
    let error = LocalEmbedder::start("local/none".to_owned(), &settings(), panics).unwrap_err();
    assert!(error.to_string().contains("died"), "{error}");
}
