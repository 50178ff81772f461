//! Tests of files and settings an embedder cannot use: clear errors, and the process lives on.

use std::fs;
use std::path::{Path, PathBuf};

use convoke_local::{EmbedderSettings, LocalEmbedder, LocalError};
use tempfile::tempdir;

fn open(model: impl AsRef<Path>, tokenizer: impl AsRef<Path>) -> LocalError {
    LocalEmbedder::open(model, tokenizer, EmbedderSettings::default().threads(1))
        .expect_err("it cannot be opened")
}

/// A tokenizer that is sound as far as it goes.
const TOKENIZER: &str = r###"{
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "word": 2000000}}
}"###;

#[test]
fn files_that_are_missing_or_something_else_are_named() {
    let folder = tempdir().unwrap();
    let (model, tokenizer) = (folder.path().join("model.onnx"), folder.path().join("tokenizer.json"));
    assert!(matches!(open(&model, &tokenizer), LocalError::Unreadable { path, .. } if path == tokenizer));
    assert!(matches!(open(&model, folder.path()), LocalError::Unreadable { .. }));

    fs::write(&tokenizer, "{}").unwrap();
    let error = open(&model, &tokenizer);
    assert!(matches!(&error, LocalError::Tokenizer { path, .. } if *path == tokenizer), "{error}");

    fs::write(&tokenizer, TOKENIZER).unwrap();
    assert!(matches!(open(&model, &tokenizer), LocalError::Unreadable { path, .. } if path == model));
    for bytes in [
        &b""[..],
        b"GGUF",
        b"RTEN\0\0\0\0",
        b"PK\x03\x04 a zip file",
        &[0xFF; 400],
        &[0; 400],
        TOKENIZER.as_bytes(),
    ] {
        fs::write(&model, bytes).unwrap();
        let error = open(&model, &tokenizer);
        assert!(matches!(&error, LocalError::Refused { path, .. } if *path == model), "{error}");
    }
}

#[test]
fn settings_are_checked_first() {
    let settings = EmbedderSettings::default().batch_size(0);
    let error = LocalEmbedder::open("any.onnx", "any.json", settings).unwrap_err();
    assert!(matches!(error, LocalError::Settings { setting: "batch_size", .. }), "{error}");
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see that they did not run")]
fn damaged_files_and_wrong_tokenizers_are_refused() {
    let Some(real) = std::env::var_os("CONVOKE_TEST_EMBEDDER").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED: set CONVOKE_TEST_EMBEDDER to a folder with all-minilm-l6-v2's model.onnx and tokenizer.json"
        );
        return;
    };
    let (real_model, real_tokenizer) = (real.join("model.onnx"), real.join("tokenizer.json"));
    let folder = tempdir().unwrap();
    let (model, tokenizer) = (folder.path().join("model.onnx"), folder.path().join("tokenizer.json"));

    let whole = fs::read(&real_model).unwrap();
    for length in [1000, 100_000, whole.len() / 2, whole.len() - 1] {
        fs::write(&model, &whole[..length]).unwrap();
        let error = open(&model, &real_tokenizer);
        assert!(matches!(error, LocalError::Refused { .. }), "cut at {length}: {error}");
    }
    let whole = fs::read(&real_tokenizer).unwrap();
    fs::write(&tokenizer, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(open(&real_model, &tokenizer), LocalError::Tokenizer { .. }));

    // One with more tokens than the network knows.
    fs::write(&tokenizer, TOKENIZER).unwrap();
    let error = open(&real_model, &tokenizer);
    assert!(
        matches!(&error, LocalError::Refused { reason, .. } if reason.contains("another model")),
        "{error}"
    );

    // The two the wrong way round.
    assert!(matches!(open(&real_tokenizer, &real_model), LocalError::Tokenizer { .. }));
}
