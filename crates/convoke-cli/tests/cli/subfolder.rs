//! Commands in a folder below the one with the configuration: the same store, the same model, the same policy.

use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::place::{Place, stderr, stdout};
use crate::workshop::{AGENTFILE, RESULT, RUN, workshop};

/// `convoke` in a folder of a place.
fn below(place: &Place, folder: &str, arguments: &[&str]) -> Output {
    let home = place.path().canonicalize().unwrap();
    let mut command = cargo_bin_cmd!("convoke");
    command
        .current_dir(place.path().join(folder))
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .env("HOME", home)
        .env("COLUMNS", "80");
    command.args(arguments).output().unwrap()
}

#[test]
fn the_store_is_that_of_the_folder_with_the_configuration() {
    let place = Place::empty();
    place.write("convoke.toml", "model = \"scripted/rehearsal\"\n");
    place.write("Agentfile", "NAME n\nGOAL g \"Say something\"\nRUN r USING g\n");
    place.write("deep/down/file", "");
    let ran = below(&place, "deep/down", &["run", "../../Agentfile", "--quiet"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(place.file().exists() && !place.path().join("convoke.db").exists());
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
    // A project of its own has a store of its own, and whoever looks for earlier runs is told where they are.
    place.write("deep/.git/HEAD", "");
    let lost = below(&place, "deep", &["runs"]);
    assert!(stderr(&lost).contains("are in another file: add `--store"), "{}", stderr(&lost));
    run("deep", "../Agentfile");
    assert!(place.file_of("deep").exists() && place.file_of("deep") != place.file());
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

/// A run in a place that waits for an approval, and then lets its model write a file.
fn waiting(place: &Place) {
    place.write(
        "Agentfile",
        "NAME n\nGOAL ask \"Ask\" SUPERVISED HUMAN\nGOAL make \"Make it\"\nRUN r USING ask, make\n",
    );
    let script = "[[rule]]\nwhen = { tool_result_of = \"write\" }\nreply = \"Made.\"\n\
         [[rule]]\nwhen = { user_contains = 'id=\"make\"' }\n\
         reply = { tool_calls = [{ name = \"write\", arguments = { path = \"made\", content = \"x\" } }] }\n\
         [[rule]]\nreply = \"Asked.\"\n";
    place.write("script.toml", script);
    place.write("sub/file", "");
    let script = format!("scripted/{}", place.path().join("script.toml").display());
    let ran = below(place, ".", &["run", "-m", &script, "--id", "n-1", "--quiet"]);
    assert_eq!(ran.status.code(), Some(5), "{}", stderr(&ran));
}

#[test]
fn a_run_goes_on_where_it_was_begun_and_in_no_folder_that_somebody_happens_to_be_in() {
    let place = Place::empty();
    waiting(&place);
    let store = place.file().canonicalize().unwrap();
    let refused = below(&place, "sub", &["answer", "n-1", "--approve", "--resume"]);
    let told = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    let home = place.path().canonicalize().unwrap();
    let hint = format!("cd {} && convoke --store {} resume n-1", home.display(), store.display());
    assert!(told.contains("works in") && told.replace("\n", " ").contains(&hint), "{told}");
    let open = below(&place, ".", &["questions", "--json"]);
    assert!(stdout(&open).contains("n-1"), "nothing was answered: {}", stdout(&open));
    assert!(below(&place, "sub", &["answer", "n-1", "--approve"]).status.success(), "an answer is no work");
    let resumed = below(&place, "sub", &["resume", "n-1"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", stderr(&resumed));
    assert!(!place.path().join("made").exists() && !place.path().join("sub/made").exists());
    let resumed = below(&place, ".", &["resume", "n-1"]);
    assert_eq!(stdout(&resumed), "Made.\n", "{}", stderr(&resumed));
    assert!(place.path().join("made").exists() && !place.path().join("sub/made").exists());
}

#[test]
fn a_run_works_in_another_folder_if_its_user_says_so() {
    let place = Place::empty();
    waiting(&place);
    assert!(below(&place, ".", &["answer", "n-1", "--approve"]).status.success());
    let moved = below(&place, "sub", &["resume", "n-1", "--here"]);
    assert_eq!(stdout(&moved), "Made.\n", "{}", stderr(&moved));
    assert!(!place.path().join("made").exists() && place.path().join("sub/made").exists());
    let shown = below(&place, "sub", &["resume", "n-1"]);
    assert_eq!(stdout(&shown), "Made.\n", "a result is shown anywhere: {}", stderr(&shown));
}

#[test]
fn nobody_is_sent_to_a_folder_that_is_gone() {
    let place = workshop(AGENTFILE);
    place.write("deep/letter.agent", AGENTFILE);
    place.write("deep/script.toml", crate::workshop::SCRIPT);
    let store = place.file().display().to_string();
    let in_store =
        |folder: &str, words: &[&str]| below(&place, folder, &[&["--store", &store], words].concat());
    assert_eq!(in_store("deep", &RUN).status.code(), Some(5));
    assert!(in_store(".", &["answer", "letter-1", "--approve", "--by", "ann"]).status.success());
    std::fs::remove_dir_all(place.path().join("deep")).unwrap();
    let refused = in_store(".", &["resume", "letter-1"]);
    let told = stderr(&refused).replace("\n", " ");
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("is not there any more") && told.contains("`--here`"), "{told}");
    assert!(!told.contains("cd "), "{told}");
    let attended = in_store(".", &["attend", "--once"]);
    assert!(stdout(&attended).contains("is not there any more"), "{}", stdout(&attended));
    let done = in_store(".", &["resume", "letter-1", "--here", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
}

#[cfg(unix)]
#[test]
fn a_run_does_not_leave_its_folders_policy_behind() {
    let place = Place::empty();
    place.write("policy.toml", "version = 1\n[tools.write]\ndecision = \"deny\"\n");
    let elsewhere = Place::empty();
    // Both work in the same folder, and only one has its policy above it.
    place.write("sub/file", "");
    let workspace = place.path().join("sub").canonicalize().unwrap();
    for home in [&place, &elsewhere] {
        home.write(
            ".config/convoke/convoke.toml",
            format!("[workspace]\npath = \"{}\"\n", workspace.display()),
        );
    }
    waiting(&place);
    assert!(below(&place, ".", &["answer", "n-1", "--approve"]).status.success());
    let store = place.file().canonicalize().unwrap().display().to_string();
    let resumed = below(&elsewhere, ".", &["--store", &store, "resume", "n-1"]);
    let told = stderr(&resumed);
    assert_eq!(resumed.status.code(), Some(2), "{told}");
    assert!(told.contains("policy.toml") && told.contains("does not hold in this folder"), "{told}");
    // One that cannot be looked at is not gone.
    let policy = place.path().join("policy.toml");
    std::fs::remove_file(&policy).unwrap();
    std::os::unix::fs::symlink("nowhere", &policy).unwrap();
    let resumed = below(&elsewhere, ".", &["--store", &store, "resume", "n-1"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", stderr(&resumed));
    assert!(!place.path().join("sub/made").exists());
}

#[test]
fn a_run_goes_on_below_with_the_script_that_it_began_with() {
    let place = workshop(AGENTFILE);
    place.write("deep/file", "");
    assert_eq!(below(&place, ".", &RUN).status.code(), Some(5));
    assert!(below(&place, "deep", &["answer", "letter-1", "--approve", "--by", "ann"]).status.success());
    let done = below(&place, "deep", &["resume", "letter-1", "--here"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
    let dry = below(&place, ".", &[&RUN[..], &["--dry-run"]].concat());
    assert!(stdout(&dry).contains("model  scripted/script.toml\n"), "{}", stdout(&dry));
}
