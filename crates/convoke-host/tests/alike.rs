//! What several files and folders have in common is read in one way.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::{Path, PathBuf};

use convoke_config::{Environment, Loader};
use convoke_core::Timestamp;
use convoke_goals::agentfile::parser::parse;
use convoke_graph::NodeTypes;
use convoke_history::When;
use convoke_host::packages_folder;
use convoke_http::address::shown_with_query;
use convoke_models::ScriptedModel;
use convoke_text::finding::Finding;
use convoke_text::{duration, redaction, xdg};
use convoke_tools::policy::Policy;
use serde_json::json;

/// What is said of a text as `convoke.toml`, and as `policy.toml`.
fn said(text: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("it can be written");
        file
    };
    (configuration(folder.path(), &write("convoke.toml")), policy(&write("policy.toml")))
}

fn configuration(folder: &Path, file: &Path) -> String {
    let loader = Loader::new(Environment::of([])).folder(folder).file(Some(file.to_owned()));
    loader.load().expect_err("it is not valid").to_string()
}

fn policy(file: &Path) -> String {
    Policy::load_existing(file).expect_err("it is not valid").to_string()
}

#[test]
fn what_is_found_where_a_section_belongs_is_called_alike_in_configurations_and_policies() {
    for (value, called) in [("5", "a whole number"), ("true", "true or false"), ("[]", "a list")] {
        let (configuration, policy) = said(&format!("mcp = {value}\n"));
        let message = format!("`mcp` is a section, not {called}");
        assert!(configuration.contains(&message), "{configuration}");
        assert!(policy.contains(&message), "{policy}");
    }
}

#[test]
fn files_that_nobody_wrote_are_read_neither_as_a_configuration_nor_as_a_policy() {
    let (configuration, policy) = said(&"# long\n".repeat(200_000));
    assert!(configuration.contains("it is larger than 1 MiB, which is no configuration"), "{configuration}");
    assert!(policy.contains("it is larger than 1 MiB, which is no policy"), "{policy}");
    let folder = tempfile::tempdir().unwrap();
    for said in [self::configuration(folder.path(), folder.path()), self::policy(folder.path())] {
        assert!(said.contains("it is not a regular file"), "{said}");
    }
}

#[test]
fn runs_packages_and_settings_are_below_the_same_folders_of_a_user() {
    for variables in [
        &[("HOME", "/home/ann")][..],
        &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "/data"), ("XDG_CONFIG_HOME", "/settings")],
        &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "settings")],
        &[("HOME", "home")],
    ] {
        let environment = Environment::from_iter(variables.iter().copied());
        let variable = |name: &str| environment.get(name).map(PathBuf::from);
        let places = Loader::new(environment.clone()).folder("/").locations();
        let data = xdg::data_folder(variable).map(|folder| folder.join("convoke"));
        assert_eq!(places.project.data, data);
        assert_eq!(packages_folder(&environment), data.map(|folder| folder.join("packages")));
        let settings = xdg::config_folder(variable).map(|folder| folder.join("convoke"));
        assert_eq!(places.user, settings.map(|folder| folder.join("convoke.toml")));
    }
}

#[test]
fn times_that_runs_are_shown_with_can_be_given_back_to_lists_of_runs() {
    for micros in [0, 951_782_400_000_000, 1_767_603_600_123_000, 4_107_542_399_999_000] {
        let time = Timestamp::from_micros(micros);
        assert_eq!(time.to_string().parse::<When>(), Ok(When::At(time)), "{time}");
    }
    assert!("2026-02-31".parse::<When>().is_err(), "there is no such day");
}

/// Whether a text is a duration to the configuration, an Agentfile, a graph, a script of a model, a list of runs and a command line.
fn taken_as_a_duration(text: &str) -> [(&'static str, bool); 6] {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("convoke.toml");
    std::fs::write(&file, format!("[budgets]\nwall_time = \"{text}\"\n")).unwrap();
    let configuration = Loader::new(Environment::of([])).folder(folder.path()).file(Some(file)).load();
    let agentfile = format!("NAME n\nGOAL g \"x\" TIMEOUT {text}\nRUN r USING g\n");
    let node = json!({"id": "a", "type": "passthrough", "timeout": text});
    let graph = json!({"name": "g", "entry": "a", "nodes": [node], "edges": []}).to_string();
    let script = format!("[[rule]]\nreply = {{ text = \"hi\", delay = \"{text}\" }}\n");
    let (_, findings) = convoke_graph::read(&graph, &NodeTypes::standard());
    [
        ("convoke.toml", configuration.is_ok()),
        ("Agentfile", parse(&agentfile).1.errors() == 0),
        ("graph", !findings.iter().any(Finding::is_error)),
        ("script", ScriptedModel::from_toml_str(&script).is_ok()),
        ("runs --since", text.parse::<When>().is_ok()),
        ("--timeout", duration::parse(text).is_ok()),
    ]
}

#[test]
fn every_reader_of_durations_takes_the_same_texts() {
    for text in ["90 s", "4w", "1.5s", "250ms", "1h 30min", "2d"] {
        for (place, is_taken) in taken_as_a_duration(text) {
            assert!(is_taken, "{place} takes `{text}`");
        }
    }
    for text in ["5x", "-3s", "1h30", "90"] {
        for (place, is_taken) in taken_as_a_duration(text) {
            assert!(!is_taken, "{place} refuses `{text}`");
        }
    }
}

#[test]
fn whoever_hides_secrets_hides_those_of_four_characters_under_one_mark() {
    let said = "it is 7f3k, and not abc";
    let secrets: redaction::Secrets = ["7f3k", "abc"].into_iter().collect();
    assert_eq!(secrets.hide(said), "it is (hidden), and not abc");
    assert_eq!(shown_with_query("http://h/?token=7f3k&a=b"), "http://h/?token=(hidden)&a=b");
}
