//! `convoke doctor`.

use crate::place::{Place, stderr, stdout};

/// No Ollama may answer by accident.
const NOBODY: (&str, &str) = ("OLLAMA_HOST", "http://127.0.0.1:9");

#[test]
fn it_says_which_model_would_be_used_and_why() {
    let place = Place::empty();
    let key = ("ANTHROPIC_API_KEY", "sk-do-not-show");
    let seen = place.seen_with(&["doctor"], &[NOBODY, key, ("HOME", "/home/ann")]);
    assert!(!seen.contains("sk-do-not-show"), "{seen}");
    // What can confine commands is not the same everywhere.
    let steady = seen.lines().map(|line| if line.contains(" sandbox ") { "  ? sandbox …" } else { line });
    insta::assert_snapshot!(steady.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_file_goes_before_a_key_and_a_flag_before_both() {
    let place = Place::empty();
    std::fs::write(place.path().join("convoke.toml"), "model = \"ollama/qwen3\"\n").unwrap();
    let model = |arguments: &[&str]| {
        let output = place.convoke_with(arguments, &[NOBODY, ("OPENAI_API_KEY", "k")]);
        let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        value["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model(&["doctor", "--json"]), "ollama/qwen3");
    assert_eq!(model(&["doctor", "--json", "-m", "gpt-5.4"]), "openai/gpt-5.4");
}

#[test]
fn trying_a_model_that_does_not_answer_fails_and_one_that_does_succeeds() {
    let place = Place::empty();
    std::fs::write(place.path().join("script.toml"), "[[rule]]\nreply = \"hello\"\n").unwrap();
    let tried = place.convoke_with(&["doctor", "--try", "-m", "scripted/script.toml"], &[NOBODY]);
    assert!(tried.status.success() && stdout(&tried).contains("it answers: hello"), "{tried:?}");
    let tried = place.convoke_with(&["doctor", "--try", "-m", "ollama/none"], &[NOBODY]);
    assert_eq!(tried.status.code(), Some(1));
}

#[test]
fn a_configuration_that_makes_no_sense_is_shown_with_its_place() {
    let place = Place::empty();
    std::fs::write(place.path().join("convoke.toml"), "modle = \"x\"\n").unwrap();
    insta::assert_snapshot!(place.seen_with(&["doctor"], &[NOBODY]));
}

#[test]
fn a_file_of_prices_is_read_before_a_run_needs_it() {
    let place = Place::empty();
    place.write("convoke.toml", "prices = \"prices.toml\"\n");
    place.write("script.toml", "[[rule]]\nreply = \"hello\"\n");
    let looked_at = |text: &str| {
        place.write("prices.toml", text);
        let output = place.convoke_with(&["doctor", "-m", "scripted/script.toml", "--json"], &[NOBODY]);
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        (output.status.code(), document["agents"]["prices"].clone(), stderr(&output))
    };
    let (_, sound, _) = looked_at("[prices]\n\"groq/*\" = \"free\"\n");
    assert_eq!(sound["works"], true, "{sound}");
    let (code, wrong, told) = looked_at("prices = 3");
    assert_eq!((code, &wrong["works"]), (Some(1), &false.into()), "{wrong}");
    assert!(wrong["why"].as_str().unwrap().contains("[prices]") && told.contains("prices"), "{wrong} {told}");
}

#[test]
fn a_model_that_cannot_be_had_is_not_approved_of() {
    let place = Place::empty();
    for (model, missing) in
        [("claude-sonnet-5-5", "ANTHROPIC_API_KEY"), ("compatible/x", "services.compatible.base_url")]
    {
        let output = place.convoke_with(&["doctor", "-m", model], &[NOBODY]);
        let told = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(missing), "{told}");
    }
}

#[test]
fn something_that_agents_need_and_is_not_there_is_a_failure() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"hello\"\n");
    let doctor = || place.convoke_with(&["doctor", "-m", "scripted/script.toml"], &[NOBODY]);
    assert!(doctor().status.success(), "{:?}", doctor());
    place.write("policy.toml", "version = 1\nsandbox = \"of\"\n");
    let output = doctor();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("not everything agents need is there: policy"), "{}", stderr(&output));
}

#[test]
fn a_service_that_does_not_run_is_not_ticked_for_needing_no_key() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"hello\"\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = |host: &str| {
        let output = place.convoke_with(&["doctor", "-m", "scripted/script.toml"], &[("OLLAMA_HOST", host)]);
        let said = stdout(&output);
        said.lines().find(|line| line.contains(" ollama ")).unwrap().to_owned()
    };
    assert!(
        seen("http://127.0.0.1:9").contains("– ollama")
            && seen("http://127.0.0.1:9").contains("nothing answers")
    );
    assert!(seen(&address).contains("✓ ollama") && seen(&address).contains("needs no key"));
}

#[test]
fn an_agent_toml_that_nobody_reads_is_mentioned() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"hello\"\n");
    place.write("agent.toml", "[llm]\nmodel = \"claude-sonnet-4-5\"\n[security]\nmode = \"default\"\n");
    let told = || stderr(&place.convoke_with(&["doctor", "-m", "scripted/script.toml"], &[NOBODY]));
    assert!(
        told().contains("agent.toml is not read") && told().contains("`convoke config import`"),
        "{}",
        told()
    );
    place.write("Agentfile", "NAME n\nTOOLS none\nGOAL a \"A\"\nRUN main USING a\n");
    let run = stderr(&place.convoke(&["run", "-m", "scripted/script.toml", "--quiet"]));
    assert!(run.contains("agent.toml is not read") && run.contains("`convoke config import`"), "{run}");
    insta::assert_snapshot!(place.seen(&["config", "import"]));
    assert_eq!(
        place.read("convoke.toml"),
        "# Translated from agent.toml.\n\nmodel = \"anthropic/claude-sonnet-4-5\"\n"
    );
    assert!(!told().contains("agent.toml"), "{}", told());
    assert_eq!(place.convoke(&["config", "import"]).status.code(), Some(1), "nothing is overwritten");
}

#[test]
fn how_much_of_a_local_model_is_to_be_fetched_is_said() {
    let place = Place::empty();
    let models = place.path().join("models").display().to_string();
    let words = ["doctor", "--json", "-m", "local/qwen2.5-coder-1.5b"];
    let output = place.convoke_with(&words, &[("CONVOKE_MODELS", &models)]);
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(told["bytes_to_fetch"].as_u64() > Some(1_000_000_000), "{told}");
}
