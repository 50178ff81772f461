//! Tools beyond the workspace in `convoke run`: of MCP servers, for the web, for notes and memories; and runs that go on with
//! the tools they began with.

use crate::place::{Place, at_home, stderr, stdout};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../convoke-mcp/tests/fake_server.py");

/// A goal, and what its model says.
fn place(script: &str) -> Place {
    let place = Place::empty();
    place.write("Agentfile", "NAME work\nGOAL work \"Work\"\nRUN main USING work\n");
    place.write("script.toml", script);
    place
}

const RUN: [&str; 5] = ["run", "-m", "scripted/script.toml", "--id", "work-1"];

#[test]
fn tools_of_mcp_servers_are_asked_about_called_and_said_to_be_missing() {
    let place = place(
        r#"
[[rule]]
when = { tool_result_contains = "hello from a run" }
reply = "Echoed."

[[rule]]
reply = { tool_calls = [{ name = "mcp_fake_echo", arguments = { text = "hello from a run" } }] }
"#,
    );
    let servers = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SERVER}', \"--only\", \"echo\"]\nprotocol = \"initialize\"\n\
         [mcp.servers.gone]\ncommand = \"there-is-no-such-command\"\n"
    );
    place.write(".config/convoke/convoke.toml", servers);
    let asked = at_home(&place, &[], &RUN);
    let told = stderr(&asked);
    assert_eq!(asked.status.code(), Some(5), "{told}");
    assert!(told.contains("gone"), "what is not there is said: {told}");
    assert!(told.contains("may") || told.contains("May"), "{told}");
    let done = at_home(&place, &[], &["answer", "work-1", "--approve", "--resume"]);
    assert_eq!(stdout(&done), "Echoed.\n", "{}", stderr(&done));
    // The user's policy may allow it for good, the folder's may not.
    let allowing = "version = 1\n[mcp]\nallow = [\"fake:echo\"]\n";
    place.write("policy.toml", allowing);
    let asked = at_home(&place, &[], &["run", "-m", "scripted/script.toml"]);
    assert_eq!(asked.status.code(), Some(5), "{}", stderr(&asked));
    place.write(".config/convoke/policy.toml", allowing);
    let done = at_home(&place, &[], &["run", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&done), "Echoed.\n", "{}", stderr(&done));
    let doctor = stdout(&at_home(&place, &[], &["doctor", "-m", "scripted/script.toml"]));
    assert!(doctor.contains("✓ mcp fake") && doctor.contains("✗ mcp gone"), "{doctor}");
}

#[test]
fn what_an_mcp_server_was_given_is_in_no_record_if_its_tool_gives_it_back() {
    let place = place(
        r#"
[[rule]]
when = { tool_result_of = "mcp_fake_env" }
reply = "Looked."

[[rule]]
reply = { tool_calls = [{ name = "mcp_fake_env", arguments = { name = "MYTOK" } }] }
"#,
    );
    let servers = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SERVER}', \"--only\", \"env\"]\nprotocol = \"initialize\"\n\
         env = {{ MYTOK = \"t-o-k-e-n\" }}\n"
    );
    place.write(".config/convoke/convoke.toml", servers);
    place.write(".config/convoke/policy.toml", "version = 1\n[mcp]\nallow = [\"fake:env\"]\n");
    let done = at_home(&place, &[], &RUN);
    assert_eq!(stdout(&done), "Looked.\n", "{}", stderr(&done));
    for form in [&["--json"][..], &["--html", "-"]] {
        let told = stdout(&at_home(&place, &[], &[&["replay", "work-1"], form].concat()));
        assert!(told.contains("(hidden)") && !told.contains("t-o-k-e-n"), "{told}");
    }
    let store = std::fs::read(place.file()).unwrap();
    assert!(!String::from_utf8_lossy(&store).contains("t-o-k-e-n"));
}

#[test]
fn the_web_is_out_of_reach_unless_a_policy_opens_it_and_then_only_the_public_part() {
    let script = r#"
[[rule]]
when = { tool_result_of = "web_fetch" }
reply = "Tried."

[[rule]]
when = { offers_tool = "web_fetch" }
reply = { tool_calls = [{ name = "web_fetch", arguments = { url = "http://127.0.0.1:8080/" } }] }

[[rule]]
reply = "There is no web."
"#;
    let place = place(script);
    let output = at_home(&place, &[], &RUN);
    assert_eq!(stdout(&output), "There is no web.\n", "{}", stderr(&output));
    let kept: Vec<_> = place
        .kept()
        .into_iter()
        .filter(|name| name.ends_with("scratchpad") || name.ends_with("memory.db"))
        .collect();
    assert_eq!(kept, Vec::<String>::new(), "what nobody needs is not made");
    // A project cannot open it for itself: only somebody who names its policy, or has one that says so, can.
    let opening = "version = 1\n[tools.web_fetch]\ndecision = \"allow\"\n";
    place.write("policy.toml", opening);
    let output = at_home(&place, &[], &["run", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&output), "There is no web.\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot let through more than the defaults do"), "{}", stderr(&output));
    let tried = |more: &[&str]| {
        let run = ["run", "-m", "scripted/script.toml", "--output", "ndjson"];
        let output = at_home(&place, &[], &[&run, more].concat());
        let told = stdout(&output);
        assert!(told.contains("Tried.") && told.contains("\"is_error\":true"), "{told}");
        assert!(!stderr(&output).contains("the folder's policy"), "{}", stderr(&output));
    };
    tried(&["--policy", "policy.toml"]);
    place.write(".config/convoke/policy.toml", opening);
    tried(&[]);
}

#[test]
fn notes_and_memories_have_a_mark_in_the_place_of_a_secret_and_leave_nothing_when_they_are_deleted() {
    let script = r#"
[[rule]]
when = { tool_result_of = "scratchpad_read" }
reply = "The key is s-e-c-r-e-t."

[[rule]]
when = { tool_result_of = "scratchpad_write" }
reply = { tool_calls = [{ name = "scratchpad_read", arguments = { key = "login" } }] }

[[rule]]
when = { tool_result_of = "remember" }
reply = { tool_calls = [{ name = "scratchpad_write", arguments = { key = "login", value = "noted: s-e-c-r-e-t" } }] }

[[rule]]
reply = { tool_calls = [{ name = "remember", arguments = { findings = ["the key is s-e-c-r-e-t"] } }] }
"#;
    let place = place(script);
    place.write("Agentfile", "NAME x\nINPUT key SECRET\nGOAL a \"Sign with $key\"\nRUN main USING a\n");
    let run = ["run", "-m", "scripted/script.toml", "-i", "key=s-e-c-r-e-t", "--id", "keyed"];
    let output = at_home(&place, &[], &run);
    assert!(output.status.success(), "{}", stderr(&output));
    let folder = place.file().parent().unwrap().to_owned();
    let content =
        |name: &str| String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap()).into_owned();
    for name in ["../../memory.db", "convoke.db-scratchpad", "convoke.db"] {
        let kept = content(name);
        assert!(!kept.contains("s-e-c-r-e-t") && kept.contains("⟦secret:key:"), "{name}");
    }
    let told = stdout(&at_home(&place, &[], &["replay", "keyed", "--json"]));
    assert!(told.contains("noted: ⟦secret:key:") && !told.contains("s-e-c-r-e-t"), "{told}");

    assert!(at_home(&place, &[], &["rm", "keyed"]).status.success());
    for name in ["convoke.db-scratchpad", "convoke.db"] {
        assert!(!content(name).contains("noted: "), "{name} has what was deleted");
    }
}

#[test]
fn notes_are_for_a_run_and_memories_outlive_it() {
    let script = r#"
[[rule]]
when = { tool_result_contains = "looms weave" }
reply = "I remember."

[[rule]]
when = { tool_result_of = "recall" }
reply = { tool_calls = [{ name = "remember", arguments = { findings = ["looms weave"] } }] }

[[rule]]
when = { tool_result_of = "remember" }
reply = { tool_calls = [{ name = "scratchpad_write", arguments = { key = "a", value = "noted" } }] }

[[rule]]
when = { tool_result_of = "scratchpad_write" }
reply = { tool_calls = [{ name = "scratchpad_read", arguments = { key = "a" } }] }

[[rule]]
when = { tool_result_contains = "noted" }
reply = "Noted."

[[rule]]
reply = { tool_calls = [{ name = "recall", arguments = { query = "loom" } }] }
"#;
    let place = place(script);
    let first = at_home(&place, &[], &RUN);
    assert_eq!(stdout(&first), "Noted.\n", "{}", stderr(&first));
    let second = at_home(&place, &[], &["run", "-m", "scripted/script.toml"]);
    assert_eq!(stdout(&second), "I remember.\n", "{}", stderr(&second));
    assert!(place.kept().iter().any(|name| name.ends_with("memory.db")));
    let notes = place.file().with_file_name("convoke.db-scratchpad");
    assert!(count(&notes) > 0);
    let purged = at_home(&place, &[], &["purge", "--keep", "0", "--yes"]);
    assert!(purged.status.success(), "{}", stderr(&purged));
    assert_eq!(count(&notes), 0, "notes of deleted runs are deleted");
}

/// How many notes a file has.
fn count(notes: &std::path::Path) -> i64 {
    let connection = rusqlite::Connection::open(notes).unwrap();
    let query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%run%' LIMIT 1";
    let table: String = connection.query_row(query, [], |row| row.get(0)).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_goes_on_with_the_tools_it_began_with() {
    let script = r#"
[[rule]]
when = { tool_result_of = "write" }
reply = "Done."

[[rule]]
when = { tool_result_of = "bash" }
reply = { tool_calls = [{ name = "write", arguments = { path = "x.txt", content = "x" } }] }

[[rule]]
reply = { tool_calls = [{ name = "bash", arguments = { command = "rm -r old", folder = "work" } }] }
"#;
    let place = place(script);
    place.write("work/old/a.txt", "");
    let asked = at_home(&place, &[], &RUN);
    assert_eq!(asked.status.code(), Some(5), "{}", stderr(&asked));
    // There are other tools now, and fewer.
    place.write("convoke.toml", "[workspace]\nread_only = true\n");
    place.write(".config/convoke/policy.toml", "version = 1\n[tools.web_fetch]\ndecision = \"allow\"\n");
    let done = at_home(&place, &[], &["answer", "work-1", "--approve", "--resume"]);
    assert_eq!(stdout(&done), "Done.\n", "{}", stderr(&done));
    assert!(place.path().join("work/old").exists() && !place.path().join("x.txt").exists());
    assert!(stderr(&done).contains("is not available any more"), "{}", stderr(&done));
}

/// The store, the configuration and the policy are in the folder that agents work in. Commands see nothing of them, and
/// can make files beside them where the system can hide them; where it cannot, that is said.
#[cfg(target_os = "linux")]
#[test]
fn commands_work_beside_the_policy_and_the_store_and_see_neither() {
    let place = place(
        r#"
[[rule]]
when = { tool_result_of = "bash" }
reply = "Tried."

[[rule]]
reply = { tool_calls = [{ name = "bash", arguments = { command = "echo x > made.txt; cat policy.toml convoke.toml; strings convoke.db" } }] }
"#,
    );
    place.write("policy.toml", "version = 1\n# the-policy-itself\n");
    place.write("convoke.toml", "# the-configuration-itself\n");
    let output =
        at_home(&place, &[], &["run", "-m", "scripted/script.toml", "--output", "ndjson", "--id", "work-1"]);
    let told = stdout(&output);
    assert!(told.contains("Tried."), "{told}{}", stderr(&output));
    assert!(!told.contains("the-policy-itself") && !told.contains("the-configuration-itself"), "{told}");
    assert_ne!(
        place.path().join("made.txt").exists(),
        told.contains("there are protected files in `.`"),
        "{told}"
    );
}

#[test]
fn what_a_server_is_started_from_is_read_only_to_agents_and_not_looked_up_in_the_workspace() {
    let place = place(
        r#"
[[rule]]
when = { tool_result_contains = "denied" }
reply = "Refused."

[[rule]]
reply = { tool_calls = [{ name = "write", arguments = { path = "tools/server.py", content = "open('canary', 'w')" } }] }
"#,
    );
    place.write("tools/server.py", std::fs::read_to_string(SERVER).unwrap());
    place.write("bin/python3", "#!/bin/sh\ntouch canary\n");
    use std::os::unix::fs::PermissionsExt;
    let program = place.path().join("bin/python3");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = "[mcp.servers.fake]\ncommand = \"python3\"\nargs = [\"tools/server.py\", \"--only\", \"echo\"]\n\
                  protocol = \"initialize\"\nsandbox = false\nfolder = \"../..\"\n";
    place.write(".config/convoke/convoke.toml", server);
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = at_home(&place, &[("PATH", &path)], &RUN);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("Refused."), "{}", stdout(&output));
    assert!(!stderr(&output).contains("Its tools are missing"), "{}", stderr(&output));
    assert!(std::fs::read_to_string(place.path().join("tools/server.py")).unwrap().contains("def "));
    assert!(!place.path().join("canary").exists());
    // One that must run in a sandbox is not started where there is none for it.
    place.write(".config/convoke/convoke.toml", server.replace("sandbox = false", "sandbox = true"));
    let listed = at_home(&place, &[("PATH", &path)], &["mcp", "list"]);
    assert!(stdout(&listed).contains("sandbox") || stderr(&listed).contains("sandbox"), "{listed:?}");
}

#[test]
fn a_call_whose_server_went_away_is_asked_about_by_the_next_attempt() {
    let place = place(
        r#"
[[rule]]
when = { tool_result_of = "mcp_fake_die" }
reply = [{ error = { status = 503, message = "overloaded" } }, { text = "Done." }]

[[rule]]
reply = { tool_calls = [{ name = "mcp_fake_die", arguments = {} }] }
"#,
    );
    place.write("Agentfile", "NAME work\nGOAL work \"Work\" RETRY 2 AFTER 10ms\nRUN main USING work\n");
    let log = place.path().join("calls.log");
    let server = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SERVER}', \"--only\", \"die\", \"--log\", '{}']\n\
         protocol = \"initialize\"\n",
        log.display()
    );
    place.write(".config/convoke/convoke.toml", server);
    place.write(".config/convoke/policy.toml", "version = 1\n[mcp]\nallow = [\"fake:die\"]\n");
    let calls = || place.read("calls.log").matches("tools/call").count();
    let asked = at_home(&place, &[], &RUN);
    assert_eq!((asked.status.code(), calls()), (Some(5), 1), "{}", stderr(&asked));
    let told = stdout(&at_home(&place, &[], &["replay", "work-1", "--full"]));
    assert!(told.contains("Nobody knows whether it took effect"), "what the first attempt was told: {told}");
    let done = at_home(&place, &[], &["answer", "work-1", "--choose", "done", "--resume"]);
    assert_eq!((&*stdout(&done), calls()), ("Done.\n", 1), "{}", stderr(&done));
}
