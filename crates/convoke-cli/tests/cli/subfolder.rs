//! Commands in a folder below the one with the configuration: the same store, the same model, the same policy.

use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::place::{Place, stderr, stdout};
use crate::workshop::{AGENTFILE, RESULT, RUN, workshop};

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

#[test]
fn a_policy_above_holds_and_is_about_the_folder_it_is_in() {
    let place = Place::empty();
    place.write(
        "policy.toml",
        "version = 1\n[paths]\ndeny = [\"secrets/**\", \"open/x\"]\n[commands]\ndeny = [\"ls\"]\n",
    );
    place.write("secrets/deep/file", "");
    place.write("open/secrets/file", "");
    let decided = |folder: &str, arguments: &[&str]| {
        let all = [&["policy", "explain"], arguments].concat();
        stdout(&below(&place, folder, &all))
    };
    let denied = |folder: &str, path: &str| {
        let said = decided(folder, &["--tool", "read", "--path", path]);
        assert!(said.starts_with("deny") || said.starts_with("allow"), "{said}");
        said.starts_with("deny")
    };
    assert!(denied("secrets/deep", "file"), "the working folder is in what is denied");
    assert!(denied("open", "x"), "named from the folder of the policy");
    assert!(!denied("open", "open/x"), "which is another file");
    assert!(!denied("open", "secrets/file"), "which is another folder");
    assert!(decided("open", &["ls"]).starts_with("deny"), "what is said of commands has no place");
    // A project of its own has a policy of its own.
    place.write("open/.git/HEAD", "");
    assert!(!denied("open", "x"));
}

#[test]
fn a_run_goes_on_below_with_the_script_that_it_began_with() {
    let place = workshop(AGENTFILE);
    place.write("deep/file", "");
    assert_eq!(below(&place, ".", &RUN).status.code(), Some(5));
    let done = below(&place, "deep", &["answer", "letter-1", "--approve", "--by", "ann", "--resume"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
    let dry = below(&place, ".", &[&RUN[..], &["--dry-run"]].concat());
    assert!(stdout(&dry).contains("model  scripted/script.toml\n"), "{}", stdout(&dry));
}
