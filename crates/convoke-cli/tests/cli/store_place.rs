//! Where runs are kept, and what becomes of those that are elsewhere.

use std::path::{Path, PathBuf};

use convoke_store::SqliteStore;
use serde_json::Value;

use crate::journal::Run;
use crate::place::{Place, at_home, stderr, stdout, wait};

const AGENTFILE: &str = "NAME n\nGOAL g \"Say something\"\nRUN r USING g\n";

/// A folder with an Agentfile that a rehearsal can run.
fn project() -> Place {
    let place = Place::empty();
    place.write("Agentfile", AGENTFILE);
    place
}

fn run(place: &Place, more: &[&str]) -> std::process::Output {
    at_home(place, &[], &[&["run", "-m", "scripted/rehearsal", "--quiet"], more].concat())
}

/// The ids of the runs that a command lists.
fn listed(place: &Place, options: &[&str]) -> Vec<String> {
    let output = at_home(place, &[], &[options, &["runs", "--json"]].concat());
    let runs: Vec<Value> =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    runs.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

/// A folder that has a store where earlier versions kept it, with these runs.
fn with_earlier(runs: &[&str]) -> Place {
    let kept = Place::with(runs.iter().map(|id| Run::new(id, "letter")));
    let place = project();
    std::fs::copy(kept.file(), place.path().join("convoke.db")).unwrap();
    place
}

fn earlier(place: &Place) -> PathBuf {
    place.path().join("convoke.db")
}

#[test]
fn runs_are_kept_for_the_user_alone_and_not_in_the_folder() {
    let place = project();
    // It has been made by the helper: this is about who may read what Convoke makes.
    std::fs::remove_dir_all(place.data()).unwrap();
    let ran = run(&place, &[]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let names: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["Agentfile"]);
    let folder = place.file().parent().unwrap().to_owned();
    let owner = std::fs::read_to_string(folder.join("project")).unwrap();
    assert_eq!(Path::new(owner.trim_end()), place.path().canonicalize().unwrap());
    #[cfg(unix)]
    for path in [folder.parent().unwrap(), &folder, &place.file(), &folder.join("project")] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn two_projects_have_a_store_each_and_the_folders_of_one_share_it() {
    let place = project();
    for folder in ["one/.git", "two/.git", "one/deep"] {
        std::fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    assert_ne!(place.file_of("one"), place.file_of("two"));
    assert_eq!(place.file_of("one"), place.file_of("one/deep"));
}

#[test]
fn a_folder_cannot_say_where_runs_are_kept() {
    for (setting, told) in [
        ("path = \"/tmp/elsewhere.db\"", "`store.path` counts only in your own file"),
        ("path = \"runs.db\"", "`store.path` counts only in your own file"),
        ("inside_workspace = true", "`store.inside_workspace` counts only in your own file"),
    ] {
        let place = project();
        place.write("convoke.toml", format!("[store]\n{setting}\n"));
        let refused = run(&place, &[]);
        assert!(
            !refused.status.success() && stderr(&refused).contains(told),
            "{setting}: {}",
            stderr(&refused)
        );
        assert!(!place.path().join("runs.db").exists());
    }
}

#[test]
fn agents_do_not_work_in_a_folder_with_their_store_in_it_unless_their_user_says_so() {
    let place = project();
    let refused = run(&place, &["--store", "runs.db"]);
    let told = stderr(&refused);
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(
        told.contains("the folder that agents work in") && told.contains("inside_workspace = true"),
        "{told}"
    );
    assert!(!place.path().join("runs.db").exists(), "nothing is made");
    let variable =
        at_home(&place, &[("CONVOKE_STORE", "deep/runs.db")], &["run", "-m", "scripted/rehearsal"]);
    assert_eq!(variable.status.code(), Some(4), "{}", stderr(&variable));
    place.write(".config/convoke/convoke.toml", "[store]\ninside_workspace = true\n");
    let ran = run(&place, &["--store", "runs.db"]);
    assert!(ran.status.success() && place.path().join("runs.db").exists(), "{}", stderr(&ran));
}

#[test]
fn without_a_home_a_store_must_be_named() {
    let place = project();
    let nobody = [("XDG_DATA_HOME", "")];
    let refused = place.convoke_with(&["run", "-m", "scripted/rehearsal"], &nobody);
    let told = stderr(&refused);
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(told.contains("no home") && told.contains("--store PATH"), "{told}");
    let elsewhere = tempfile::tempdir().unwrap();
    let store = elsewhere.path().join("runs.db");
    let named = ["--store", store.to_str().unwrap(), "run", "-m", "scripted/rehearsal"];
    let ran = place.convoke_with(&named, &nobody);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let path = place.convoke_with(&["config", "path"], &nobody);
    assert!(stdout(&path).contains("neither HOME nor XDG_DATA_HOME is set"), "{}", stdout(&path));
}

#[test]
fn whoever_begins_in_their_home_is_told_to_work_in_a_folder_below_and_can() {
    let place = project();
    let data = place.path().join(".local/share").display().to_string();
    let refused = place.convoke_with(&["run", "-m", "scripted/rehearsal"], &[("XDG_DATA_HOME", &data)]);
    let told = stderr(&refused);
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(told.contains("`mkdir hello && cd hello`"), "{told}");
    std::fs::create_dir(place.path().join("hello")).unwrap();
    let there = [("XDG_DATA_HOME", data.as_str()), ("CONVOKE_WORKSPACE", "hello")];
    let ran = place.convoke_with(&["run", "-m", "scripted/rehearsal", "--quiet"], &there);
    assert!(ran.status.success(), "{}", stderr(&ran));
}

#[test]
fn a_data_folder_that_cannot_be_written_is_said_with_what_to_do() {
    let place = project();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let nowhere = elsewhere.path().display().to_string();
    let refused = place.convoke_with(&["run", "-m", "scripted/rehearsal"], &[("XDG_DATA_HOME", &nowhere)]);
    let told = stderr(&refused);
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(told.contains("cannot be made") && told.contains("--store PATH"), "{told}");
}

#[cfg(unix)]
#[test]
fn the_place_of_a_project_is_not_a_link() {
    let place = project();
    let folder = place.file().parent().unwrap().to_owned();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::remove_dir(&folder).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
    let refused = run(&place, &[]);
    assert!(stderr(&refused).contains("is a link"), "{}", stderr(&refused));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn notes_are_not_written_through_a_link() {
    let place = Place::empty();
    place.write("Agentfile", AGENTFILE);
    place.write(
        "script.toml",
        "[[rule]]\nwhen = { has_tool_result = true }\nreply = \"Tried.\"\n[[rule]]\nreply = { tool_calls = [{ name = \"scratchpad_write\", arguments = { key = \"k\", value = \"v\" } }] }\n",
    );
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("npmrc");
    std::os::unix::fs::symlink(&target, place.file().with_file_name("convoke.db-scratchpad")).unwrap();
    let tried = at_home(&place, &[], &["run", "-m", "scripted/script.toml", "--output", "ndjson"]);
    assert!(stdout(&tried).contains("is a link"), "{}", stdout(&tried));
    assert!(!target.exists());
}

#[test]
fn runs_of_earlier_versions_are_found_by_those_who_look_and_not_worked_on() {
    let place = with_earlier(&["old-1"]);
    assert_eq!(listed(&place, &[]), ["old-1"]);
    let shown = at_home(&place, &[], &["show", "old-1"]);
    assert!(shown.status.success() && stderr(&shown).contains("convoke store move"), "{}", stderr(&shown));
    let ran = run(&place, &["--id", "new-1"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert_eq!(listed(&place, &[]), ["new-1"]);
    assert!(at_home(&place, &[], &["show", "old-1"]).status.success(), "by its id it is found as before");
    assert_eq!(listed(&place, &["--store", "./convoke.db"]), ["old-1"]);
    let config = at_home(&place, &[], &["config", "path"]);
    assert!(stdout(&config).contains("earlier"), "{}", stdout(&config));
}

#[test]
fn a_run_that_waits_in_the_folder_goes_on_once_it_is_moved() {
    let kept = Place::empty();
    kept.write("Agentfile", "NAME n\nGOAL ask \"Ask\" SUPERVISED HUMAN\nRUN r USING ask\n");
    assert_eq!(run(&kept, &["--id", "n-1"]).status.code(), Some(5));
    std::fs::rename(kept.file(), earlier(&kept)).unwrap();
    let refused = at_home(&kept, &[], &["answer", "n-1", "--approve", "--resume"]);
    let told = stderr(&refused);
    assert!(!refused.status.success() && told.contains("`convoke store move` takes its runs to"), "{told}");
    assert!(at_home(&kept, &[], &["answer", "n-1", "--approve"]).status.success());
    let refused = at_home(&kept, &[], &["resume", "n-1"]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("convoke store move"),
        "{}",
        stderr(&refused)
    );
    let moved = at_home(&kept, &[], &["store", "move"]);
    assert!(moved.status.success(), "{}", stderr(&moved));
    let resumed = at_home(&kept, &[], &["resume", "n-1", "-m", "scripted/rehearsal"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
}

#[test]
fn a_store_that_came_with_a_folder_and_has_triggers_is_not_used() {
    let place = with_earlier(&["old-1"]);
    let connection = rusqlite::Connection::open(earlier(&place)).unwrap();
    connection
        .execute_batch("CREATE TRIGGER reader AFTER INSERT ON questions BEGIN DELETE FROM questions; END")
        .unwrap();
    drop(connection);
    let ran = run(&place, &["--id", "new-1"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let show = at_home(&place, &[], &["show", "old-1"]);
    assert!(!show.status.success() && stderr(&show).contains("trigger \"reader\""), "{}", stderr(&show));
    let moved = at_home(&place, &[], &["store", "move", "--to", "/nowhere/x.db"]);
    assert!(!moved.status.success() && stderr(&moved).contains("trigger \"reader\""), "{}", stderr(&moved));
}

#[test]
fn runs_are_moved_with_their_notes_and_nothing_is_left() {
    let place = with_earlier(&["old-1", "old-2"]);
    let notes = place.path().join("convoke.db-scratchpad");
    drop(convoke_tools::scratchpad::Scratchpad::open(&notes).unwrap());
    rusqlite::Connection::open(&notes)
        .unwrap()
        .execute("INSERT INTO notes VALUES ('old-1', 'a', 'kept', 'main', 1)", [])
        .unwrap();
    let moved = at_home(&place, &[], &["store", "move"]);
    assert!(moved.status.success() && stdout(&moved).starts_with("2 runs moved"), "{}", stderr(&moved));
    let names: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["Agentfile"]);
    assert_eq!(listed(&place, &[]), ["old-2", "old-1"]);
    let notes = rusqlite::Connection::open(place.file().with_file_name("convoke.db-scratchpad")).unwrap();
    let kept: String = notes.query_row("SELECT value FROM notes", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "kept");
    let again = at_home(&place, &[], &["store", "move"]);
    assert_eq!(again.status.code(), Some(3), "{}", stderr(&again));
}

#[test]
fn a_move_that_was_killed_is_finished_by_the_next_with_nothing_twice() {
    let place = with_earlier(&["old-1"]);
    // The copy was in its place, and the original still there.
    std::fs::copy(earlier(&place), place.file()).unwrap();
    let ran = run(&place, &["--id", "new-1"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let moved = at_home(&place, &[], &["store", "move"]);
    assert!(moved.status.success(), "{}", stderr(&moved));
    assert!(!earlier(&place).exists());
    assert_eq!(listed(&place, &[]).len(), 2);
}

#[test]
fn two_stores_with_runs_are_not_made_one() {
    let place = with_earlier(&["old-1"]);
    assert!(run(&place, &["--id", "new-1"]).status.success());
    let refused = at_home(&place, &[], &["store", "move"]);
    let told = stderr(&refused);
    assert!(
        !refused.status.success() && told.contains("both have runs") && told.contains("--to PATH"),
        "{told}"
    );
    assert!(earlier(&place).exists());
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("old.db").display().to_string();
    let moved = at_home(&place, &[], &["store", "move", "--to", &other]);
    assert!(moved.status.success(), "{}", stderr(&moved));
    assert_eq!(
        (listed(&place, &[]), listed(&place, &["--store", &other])),
        (vec!["new-1".to_owned()], vec!["old-1".to_owned()])
    );
}

#[test]
fn a_store_that_is_open_is_not_moved() {
    let place = with_earlier(&["old-1"]);
    let open = SqliteStore::open(earlier(&place)).unwrap();
    // It is open once something has been asked.
    wait(convoke_core::Store::runs(&open, &Default::default())).unwrap();
    let refused = at_home(&place, &[], &["store", "move"]);
    assert!(!refused.status.success() && stderr(&refused).contains("open"), "{}", stderr(&refused));
    drop(open);
    assert!(at_home(&place, &[], &["store", "move"]).status.success());
}

#[test]
fn a_folder_that_was_moved_has_its_runs_again_when_they_are_named() {
    let place = Place::empty();
    place.write("before/Agentfile", AGENTFILE);
    place.write("before/.git/HEAD", "");
    let inside = |folder: &str, arguments: &[&str]| {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("convoke");
        command.current_dir(place.path().join(folder)).env_clear().env("XDG_DATA_HOME", place.data());
        command.args(arguments).output().unwrap()
    };
    assert!(inside("before", &["run", "-m", "scripted/rehearsal", "--id", "n-1"]).status.success());
    std::fs::rename(place.path().join("before"), place.path().join("after")).unwrap();
    let missing = inside("after", &["show", "n-1"]);
    assert!(stderr(&missing).contains("`convoke store list`"), "{}", stderr(&missing));
    let projects: Vec<Value> =
        serde_json::from_str(&stdout(&inside("after", &["store", "list", "--json"]))).unwrap();
    assert_eq!((projects.len(), &projects[0]["exists"]), (1, &Value::Bool(false)));
    let store = projects[0]["store"].as_str().unwrap();
    let moved = inside("after", &["store", "move", "--from", store]);
    assert!(moved.status.success(), "{}", stderr(&moved));
    assert!(inside("after", &["show", "n-1"]).status.success());
    let projects: Vec<Value> =
        serde_json::from_str(&stdout(&inside("after", &["store", "list", "--json"]))).unwrap();
    assert_eq!((projects.len(), &projects[0]["exists"]), (1, &Value::Bool(true)));
}

#[test]
fn whoever_has_runs_of_an_earlier_version_and_new_ones_is_led_to_both() {
    let place = with_earlier(&["old-1"]);
    let ran = at_home(&place, &[], &["run", "-m", "scripted/rehearsal"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("earlier versions kept runs in"), "{}", stderr(&ran));
    assert!(stderr(&at_home(&place, &[], &["questions"])).contains("runs of earlier versions as well"));
    // Where there are both, they are not made one, and the way that is named works.
    let to = format!("{}/moved.db", place.data());
    let done = at_home(&place, &[], &["store", "move", "--to", &to]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(listed(&place, &["--store", &to]), ["old-1"]);
    // And so are those that are kept where they belong.
    let third = format!("{to}-3");
    let done = at_home(&place, &[], &["store", "move", "--to", &third]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(listed(&place, &["--store", &third]).len(), 1);
}
