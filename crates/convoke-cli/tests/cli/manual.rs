//! Help, completions and manual pages.

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
