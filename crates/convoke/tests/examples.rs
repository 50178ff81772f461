//! Every example runs, and says what its description promises.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;

/// Cargo builds examples with the tests, except when it is asked for these tests only; so it is asked for them here, in the way of
/// `scripts/test`, which leaves less to build then.
fn program(name: &str) -> PathBuf {
    static BUILD: Once = Once::new();
    BUILD.call_once(|| {
        let build = ["build", "--quiet", "--locked", "--workspace", "--examples"];
        let features = ["--features", "convoke-store/contract,convoke/host"];
        let built = Command::new(env!("CARGO")).args(build).args(features).status();
        assert!(built.expect("cargo is there").success(), "the examples build");
    });
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().and_then(|folder| folder.parent());
    folder.expect("tests are built into target/…/deps").join("examples").join(name)
}

fn run(name: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(program(name))
        .args(arguments)
        .current_dir(folder.path())
        // No test writes into a real home.
        .env("HOME", home.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("the example is built");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name} failed:\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "it does not say {word:?}:\n{text}");
    }
}

#[test]
fn summarise_and_review_takes_two_rounds() {
    let text = run("summarise_and_review", &[]);
    assert_says(&text, &["round 1", "round 2", "Published: A loom keeps warp threads taut"]);
    assert!(!text.contains("round 3"), "{text}");
}

#[test]
fn parallel_research_keeps_what_succeeded() {
    let text = run("parallel_research", &[]);
    assert_says(&text, &["left out research/gather/market", "2 findings", "a shuttle carries the weft"]);
}

#[test]
fn ticket_router_sends_each_ticket_where_it_belongs() {
    assert_says(&run("ticket_router", &[]), &["Filed under: billing", "We are sorry"]);
    assert_says(&run("ticket_router", &["It crashes."]), &["Filed under: engineering", "Which version"]);
    assert_says(&run("ticket_router", &["Nice loom!"]), &["Filed under: a person"]);
}

#[test]
fn agent_with_approval_waits_for_a_person_and_repeats_nothing() {
    let text = run("agent_with_approval", &[]);
    assert_says(
        &text,
        &["The run is suspended.", "send_refund", "Ann approves.", "You got 3000 cents back."],
    );
    assert_says(&text, &["The model was called 3 times."]);
    assert_eq!(text.matches("looking up order").count(), 1, "{text}");
    assert_eq!(text.matches("sending 3000 cents").count(), 1, "{text}");
}

#[test]
fn crash_and_resume_writes_every_part_once() {
    let text = run("crash_and_resume", &[]);
    assert_says(
        &text,
        &[
            "wrote story/beginning",
            "dies while it writes story/turn",
            "remembered story/trouble",
            "wrote story/ending",
        ],
    );
    assert_says(&text, &["The run is completed; 4 model calls in all.", "By morning the cloth was whole."]);
}

#[test]
fn daily_plan_is_sent_back_once_and_then_approved() {
    let text = run("daily_plan", &[]);
    assert_eq!(text.matches("The run is suspended.").count(), 2, "{text}");
    assert_says(
        &text,
        &[
            "Weave until noon, then sleep.",
            "Sleep comes first.",
            r#"Chosen: ["weave","sleep"]"#,
            "The plan: First sleep, then weave.",
        ],
    );
    assert!(!text.contains("CONVERGED"), "{text}");
}

#[cfg(feature = "host")]
#[test]
fn run_agentfile_waits_for_a_person_and_goes_on() {
    let text = run("run_agentfile", &[]);
    assert_says(
        &text,
        &["the run is suspended", "A note about looms is in note.txt.", "note.txt: Looms keep threads taut."],
    );
}
