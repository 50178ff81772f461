//! `convoke config`, and what configurations do to other commands.

use insta::assert_snapshot;

use crate::place::{Place, at_home, stderr, stdout};

const FOLDER: &str = r#"model = "ollama/qwen3"

[services.compatible]
base_url = "http://ann:pass-word@127.0.0.1:8080/v1?key=sk-query"
headers = { x-route = "sk-gateway", x-team = "looms" }

[profiles.fast]
model = "claude-haiku-5-5"
max_tokens = 500
[profiles.deep]
model = "claude-opus-5"
reasoning = "high"

[budgets]
tokens = 900
per_tool = { search = 3 }
wall_time = "90m"

[telemetry]
endpoint = "https://collector.example"
"#;

/// A folder with a project in it, in the home of somebody with a configuration.
fn place() -> Place {
    let place = Place::empty();
    place.write("convoke.toml", FOLDER);
    place.write(
        ".config/convoke/convoke.toml",
        "[budgets]\ntokens = 500\ncost_usd = 2\n[supervision]\nanswerers = [\"ann\"]\n",
    );
    place
}

fn seen(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let home = place.path().canonicalize().unwrap().display().to_string();
    let secrets = [("ANTHROPIC_API_KEY", "sk-anthropic")];
    let usual = [("COLUMNS", "80"), ("HOME", home.as_str())];
    let all: Vec<_> = usual.into_iter().chain(secrets).chain(variables.iter().copied()).collect();
    let seen = place.seen_with(arguments, &all);
    for secret in ["sk-gateway", "sk-anthropic", "pass-word", "sk-query", "looms"] {
        assert!(!seen.contains(secret), "{secret} is shown: {seen}");
    }
    seen
}

#[test]
fn every_value_is_shown_with_its_origin_and_without_secrets() {
    let place = place();
    let variables = [("CONVOKE_LOG", "info"), ("CONVOKE_MODLE", "x")];
    assert_snapshot!("config_show", seen(&place, &["config", "show", "--store", "./runs.db"], &variables));
    assert_snapshot!("config_show_json", seen(&place, &["config", "show", "--json", "budgets"], &variables));
}

#[test]
fn a_section_or_a_key_can_be_asked_for() {
    let place = place();
    assert_snapshot!("config_section", seen(&place, &["config", "show", "profiles"], &[]));
    assert_snapshot!("config_one_profile", seen(&place, &["config", "show", "profiles.fast"], &[]));
    assert_snapshot!("config_keys", seen(&place, &["config", "show", "keys"], &[]));
    assert_snapshot!("config_no_section", seen(&place, &["config", "show", "budget"], &[]));
}

#[test]
fn without_files_there_are_only_defaults() {
    let place = Place::empty();
    let shown = stdout(&place.convoke(&["config", "show"]));
    assert!(shown.contains("store.path") && !shown.contains("convoke.toml"), "{shown}");
    assert!(
        shown
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("keys."))
            .all(|line| line.ends_with("(default)"))
    );
}

#[test]
fn the_files_that_are_looked_for_are_named() {
    let place = place();
    assert_snapshot!("config_path", seen(&place, &["config", "path"], &[]));
    place.write("deep/down/file", "");
    place.write("other.toml", "");
    let below = seen(&place, &["config", "path", "--config", "other.toml"], &[]);
    assert!(below.contains("named        other.toml\n"), "{below}");
    assert_snapshot!("config_path_json", seen(&Place::empty(), &["config", "path", "--json"], &[]));
}

#[test]
fn a_broken_configuration_is_shown_with_every_mistake() {
    let place = Place::empty();
    place.write("convoke.toml", "modle = \"sk-query\"\n[budgets]\ntokens = \"many\"\n[servces]\n");
    assert_snapshot!("config_broken", seen(&place, &["config", "show"], &[]));
    // What needs no configuration works all the same.
    place.write("Agentfile", "NAME n\nGOAL g \"x\"\nRUN r USING g\n");
    assert!(place.convoke(&["fmt", "--check"]).status.success());
    assert_eq!(place.convoke(&["runs"]).status.code(), Some(1));
    // The command that it names is there, and says why.
    let path = stdout(&at_home(&place, &[], &["config", "path"]));
    assert!(path.contains("`convoke config show` says why"), "{path}");
}

#[test]
fn a_credentials_file_that_others_can_read_is_refused_with_what_to_type() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::empty();
    place.write(".config/convoke/credentials.toml", "[openai]\napi_key = \"sk-query\"\n");
    let file = place.path().join(".config/convoke/credentials.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_snapshot!("config_credentials", seen(&place, &["config", "show", "keys"], &[]));
    let home = [("HOME", place.path().to_str().unwrap())];
    let budgets = place.convoke_with(&["config", "show", "budgets"], &home);
    assert!(budgets.status.success(), "what needs no keys reads none");
    let all = place.convoke_with(&["config", "show"], &home);
    assert_eq!(all.status.code(), Some(1));
    assert!(stdout(&all).contains("store.path"), "the rest is shown all the same");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let shown = seen(&place, &["config", "show", "keys"], &[]);
    assert!(shown.contains("keys.openai") && shown.contains("credentials.toml"), "{shown}");
}

#[test]
fn the_configured_store_is_used_and_the_command_line_goes_first() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"Fine.\"\n");
    place.write("convoke.toml", "model = \"scripted/script.toml\"\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept.db");
    place.write(".config/convoke/convoke.toml", format!("[store]\npath = {:?}\n", kept.to_str().unwrap()));
    assert_eq!(stdout(&at_home(&place, &[], &["chat", "hi"])), "Fine.\n");
    assert!(kept.exists() && !place.file().exists());
    assert!(at_home(&place, &[], &["show", "last"]).status.success());
    assert_eq!(at_home(&place, &[], &["--store", "other.db", "show", "last"]).status.code(), Some(4));
    let output = at_home(&place, &[("CONVOKE_STORE", "other.db")], &["show", "last"]);
    assert_eq!(output.status.code(), Some(4), "a variable goes before a file");
}

#[test]
fn a_budget_holds_for_conversations() {
    let place = Place::empty();
    place.write("script.toml", "[[rule]]\nreply = \"Fine.\"\n");
    place.write("convoke.toml", "model = \"scripted/script.toml\"\n[budgets]\ntokens = 1\n");
    let output = place.convoke(&["chat", "one two three four five six seven eight nine ten"]);
    assert_eq!(output.status.code(), Some(7), "as of every run whose budget is used up");
    assert!(stderr(&output).contains("budget"), "{}", stderr(&output));
}

#[test]
fn configured_skills_are_found_by_validate_and_inspect() {
    let place = Place::empty();
    place.write("kept/review/SKILL.md", "---\nname: review\ndescription: Reviews.\n---\nLook.\n");
    place.write("Agentfile", "NAME n\nAGENT a FROM review\nGOAL g \"x\" USING a\nRUN r USING g\n");
    assert_eq!(place.convoke(&["validate"]).status.code(), Some(1));
    place.write("convoke.toml", "[skills]\npaths = [\"kept\"]\n");
    assert_eq!(place.convoke(&["validate"]).status.code(), Some(0));
    assert!(stdout(&place.convoke(&["inspect"])).contains("skill review"));
}

#[test]
fn agent_181_a_named_configuration_must_be_there() {
    let place = Place::empty();
    let output = place.convoke(&["config", "show", "--config", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nowhere.toml cannot be read"), "{}", stderr(&output));
    assert!(place.convoke(&["config", "show"]).status.success());
}

#[test]
fn what_import_writes_is_not_refused_and_a_folder_that_the_user_names_counts() {
    let place = Place::empty();
    place.write("agent.toml", "[agent]\nworkspace = \"/tmp\"\n");
    let imported = place.convoke(&["config", "import"]);
    assert!(stderr(&imported).contains("CONVOKE_WORKSPACE"), "{}", stderr(&imported));
    assert!(place.read("convoke.toml").contains("# path = \"/tmp\""), "{}", place.read("convoke.toml"));
    assert!(place.convoke(&["config", "show"]).status.success());
    place.write("convoke.toml", "[workspace]\npath = \"/tmp\"\n");
    assert!(!place.convoke(&["config", "show"]).status.success(), "nobody but the user may say that");
    let named = place.convoke_with(&["config", "show", "workspace"], &[("CONVOKE_WORKSPACE", "/tmp")]);
    assert!(named.status.success(), "{}", stderr(&named));
    assert!(stdout(&named).contains("CONVOKE_WORKSPACE"), "{}", stdout(&named));
}
