//! Commands in a folder below the one with the configuration: the same store, the same model.

use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::place::{Place, stderr, stdout};

/// `convoke` in a folder of a place.
fn below(place: &Place, folder: &str, arguments: &[&str]) -> Output {
    let home = place.path().canonicalize().unwrap();
    let mut command = cargo_bin_cmd!("convoke");
    command.current_dir(place.path().join(folder)).env_clear().env("HOME", home).env("COLUMNS", "80");
    command.args(arguments).output().unwrap()
}

#[test]
fn the_store_is_beside_the_configuration_that_was_found_above() {
    let place = Place::empty();
    place.write("convoke.toml", "model = \"scripted/rehearsal\"\n");
    place.write("Agentfile", "NAME n\nGOAL g \"Say something\"\nRUN r USING g\n");
    place.write("deep/down/file", "");
    let ran = below(&place, "deep/down", &["run", "../../Agentfile", "--quiet"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(place.file().exists() && !place.path().join("deep/down/convoke.db").exists());
    for folder in ["deep/down", "."] {
        let runs = below(&place, folder, &["runs"]);
        assert!(stdout(&runs).contains("completed"), "{folder}: {}", stderr(&runs));
    }
    let doctor = below(&place, "deep", &["doctor", "--json"]);
    assert!(stdout(&doctor).contains("scripted/rehearsal\""), "{}", stdout(&doctor));
}

#[test]
fn without_a_configuration_the_nearest_store_above_is_used() {
    let place = Place::empty();
    place.write("Agentfile", "NAME n\nGOAL g \"Say something\"\nRUN r USING g\n");
    place.write("deep/file", "");
    let run = |folder: &str, file: &str| {
        let ran = below(&place, folder, &["run", file, "-m", "scripted/rehearsal", "--quiet"]);
        assert!(ran.status.success(), "{}", stderr(&ran));
    };
    run(".", "Agentfile");
    run("deep", "../Agentfile");
    let runs: Vec<serde_json::Value> =
        serde_json::from_str(&stdout(&below(&place, "deep", &["runs", "--json"]))).unwrap();
    assert_eq!(runs.len(), 2);
    // A project of its own has a store of its own.
    place.write("deep/.git/HEAD", "");
    run("deep", "../Agentfile");
    assert!(place.path().join("deep/convoke.db").exists());
}
