//! Conversations that come back: what is kept of them, summed up, and found again.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use convoke_agent::memory::MemorySession;
use convoke_core::{
    BoxFuture, Embedder, EmbeddingPurpose, Embeddings, IdempotencyKey, Message, ModelError, Path, Role,
    RunId, Usage,
};
use convoke_tools::embedding::LazyEmbedder;
use convoke_tools::memory::{ConversationMemory, Memory};
use serde_json::json;
use tempfile::TempDir;

fn memory(folder: &TempDir, workspace: &str) -> Memory {
    Memory::open(folder.path().join("memory.db"), workspace).unwrap()
}

/// Adds an exchange, as its own run does.
async fn add(session: &ConversationMemory, words: &str, answer: &str) -> RunId {
    let run = RunId::mint();
    let key = IdempotencyKey::derive(&run, &Path::from("talk"), 0);
    let said = [Message::user(words), Message::assistant(answer)];
    session.append(&said, (&run, &key)).await.unwrap();
    run
}

async fn told(session: &ConversationMemory, words: &str) -> convoke_agent::memory::Recollection {
    session.assemble(&Message::user(words), &RunId::mint()).await.unwrap()
}

#[tokio::test]
async fn what_was_said_comes_back_in_order_and_a_repeated_call_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let session = memory(&folder, "/a").session("chat").unwrap();
    assert!(session.load().await.unwrap().is_empty() && told(&session, "x").await.is_empty());
    let run = add(&session, "My cat is called Ada.", "A fine name.").await;
    let key = IdempotencyKey::derive(&run, &Path::from("talk"), 0);
    let again = [Message::user("My cat is called Ada."), Message::assistant("A fine name.")];
    session.append(&again, (&run, &key)).await.unwrap();
    let said: Vec<_> = session.load().await.unwrap().iter().map(|one| (one.role, one.text())).collect();
    assert_eq!(
        said,
        [(Role::User, "My cat is called Ada.".to_owned()), (Role::Assistant, "A fine name.".to_owned())]
    );
    // Tools and silence are no part of it, nor is what the run itself has said told to it.
    let silent = [Message::tool_results([]), Message::assistant(" ")];
    session.append(&silent, (&run, &IdempotencyKey::derive(&run, &Path::from("talk"), 1))).await.unwrap();
    assert_eq!(session.load().await.unwrap().len(), 2);
    assert!(session.assemble(&Message::user("cat"), &run).await.unwrap().is_empty());
    assert_eq!(told(&session, "cat").await.recent.len(), 2);
}

#[tokio::test]
async fn names_and_workspaces_are_apart_and_what_is_forgotten_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (ann, bob) = (memory(&folder, "/ann"), memory(&folder, "/bob"));
    add(&ann.session("chat").unwrap(), "the zebra", "noted").await;
    assert!(told(&ann.session("work").unwrap(), "zebra").await.is_empty());
    assert!(told(&bob.session("chat").unwrap(), "zebra").await.is_empty());
    assert_eq!(bob.forget_conversation("chat").await.unwrap(), None);
    assert_eq!(ann.conversations().await.unwrap()[0].remarks, 2);
    assert_eq!(ann.forget_conversation("chat").await.unwrap(), Some(2));
    assert!(ann.conversations().await.unwrap().is_empty());
    let bytes = std::fs::read(folder.path().join("memory.db")).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"zebra"), "what is forgotten is in the file");
    for name in ["", " ", "a\nb", &"x".repeat(101)] {
        assert!(ann.session(name).is_err(), "{name:?}");
    }
}

#[tokio::test]
async fn what_is_long_ago_is_summed_up_and_still_found_and_nothing_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let session = memory(&folder, "/a").session("chat").unwrap();
    add(&session, "My cat is called Ada.", "Noted.").await;
    for number in 0..14 {
        assert_eq!(session.unsummarized().await.unwrap(), None, "{number}");
        add(&session, &format!("Train {number} is late."), "Noted.").await;
    }
    let open = session.unsummarized().await.unwrap().unwrap();
    assert!(
        open.summary.is_none() && open.text.starts_with("User: My cat is called Ada.\n\nAssistant: Noted.")
    );
    session.summarize(open.through, "Ann has a cat.").await.unwrap();
    assert_eq!(session.unsummarized().await.unwrap(), None);
    // One that reaches less far comes too late.
    session.summarize(open.through - 1, "Nothing.").await.unwrap();
    let remembered = told(&session, "what is my cat called?").await;
    assert_eq!(remembered.summary.as_deref(), Some("Ann has a cat."));
    assert_eq!(remembered.recalled[0].text, "My cat is called Ada.");
    assert_eq!(remembered.recent.len(), 20);
    assert_eq!(remembered.recent[19].text, "Noted.");
    assert_eq!(session.load().await.unwrap().len(), 30);
    // Whatever was said: what is told has a size.
    for _ in 0..10 {
        add(&session, &"word ".repeat(20_000), "Noted.").await;
    }
    let bytes = told(&session, "word").await.text().len();
    assert!(bytes < 40_000, "{bytes}");
    let open = session.unsummarized().await.unwrap().unwrap();
    assert!(open.text.len() < 100_000 && open.summary.is_some());
}

/// Knows that a cat is a pet.
struct Pets;

impl Embedder for Pets {
    fn name(&self) -> &str {
        "pets"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        _: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        let is_pet = |text: &String| ["cat", "pet"].iter().any(|pet| text.contains(pet));
        let vectors = texts.iter().map(|text| if is_pet(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] });
        Box::pin(std::future::ready(Ok(Embeddings { vectors: vectors.collect(), usage: Usage::default() })))
    }
}

#[tokio::test]
async fn with_an_embedder_what_means_the_same_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = LazyEmbedder::new(|| Some(Arc::new(Pets) as Arc<dyn Embedder>));
    let session = memory(&folder, "/a").embedder(embedder).session("chat").unwrap();
    add(&session, "Ada the cat sleeps.", "Noted.").await;
    for number in 0..20 {
        add(&session, &format!("Train {number}."), "Noted.").await;
    }
    let open = session.unsummarized().await.unwrap().unwrap();
    session.summarize(open.through, "Much.").await.unwrap();
    let found =
        |recalled: &[convoke_agent::memory::Remark]| recalled.iter().any(|one| one.text.contains("Ada"));
    assert!(found(&told(&session, "any pets?").await.recalled));
    let words_alone = memory(&folder, "/a").session("chat").unwrap();
    assert!(!found(&told(&words_alone, "any pets?").await.recalled));
}

#[tokio::test]
async fn values_go_with_a_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let session = memory(&folder, "/a").session("chat").unwrap();
    assert!(session.vars().await.unwrap().is_empty());
    let vars = json!({"language": "de", "depth": 2}).as_object().cloned().unwrap();
    session.save(&vars).await.unwrap();
    assert_eq!(memory(&folder, "/a").session("chat").unwrap().vars().await.unwrap(), vars);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_may_add_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut adding = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let session = memory(&folder, "/a").session("chat").unwrap();
        adding.spawn(async move {
            for number in 0..5 {
                add(&session, &format!("{number}"), "ok").await;
            }
        });
    }
    adding.join_all().await;
    assert_eq!(memory(&folder, "/a").session("chat").unwrap().load().await.unwrap().len(), 80);
}
