//! `convoke init`, without a terminal: questions are tested where they are asked.

use insta::assert_snapshot;

use crate::place::{Place, stdout};

/// No Ollama may answer by accident.
const NOBODY: (&str, &str) = ("OLLAMA_HOST", "http://127.0.0.1:9");

#[test]
fn the_files_are_written_are_valid_and_the_next_command_is_named() {
    let place = Place::empty();
    let key = ("OPENAI_API_KEY", "sk-do-not-show");
    assert_snapshot!("init", place.seen_with(&["init", "my first"], &[NOBODY, key]));
    assert_snapshot!("init_agentfile", place.read("my first/Agentfile"));
    assert_snapshot!("init_settings", place.read("my first/convoke.toml"));
    assert_eq!(stdout(&place.convoke(&["validate", "my first/Agentfile"])), "✓ Valid my first/Agentfile\n");
    assert!(place.convoke(&["fmt", "--check", "my first/Agentfile"]).status.success());
    let shown = place.convoke(&["config", "show", "--config", "my first/convoke.toml"]);
    assert!(shown.status.success(), "{shown:?}");
}

#[test]
fn nothing_is_overwritten() {
    let place = Place::empty();
    place.write("Agentfile", "NAME mine\n");
    assert_snapshot!("init_beside", place.seen_with(&["init", "--yes"], &[NOBODY]));
    assert_eq!(place.read("Agentfile"), "NAME mine\n");
    let settings = place.read("convoke.toml");
    assert_snapshot!("init_again", place.seen_with(&["init", "--yes"], &[NOBODY]));
    assert_eq!((place.read("Agentfile"), place.read("convoke.toml")), ("NAME mine\n".to_owned(), settings));
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let place = Place::empty();
    place.write("file", "");
    assert_snapshot!("init_no_folder", place.seen_with(&["init", "file/below"], &[NOBODY]));
}

#[test]
fn keys_are_kept_out_of_git_and_lines_are_not_doubled() {
    let place = Place::empty();
    assert!(place.convoke_with(&["init", "--yes"], &[NOBODY]).status.success());
    assert_eq!(place.read(".gitignore"), "credentials.toml\n");
    let mode = |file: &str| std::fs::metadata(place.path().join(file)).unwrap().permissions();
    assert_eq!(mode(".gitignore"), mode("Agentfile"), "whoever reads the one reads the other");
    for (before, after) in
        [("/target", "/target\ncredentials.toml\n"), ("/credentials.toml", "/credentials.toml")]
    {
        let other = Place::empty();
        other.write(".gitignore", before);
        assert!(other.convoke_with(&["init", "--yes"], &[NOBODY]).status.success());
        assert_eq!(other.read(".gitignore"), after);
    }
}
