//! Tests of files and settings that cannot be used: clear errors, and the process lives on.

mod common;

use std::fs;

use common::{ask, file, question, settings};
use convoke_local::{LocalError, LocalModel};
use tempfile::tempdir;

async fn error(bytes: &[u8]) -> LocalError {
    let folder = tempdir().expect("a folder");
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).expect("a written file");
    LocalModel::open(path, settings()).await.expect_err("a file that cannot be opened")
}

#[tokio::test]
async fn what_is_no_gguf_file_is_said_to_be_none() {
    assert!(matches!(error(b"PK\x03\x04 a zip file").await, LocalError::NotGguf { .. }));
    assert!(matches!(error(b"").await, LocalError::NotGguf { .. }));
    assert!(matches!(error(b"GG").await, LocalError::NotGguf { .. }));
    let missing = LocalModel::open("/nonexistent/model.gguf", settings()).await.unwrap_err();
    assert!(matches!(missing, LocalError::Unreadable { .. }));
    let folder = LocalModel::open(tempdir().unwrap().path(), settings()).await.unwrap_err();
    assert!(matches!(folder, LocalError::Unreadable { .. }));
}

#[tokio::test]
async fn damaged_files_are_refused() {
    assert!(matches!(error(b"GGUF").await, LocalError::Refused { .. }));
    assert!(matches!(error(&[b"GGUF".as_slice(), &[0xFF; 400]].concat()).await, LocalError::Refused { .. }));
    let Some(path) = file() else { return };
    let whole = fs::read(path).unwrap();
    for length in [1000, 100_000, whole.len() / 2, whole.len() - 1] {
        let refused = error(&whole[..length]).await;
        assert!(matches!(refused, LocalError::Refused { .. }), "cut at {length}: {refused}");
    }
}

#[tokio::test]
async fn settings_that_make_no_sense_are_named() {
    for (bad, name) in [
        (settings().parallel(0), "parallel"),
        (settings().context_tokens(0), "context_tokens"),
        (settings().threads(0), "threads"),
    ] {
        let error = LocalModel::open("any.gguf", bad).await.unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[tokio::test]
async fn another_chat_template_can_be_set_and_must_be_one() {
    let Some(path) = file() else { return };
    let broken = LocalModel::open(&path, settings().chat_template("{% if %}")).await.unwrap_err();
    assert!(matches!(broken, LocalError::Template { .. }), "{broken}");
    let own = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
    let model = LocalModel::open(&path, settings().chat_template(own).name("mine")).await.unwrap();
    assert_eq!(convoke_core::Model::name(&model), "local/mine");
    assert!(ask(&model, question("What is the capital of France?")).await.unwrap().text().contains("Paris"));
}
