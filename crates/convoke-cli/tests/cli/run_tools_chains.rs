//! What commands of `convoke run` can read besides the workspace: tool chains of the user, and what the user's policy opens.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::{Place, stderr, stdout};
use crate::run_tools::{call, calling};
use crate::workshop::document;

const SECRET: &str = "s-e-c-r-e-t";

/// A home with a tool chain on the path, one that is not, and what is nobody's business.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for (file, text) in [
            ("chain/bin/tool", "#!/bin/sh\necho the tool works\n"),
            ("sdk/bin/other", "#!/bin/sh\necho the other works\n"),
            ("sdk/.env", SECRET),
            (".cargo/bin/cargo", "#!/bin/sh\necho cargo works\n"),
            (".cargo/credentials.toml", SECRET),
            (".ssh/id_ed25519", SECRET),
        ] {
            home.write(file, text);
            std::fs::set_permissions(home.0.path().join(file), PermissionsExt::from_mode(0o755)).unwrap();
        }
        home
    }

    fn at(&self, path: &str) -> String {
        self.0.path().canonicalize().unwrap().join(path).display().to_string()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// `convoke`, for the one who lives here.
    fn convoke(&self, place: &Place, arguments: &[&str]) -> Output {
        let path = format!("{}:{}:/usr/bin:/bin", self.at("chain/bin"), self.at(".cargo/bin"));
        place.convoke_with(arguments, &[("COLUMNS", "80"), ("HOME", &self.at("")), ("PATH", &path)])
    }
}

/// A place in which an agent gives this command.
fn giving(command: &str) -> Place {
    calling(&[call("bash", json!({"command": command}))])
}

/// What the first command gave to the model.
fn output_of_bash(value: &Value) -> Option<&str> {
    let within = |value| output_of_bash(value);
    match value {
        Value::Object(object) if object.get("tool").is_some_and(|tool| tool == "bash") => {
            object.get("result")?.get("content")?.as_str()
        }
        Value::Object(object) => object.values().find_map(within),
        Value::Array(all) => all.iter().find_map(within),
        _ => None,
    }
}

const RUN: [&str; 5] = ["run", "-m", "scripted/script.toml", "--id", "work-1"];

/// What the command gave; what else the user was told.
fn given(home: &Home, place: &Place, more: &[&str]) -> (String, String) {
    let output = home.convoke(place, &[&RUN[..], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = document(&place.convoke(&["replay", "work-1", "--json"]));
    let result = output_of_bash(&shown).expect("the command was given").to_owned();
    assert!(!result.contains(SECRET), "the secret is out: {result}");
    (result, stderr(&output))
}

#[test]
fn commands_find_the_tool_chains_of_the_user_and_nothing_beside_them() {
    let home = Home::new();
    let place = giving(&format!(
        "tool; cargo; {}; cat {} {} {} 2>&1",
        home.at("sdk/bin/other"),
        home.at(".cargo/credentials.toml"),
        home.at(".ssh/id_ed25519"),
        home.at("sdk/.env"),
    ));
    let (result, _) = given(&home, &place, &[]);
    assert!(result.contains("the tool works") && result.contains("cargo works"), "{result}");
    assert!(!result.contains("the other works"), "{result}");
    let doctor = stdout(&home.convoke(&place, &["doctor", "-m", "scripted/script.toml"]));
    assert!(doctor.contains("✓ tool chains   cargo, ~/chain/bin, and those of the system"), "{doctor}");
}

#[test]
fn only_a_policy_of_the_users_own_opens_folders() {
    let opening = "version = 1\nreadable = [\"~/sdk\", \"~/gone\"]\n";
    let home = Home::new();
    let command = format!("{}; cat {}", home.at("sdk/bin/other"), home.at("sdk/.env"));
    // The folder's opens nothing, with a policy of the user's above it or without; that is said.
    for own in [None, Some("version = 1\n")] {
        if let Some(own) = own {
            home.write(".config/convoke/policy.toml", own);
        }
        let place = giving(&command);
        place.write("policy.toml", opening);
        let (result, told) = given(&home, &place, &[]);
        assert!(!result.contains("the other works"), "{result}");
        assert!(told.contains("the folder's policy opens more folders"), "{told}");
        let shown = home.convoke(&place, &["policy", "show"]);
        assert!(stdout(&shown).contains("readable") && stdout(&shown).contains("~/sdk, ~/gone"), "{shown:?}");
        assert!(stderr(&shown).contains("the folder's policy opens more folders"), "{shown:?}");
        assert!(home.convoke(&place, &["policy", "check"]).status.success());
        let explained = home.convoke(&place, &["policy", "explain", "ls"]);
        assert!(stdout(&explained).starts_with("allow"), "{explained:?}");
    }
    // The same file does when it is named, and so does the user's own. What is not there is said.
    let place = giving(&command);
    place.write("policy.toml", opening);
    let named = given(&home, &place, &["--policy", "policy.toml"]);
    home.write(".config/convoke/policy.toml", opening);
    let own = given(&home, &giving(&command), &[]);
    for (result, told) in [named, own] {
        assert!(result.contains("the other works"), "{result}");
        assert!(told.contains("gone is not opened to commands: it is not there"), "{told}");
        assert!(!told.contains("the folder's policy"), "{told}");
    }
}

#[test]
fn what_no_command_may_read_cannot_be_opened() {
    let home = Home::new();
    let place = giving("true");
    home.write("link/x", "");
    std::os::unix::fs::symlink(home.at(""), home.at("link/home")).unwrap();
    place.write("store/x", "");
    for (folder, why) in [
        ("~/.config/convoke".to_owned(), "Convoke itself uses"),
        ("~/.config".to_owned(), "Convoke itself uses"),
        ("~/.ssh".to_owned(), "protected"),
        ("~/link/home".to_owned(), "the whole home"),
        (place.path().canonicalize().unwrap().display().to_string(), "in the workspace"),
        ("/proc".to_owned(), "processes"),
    ] {
        home.write(".config/convoke/policy.toml", &format!("version = 1\nreadable = ['{folder}']\n"));
        let output = home.convoke(&place, &["run", "-m", "scripted/script.toml"]);
        let told = stderr(&output);
        assert!(told.contains(why), "{folder}: {told}");
        let is_open_anyway = why == "in the workspace";
        assert_eq!(output.status.success(), is_open_anyway, "{folder}: {told}");
        assert!(is_open_anyway || told.contains("policy.toml:2"), "{folder}: {told}");
    }
    // The store may be somewhere else.
    let elsewhere = tempfile::tempdir().unwrap();
    let store = elsewhere.path().join("runs.sqlite");
    let folder = elsewhere.path().display();
    home.write(".config/convoke/policy.toml", &format!("version = 1\nreadable = ['{folder}']\n"));
    let store = store.display().to_string();
    let output = home.convoke(&place, &["run", "-m", "scripted/script.toml", "--store", &store]);
    assert!(stderr(&output).contains("runs.sqlite is there, which Convoke itself uses"), "{output:?}");
    assert!(!output.status.success());
    // What the text alone shows is found when it is checked.
    home.write(".config/convoke/policy.toml", "version = 1\nreadable = [\"~\"]\n");
    let checked = home.convoke(&place, &["policy", "check"]);
    assert!(stderr(&checked).contains("your home is not opened as a whole"), "{checked:?}");
    assert!(!checked.status.success());
}
