//! What goes wrong, and what the user is told.

use assert_cmd::cargo::cargo_bin_cmd;
use insta::assert_snapshot;

use crate::examples::{forked, letter, refund};
use crate::place::{Place, stderr, stdout};
use crate::workshop::{RUN, unwatched, workshop};

#[test]
fn a_missing_store_is_not_made() {
    let place = Place::empty();
    assert_snapshot!("store_missing", place.seen(&["runs"]));
    assert_snapshot!("store_missing_named", place.seen(&["--store", "elsewhere/runs.db", "show", "last"]));
    assert_snapshot!("store_missing_env", place.seen_with(&["runs"], &[("CONVOKE_STORE", "mine.db")]));
    assert!(!place.file().exists());
}

#[test]
fn variables_that_are_set_to_nothing_count_as_not_set() {
    let place = Place::with([letter()]);
    for command in [&["runs"][..], &["show", "last"], &["policy", "check"]] {
        let without = place.seen(command);
        assert!(without.contains("--- exit 0"), "{without}");
        let empty = [("COLUMNS", "80"), ("CONVOKE_STORE", ""), ("CONVOKE_CONFIG", "")];
        assert_eq!(place.seen_with(command, &empty), without);
    }
    let named = place.seen_with(&["--store", "", "runs"], &[]);
    assert!(named.contains("--store <PATH>") && named.contains("--- exit 2"), "{named}");
}

#[cfg(unix)]
#[test]
fn no_file_is_read_without_an_end() {
    let place = Place::empty();
    place.write("Agentfile", "NAME n\nGOAL g \"x\"\nRUN r USING g\n");
    std::os::unix::fs::symlink("/dev/zero", place.path().join("endless.toml")).unwrap();
    for arguments in [
        &["policy", "import", "/dev/zero"][..],
        &["config", "import", "/dev/zero"],
        &["eval", "Agentfile", "x.yaml", "--compare", "/dev/zero"],
        &["run", "-m", "scripted/endless.toml"],
    ] {
        let output = place.convoke(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains("MiB, or no end"), "{arguments:?}: {}", stderr(&output));
    }
    let mut chat = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"));
    chat.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data());
    chat.args(["chat", "-m", "scripted/rehearsal"]).stdin(std::fs::File::open("/dev/zero").unwrap());
    let output = chat.output().unwrap();
    assert!(stderr(&output).contains("more than 8 MiB, or no end"), "{}", stderr(&output));
}

#[test]
fn a_store_that_was_never_made_has_no_runs_and_is_made_where_it_is_written() {
    let place = Place::empty();
    std::fs::write(place.file(), b"").unwrap();
    assert_snapshot!("store_empty", place.seen(&["runs"]));
    let shown = place.convoke(&["show", "last"]);
    assert_eq!(shown.status.code(), Some(3), "{}", stderr(&shown));
    assert!(stderr(&shown).contains("no runs"), "{}", stderr(&shown));
    assert_eq!(std::fs::read(place.file()).unwrap(), b"", "reading makes nothing");
    let resumed = place.convoke(&["resume", "last"]);
    assert!(
        stderr(&resumed).contains("no runs") && !stderr(&resumed).contains("empty"),
        "{}",
        stderr(&resumed)
    );
    assert!(std::fs::read(place.file()).unwrap().starts_with(b"SQLite format 3"));
    assert!(place.convoke(&["runs"]).status.success());
}

#[cfg(unix)]
#[test]
fn a_store_that_cannot_be_opened_for_lack_of_open_files_says_that() {
    let place = Place::with([]);
    let mut said = false;
    for limit in 8..48 {
        let script = format!("ulimit -n {limit}; exec \"$0\" runs");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .arg(assert_cmd::cargo::cargo_bin!("convoke"))
            .current_dir(place.path())
            .env("XDG_DATA_HOME", place.data())
            .output()
            .unwrap();
        let told = stderr(&output);
        assert!(!told.contains("may write there"), "with {limit}: {told}");
        said |= told.contains("cannot be opened: Too many open files") && told.contains("ulimit -n");
    }
    assert!(said);
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_words() {
    let place = workshop(&unwatched());
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(assert_cmd::cargo::cargo_bin!("convoke"))
        .args(RUN)
        .current_dir(place.path())
        .env("XDG_DATA_HOME", place.data())
        .output()
        .unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("how large files may be (`ulimit -f`)"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_of_settings_is_refused_and_not_waited_for() {
    for file in ["convoke.toml", "policy.toml"] {
        let place = workshop(&unwatched());
        let pipe = place.path().join(file);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut command = cargo_bin_cmd!("convoke");
        let command =
            command.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data()).args(RUN);
        let output = command.timeout(std::time::Duration::from_secs(60)).output().unwrap();
        let told = stderr(&output);
        assert!(told.contains(file) && told.contains("it is not a regular file"), "{told}");
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_an_agentfile_is_refused_and_those_of_a_shell_are_read() {
    let place = workshop(&unwatched());
    let pipe = place.path().join("pipe.agent");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in ["run", "validate", "inspect", "fmt"] {
        let mut convoke = cargo_bin_cmd!("convoke");
        let convoke = convoke
            .current_dir(place.path())
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .args([command, "pipe.agent"]);
        let output = convoke.timeout(std::time::Duration::from_secs(60)).output().unwrap();
        let told = stderr(&output);
        assert!(told.contains("pipe.agent is a pipe, not a file"), "{command}: {told}");
        assert_eq!(output.status.code(), Some(1), "{told}");
    }
    for piped in ["validate <(cat letter.agent)", "validate /dev/stdin < <(cat letter.agent)"] {
        let output = std::process::Command::new("bash")
            .args(["-c", &format!("exec \"$0\" {piped}")])
            .arg(assert_cmd::cargo::cargo_bin!("convoke"))
            .current_dir(place.path())
            .env("XDG_DATA_HOME", place.data())
            .output()
            .unwrap();
        assert!(output.status.success(), "{piped}: {}", stderr(&output));
    }
}

#[test]
fn what_is_no_store_is_said_so_and_not_touched() {
    let place = Place::empty();
    std::fs::write(place.file(), b"Dear diary, today I was mistaken for a database.".repeat(9)).unwrap();
    assert_snapshot!("store_corrupt", place.seen(&["runs"]));
    assert!(std::fs::read(place.file()).unwrap().starts_with(b"Dear diary"));
    assert_snapshot!("store_folder", place.seen(&["--store", ".", "runs"]));
}

#[test]
fn where_no_store_can_be_made_another_place_is_to_be_named() {
    let place = Place::empty();
    place.write("Agentfile", "NAME x\nGOAL a \"Say\"\nRUN main USING a\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("runs.db").display().to_string();
    let output = place.convoke(&["--store", &below, "run", "-m", "scripted/rehearsal"]);
    let told = crate::place::stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("runs.db") && told.contains("hint: name the file with `--store PATH`"), "{told}");
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let place = Place::with([letter()]);
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    connection.pragma_query(None, "wal_checkpoint", |_| Ok(())).unwrap();
    drop(connection);
    let seen = place.seen(&["runs"]);
    assert!(seen.contains("schema version 999") && seen.ends_with("--- exit 4\n"), "{seen}");
}

#[test]
fn a_run_that_is_not_there_is_not_found() {
    let place = Place::with([letter()]);
    assert_snapshot!("run_unknown", place.seen(&["show", "poem"]));
    assert_snapshot!("run_impossible", place.seen(&["replay", "no/such\u{1b}[31m"]));
    assert_snapshot!("run_nothing", place.seen(&["show", ""]));
    assert_snapshot!("run_no_last", Place::with([]).seen(&["show", "last"]));
}

#[test]
fn an_ambiguous_id_lists_the_candidates_and_a_whole_id_is_never_ambiguous() {
    let place = Place::with([letter(), forked(), refund()]);
    assert_snapshot!(place.seen(&["show", "let"]));
    assert_eq!(place.convoke(&["show", "letter-1"]).status.code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn results_that_cannot_be_written_are_a_failure() {
    let place = Place::with([letter()]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .args(["runs", "--store"])
        .arg(place.file())
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint.starts_with("error: standard output cannot be written: No space left"), "{complaint}");
}

#[test]
fn help_documents_the_exit_codes_and_wrong_command_lines_end_with_2() {
    let place = Place::empty();
    assert_snapshot!("help", place.seen(&["--help"]));
    assert_snapshot!("help_fork", place.seen(&["fork", "--help"]));
    assert_snapshot!("help_replay", place.seen(&["replay", "--help"]));
    assert_snapshot!("help_runs", place.seen(&["runs", "--help"]));
    assert_eq!(place.convoke(&["shwo"]).status.code(), Some(2));
    assert_eq!(place.convoke(&[]).status.code(), Some(2));
    assert_eq!(place.convoke(&["--version"]).status.code(), Some(0));
}

#[test]
fn a_run_cannot_be_called_what_means_the_newest() {
    let place = Place::with([crate::examples::letter()]);
    for command in
        [&["run", "x.agent", "--id", "last"][..], &["fork", "letter-1", "--at", "2", "--id", "last"]]
    {
        let output = place.convoke(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("`last` means the newest run"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_cannot_be_called_like_an_option() {
    let place = Place::with([crate::examples::letter()]);
    for command in [&["run", "x.agent", "--id=-x"][..], &["fork", "letter-1", "--at", "2", "--id=-x"]] {
        let output = place.convoke(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("choose another id"), "{}", stderr(&output));
    }
}

#[test]
fn a_wrong_command_line_has_its_tips_as_hints_in_json() {
    let place = Place::empty();
    for (command, hint) in [
        (&["vlidate", "--json"][..], "validate"),
        (&["run", "--modle", "x", "--json"], "--model"),
        (&["run", "--modle", "x", "--output", "json"], "--model"),
        (&["run", "--output=ndjson", "--modle", "x"], "--model"),
    ] {
        let output = place.convoke(command);
        let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let hints = told["error"]["hints"].to_string();
        assert!(hints.contains(hint), "{told:#}");
        assert_eq!(told["error"]["exit_code"], 2);
        let is_line = command.contains(&"--output=ndjson");
        assert_eq!((told["type"] == "error", stdout(&output).lines().count() == 1), (is_line, is_line));
    }
}

#[test]
fn what_is_said_twice_or_means_nothing_is_refused() {
    let place = Place::empty();
    place.write("b.agent", "NAME b\nINPUT x\nTOOLS none\nGOAL g \"Say $x\"\nRUN m USING g\n");
    place.write("twice.json", r#"{"x": "1", "x": "2"}"#);
    for (words, told) in [
        (&["-i", "x=1", "-i", "x=2"][..], "x is given twice"),
        (&["--inputs", "twice.json"], "x is given twice"),
        (&["-i", "x=1", "--budget", "1 calls, 2 calls"], "calls are limited twice"),
        (&["-i", "x=1", "--timeout", "0s"], "in no time nothing can be done"),
        (&["-i", "x=1", "--budget", "0 calls"], "a limit of 0 calls lets nothing be done"),
    ] {
        let output = place.convoke(&[&["run", "b.agent", "-m", "scripted/rehearsal"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}

#[test]
fn a_misspelt_file_is_answered_with_the_one_that_is_there() {
    let place = Place::empty();
    place.write("plans/daily.agent", "NAME daily\nGOAL a \"A\"\nRUN main USING a\n");
    let told = |file: &str| stderr(&place.convoke(&["run", file]));
    assert!(
        told("plans/dialy.agent").contains("did you mean `plans/daily.agent`?"),
        "{}",
        told("plans/dialy.agent")
    );
    assert!(told("plans/other").contains("check the path"), "{}", told("plans/other"));
}

#[test]
fn a_hint_can_be_followed() {
    let place = Place::empty();
    place.write("bad.toml", "[[rule]]\nerror = { status = 401, message = \"no such key\" }\n");
    place.write("cut.toml", "[[rule]]\nreply = \"Half an ans\"\nfinish = \"length\"\n");
    place.write("s.agent", "NAME s\nINPUT key SECRET\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    let models = place.path().join("models").display().to_string();
    for (command, told) in [
        (&["model", "rm", "nosuch"][..], "`convoke model list`"),
        (
            &["run", "s.agent", "-i", "key=hunter2", "--id", "s-1", "-m", "scripted/bad.toml"],
            "`convoke resume s-1 -i key=VALUE`",
        ),
        (
            &["run", "b.agent", "--id", "b-1", "-m", "scripted/cut.toml"],
            "`convoke resume b-1` asks for that reply anew",
        ),
    ] {
        let output = place.convoke_with(command, &[("CONVOKE_MODELS", &models)]);
        assert!(stderr(&output).contains(told), "{command:?}: {}", stderr(&output));
    }
    let forgotten = place.convoke(&["chat", "--forget", "-m", "scripted/bad.toml", "hi"]);
    assert!(!stderr(&forgotten).contains("run "), "{}", stderr(&forgotten));
    let entry = place.convoke_with(&["model", "info", "qwen2.5-coder-1.5b"], &[("CONVOKE_MODELS", &models)]);
    assert!(stdout(&entry).contains("`convoke model pull qwen2.5-coder-1.5b`"), "{}", stdout(&entry));
}

#[test]
fn too_little_for_the_next_call_is_not_called_used_up() {
    let place = Place::empty();
    place.write("b.agent", "NAME b\nTOOLS none\nGOAL g \"Say hello\"\nRUN m USING g\n");
    place.write("good.toml", "price = { input = 3.0, output = 15.0 }\n[[rule]]\nreply = \"Hello.\"\n");
    let output = place.convoke(&["run", "b.agent", "-m", "scripted/good.toml", "--budget", "0.0001 usd"]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert!(
        stderr(&output)
            .contains("too little of the budget of the run is left for the next call: $0.0001 of $0.0001"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_run_that_nobody_works_on_is_idle_also_where_several_are_listed() {
    let mut other = crate::examples::crashed();
    other.id = "payment-8".parse().unwrap();
    let place = Place::with([crate::examples::crashed(), other]);
    let output = place.convoke(&["show", "payment"]);
    assert!(
        stderr(&output).contains(", idle, ") && !stderr(&output).contains("running"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_that_is_not_there_leaves_what_is_said_of_the_others() {
    let place = Place::empty();
    place.write("good.agent", "NAME p\nGOAL a \"A\" TOOLS none\nRUN main USING a\n");
    let output = place.convoke(&["validate", "good.agent", "nope.agent", "good.agent", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let valid = told.as_array().unwrap().iter().map(|file| file["valid"].as_bool().unwrap());
    assert_eq!(valid.collect::<Vec<_>>(), [true, false, true]);
    assert!(told[1]["file"] == "nope.agent" && told[1]["error"].is_string(), "{told}");
}

#[test]
fn a_model_without_an_address_says_where_to_write_it() {
    let output = Place::empty().convoke(&["chat", "-m", "compatible/x", "hello"]);
    assert!(stderr(&output).contains("services.compatible.base_url in convoke.toml"), "{}", stderr(&output));
}
