//! `convoke model`, on a library of its own.

use crate::place::Place;

fn seen(place: &Place, arguments: &[&str]) -> String {
    let folder = place.path().join("models");
    place.seen_with(arguments, &[("COLUMNS", "90"), ("CONVOKE_MODELS", folder.to_str().unwrap())])
}

#[test]
fn the_list_has_sizes_and_licences() {
    let place = Place::empty();
    insta::assert_snapshot!(seen(&place, &["model", "list"]));
}

#[test]
fn a_file_is_pulled_shown_and_removed() {
    let place = Place::empty();
    std::fs::write(place.path().join("tiny.gguf"), b"GGUF and nothing else").unwrap();
    let pulled = seen(&place, &["model", "pull", "tiny.gguf", "--as", "tiny"]);
    assert!(pulled.contains("tiny") && pulled.contains("--- exit 0"), "{pulled}");
    insta::assert_snapshot!(seen(&place, &["model", "info", "tiny"]));
    assert!(
        seen(&place, &["model", "list"]).lines().any(|line| line.starts_with("tiny") && line.contains("yes"))
    );
    assert!(seen(&place, &["model", "rm", "tiny"]).contains("removed tiny"));
    assert!(!seen(&place, &["model", "list"]).contains("tiny "));
}

#[test]
fn what_is_no_model_is_refused() {
    let place = Place::empty();
    std::fs::write(place.path().join("text.gguf"), b"once upon a time").unwrap();
    insta::assert_snapshot!(seen(&place, &["model", "pull", "text.gguf"]));
    insta::assert_snapshot!(seen(&place, &["model", "info", "nothing"]));
}

#[cfg(not(feature = "local"))]
#[test]
fn a_program_without_local_models_says_how_to_have_them() {
    let place = Place::empty();
    let seen = place.seen(&["chat", "-m", "local/smollm2", "hi"]);
    assert!(seen.contains("--features local") && seen.ends_with("--- exit 1\n"), "{seen}");
}
