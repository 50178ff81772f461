//! `convoke mcp add` and `convoke mcp trust`: what they write, and what they leave as it is.

use crate::place::{Place, at_home, stderr, stdout};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../convoke-mcp/tests/fake_server.py");

#[test]
fn a_server_is_added_and_comments_stay() {
    let place = Place::empty();
    place.write(
        "convoke.toml",
        "# ours\nmodel = \"scripted/rehearsal\" # for now\n\n[mcp.servers.old]\ncommand = \"true\"\n",
    );
    let added = at_home(
        &place,
        &[],
        &["mcp", "add", "files", "--env", "TOKEN=${THE_TOKEN}", "--", "npx", "-y", "server"],
    );
    assert!(added.status.success(), "{}", stderr(&added));
    assert!(stderr(&added).contains("`convoke mcp trust files`"), "{}", stderr(&added));
    insta::assert_snapshot!(place.read("convoke.toml"));
    let again = at_home(&place, &[], &["mcp", "add", "files", "--", "x"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("has a server `files` already"), "{}", stderr(&again));
    let shown = at_home(&place, &[], &["config", "show", "mcp"]);
    assert!(shown.status.success() && stdout(&shown).contains("mcp.servers.files"), "{shown:?}");
}

#[test]
fn a_server_elsewhere_goes_into_the_users_own_file_if_asked_for() {
    let place = Place::empty();
    let added = at_home(
        &place,
        &[],
        &[
            "mcp",
            "add",
            "far",
            "--user",
            "--url",
            "https://mcp.example/x",
            "--header",
            "authorization=Bearer ${T}",
        ],
    );
    assert!(added.status.success(), "{}", stderr(&added));
    assert!(!place.path().join("convoke.toml").exists());
    insta::assert_snapshot!(place.read(".config/convoke/convoke.toml"));
}

#[test]
fn what_makes_no_sense_is_not_written() {
    let place = Place::empty();
    for (wrong, exit) in [
        (&["mcp", "add", "a.b", "--", "x"][..], 2),
        (&["mcp", "add", "a", "--url", "example.com"], 2),
        (&["mcp", "add", "a"], 2),
        (&["mcp", "add", "a", "--env", "nothing", "--", "x"], 2),
        (&["mcp", "add", "a", "--url", "https://a.example", "--", "x"], 2),
        (&["mcp", "trust", "a"], 3),
    ] {
        let output = at_home(&place, &[], wrong);
        assert_eq!(output.status.code(), Some(exit), "{wrong:?}: {}", stderr(&output));
    }
    assert!(!place.path().join("convoke.toml").exists());
}

#[test]
fn a_server_is_trusted_by_its_name_until_it_is_changed() {
    let place = Place::empty();
    let server = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SCRIPT}', \"--only\", \"echo\"]\nprotocol = \"initialize\"\n\
         sandbox = false\n"
    );
    place.write("convoke.toml", &server);
    place.write(".config/convoke/convoke.toml", "# mine\n[mcp]\ntrusted = [\"other:1\"] # by hand\n");
    place.write("below/file", "");
    let listed = at_home(&place, &[], &["mcp", "list"]);
    assert!(stderr(&listed).contains("`convoke mcp trust fake`"), "{}", stderr(&listed));
    let trusted = at_home(&place, &[], &["mcp", "trust", "fake"]);
    assert!(trusted.status.success(), "{}", stderr(&trusted));
    assert!(stderr(&trusted).contains(".config/convoke/convoke.toml"), "{}", stderr(&trusted));
    let own = place.read(".config/convoke/convoke.toml");
    assert!(
        own.starts_with("# mine\n[mcp]\ntrusted = [\"other:1\", \"fake:") && own.contains("# by hand"),
        "{own}"
    );
    let called = at_home(&place, &[], &["mcp", "call", "fake", "echo", r#"{"text": "hello"}"#]);
    assert!(stdout(&called).contains("hello"), "{}", stderr(&called));
    let home = place.path().canonicalize().unwrap().display().to_string();
    let below = assert_cmd::cargo::cargo_bin_cmd!("convoke")
        .current_dir(place.path().join("below"))
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .envs([("HOME", &*home), ("PATH", &*std::env::var("PATH").unwrap())])
        .args(["mcp", "list"])
        .output()
        .unwrap();
    assert!(stdout(&below).contains("ready"), "it is the same server from a folder below: {below:?}");
    place.write("convoke.toml", format!("{server}env = {{ X = \"1\" }}\n"));
    let changed = at_home(&place, &[], &["mcp", "call", "fake", "echo"]);
    assert_eq!(changed.status.code(), Some(1), "what was changed is not what was trusted");
}

#[test]
fn a_server_that_the_sandbox_keeps_from_its_files_is_said_to_run_there() {
    let place = Place::empty();
    place.write("project/convoke.toml", "");
    place.write("tools/server.py", std::fs::read_to_string(SCRIPT).unwrap());
    let script = place.path().join("tools/server.py").canonicalize().unwrap();
    let project = |arguments: &[&str]| {
        let home = place.path().canonicalize().unwrap();
        assert_cmd::cargo::cargo_bin_cmd!("convoke")
            .current_dir(place.path().join("project"))
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .envs([("HOME", &*home.display().to_string()), ("PATH", &*std::env::var("PATH").unwrap())])
            .args(arguments)
            .output()
            .unwrap()
    };
    let script = script.to_str().unwrap();
    assert!(project(&["mcp", "add", "fake", "--", "python3", script]).status.success());
    assert!(project(&["mcp", "trust", "fake"]).status.success());
    let listed = project(&["mcp", "list"]);
    // Where there is no sandbox for servers, it is simply there.
    if !listed.status.success() {
        let told = stderr(&listed);
        assert!(
            told.contains("it runs in the sandbox") && told.contains("`sandbox = false` in its section"),
            "{told}"
        );
    }
    place.write("project/convoke.toml", place.read("project/convoke.toml") + "sandbox = false\n");
    assert!(project(&["mcp", "trust", "fake"]).status.success());
    let listed = project(&["mcp", "list"]);
    assert!(listed.status.success(), "what is said to help helps: {}", stderr(&listed));
}

#[test]
fn a_server_that_is_not_there_is_a_failure_of_the_list() {
    let place = Place::empty();
    place.write(
        ".config/convoke/convoke.toml",
        "[mcp.servers.gone]\ncommand = \"there-is-no-such-command\"\n",
    );
    for arguments in [&["mcp", "list"][..], &["mcp", "list", "--json"]] {
        let output = at_home(&place, &[], arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stdout(&output).contains("gone"), "{output:?}");
    }
}

#[test]
fn a_header_for_a_command_is_refused_as_a_variable_for_an_address_is() {
    let place = Place::empty();
    for words in [&["--header", "a=b", "--", "x"][..], &["--url", "https://x.example/", "--env", "a=b"]] {
        let output = place.convoke(&[&["mcp", "add", "v"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
    }
    assert!(!place.path().join("convoke.toml").exists());
}
