//! Help, completions and manual pages.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::place::{Place, stdout};

#[test]
fn own_options_come_first_and_global_ones_stand_apart() {
    assert_snapshot!("help_chat", Place::empty().seen(&["chat", "--help"]));
}

#[test]
fn shells_complete_commands_and_their_options() {
    let place = Place::empty();
    for shell in ["bash", "zsh", "fish"] {
        let output = place.convoke(&["completions", shell]);
        let script = stdout(&output);
        assert!(
            output.status.success() && script.contains("questions") && script.contains("max-tokens"),
            "{shell}"
        );
    }
    assert_eq!(place.convoke(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let place = Place::empty();
    let page = stdout(&place.convoke(&["man"]));
    assert!(page.contains(".TH convoke 1") && page.contains("convoke\\-run(1)"), "{page}");
    assert!(place.convoke(&["man", "share/man1"]).status.success());
    assert!(place.read("share/man1/convoke-run.1").contains("budget"));
    assert!(place.read("share/man1/convoke-mcp-add.1").contains("NAME=VALUE"));
}

/// All files below a folder whose names end so.
fn below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => below(&path, end, found),
            false if path.to_string_lossy().ends_with(end) => found.push(path),
            false => {}
        }
    }
}

#[test]
fn commands_that_documents_and_messages_name_are_there() {
    let place = Place::empty();
    assert!(place.convoke(&["man", "pages"]).status.success());
    let pages: Vec<String> = std::fs::read_dir(place.path().join("pages"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    below(&root.join("docs"), ".md", &mut files);
    below(&root.join("crates/convoke-cli/src"), ".rs", &mut files);
    below(&root.join("crates/convoke-host/src"), ".rs", &mut files);
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for mention in text.split("`convoke ").skip(1) {
            let mut words = mention.split('`').next().unwrap_or_default().split_whitespace();
            let Some(command) = words.next().filter(is_word) else { continue };
            let has_parts = pages.iter().any(|page| page.starts_with(&format!("convoke-{command}-")));
            let page = match words.next().filter(is_word).filter(|_| has_parts) {
                Some(part) => format!("convoke-{command}-{part}.1"),
                None => format!("convoke-{command}.1"),
            };
            assert!(pages.contains(&page), "{} names `{page}`", file.display());
        }
    }
}
