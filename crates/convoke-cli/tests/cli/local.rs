//! `convoke chat` with a real model in the process: no key, no network. Needs CONVOKE_TEST_MODEL, the path of a small one.

#![cfg(feature = "local")]

use std::io::Write;

use crate::place::{Place, stderr, stdout};

/// Where the model is, if there is one.
fn model() -> Option<String> {
    let model = std::env::var("CONVOKE_TEST_MODEL").ok();
    if model.is_none() {
        let _ =
            writeln!(std::io::stderr(), "passed over: CONVOKE_TEST_MODEL is not set (scripts/test sets it)");
    }
    model
}

#[test]
fn a_real_model_answers_without_key_or_network_and_costs_nothing() {
    let Some(model) = model() else { return };
    let place = Place::empty();
    let question = "What is a loom? Answer in one sentence.";
    let arguments = ["chat", "--model", &model, "--temperature", "0", question];
    let output = place.convoke(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).split_whitespace().count() > 3, "{}", stdout(&output));
    let shown = stdout(&place.convoke(&["show", "last"]));
    assert!(shown.contains("models    local/") && shown.contains("cost      $0"), "{shown}");
}

#[test]
fn the_doctor_finds_the_local_model_when_there_is_nothing_else() {
    let place = Place::empty();
    let folder = place.path().join("models");
    let variables = [("OLLAMA_HOST", "http://127.0.0.1:9"), ("CONVOKE_MODELS", folder.to_str().unwrap())];
    let output = place.convoke_with(&["doctor", "--json"], &variables);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["model"], "local/qwen2.5-coder-1.5b");
    assert!(value["bytes_to_fetch"].as_u64() > Some(1_000_000_000), "it is not here yet: {value}");
    let told = stdout(&place.convoke_with(&["doctor"], &variables));
    assert!(told.contains("GB are fetched when it is first used"), "{told}");
}

#[test]
fn what_is_no_model_file_is_said_so() {
    let place = Place::empty();
    std::fs::write(place.path().join("text.gguf"), b"once upon a time").unwrap();
    let output = place.convoke(&["chat", "--model", "./text.gguf", "hi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("GGUF"), "{}", stderr(&output));
}
