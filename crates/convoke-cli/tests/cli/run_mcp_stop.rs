//! Runs with files, commands and calls of an MCP server that are killed at any moment: nothing is done twice, and what is
//! not known is asked.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::place::{Place, stderr};
use crate::workshop::Running;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/counting_server.py");

const AGENTFILE: &str = "NAME post\nGOAL post \"Post it\"\nRUN main USING post\n";

/// Every rule depends on what was just given back, so a process that goes on gets the same answers.
const SCRIPT: &str = r#"
[[rule]]
when = { tool_result_of = "mcp_post_look" }
reply = "Posted."
delay = "3ms"

[[rule]]
when = { tool_result_of = "mcp_post_set" }
reply = { tool_calls = [{ name = "mcp_post_look", arguments = {} }] }
delay = "3ms"

[[rule]]
when = { tool_result_of = "mcp_post_send" }
reply = { tool_calls = [{ name = "mcp_post_set", arguments = {} }] }
delay = "3ms"

[[rule]]
when = { tool_result_of = "bash" }
reply = { tool_calls = [{ name = "mcp_post_send", arguments = {} }] }
delay = "3ms"

[[rule]]
when = { tool_result_of = "write" }
reply = { tool_calls = [{ name = "bash", arguments = { command = "echo stamped >> log.txt", folder = "work" } }] }
delay = "3ms"

[[rule]]
reply = { tool_calls = [{ name = "write", arguments = { path = "work/letter.txt", content = "Dear Ann\n" } }] }
delay = "3ms"
"#;

const RUN: [&str; 6] = ["run", "post.agent", "-m", "scripted/script.toml", "--id", "post-1"];

/// A folder with the run's files and its server, which kills the client at a point of a tool if one is named.
fn post_office(point: Option<&str>) -> Place {
    let place = Place::empty();
    place.write("post.agent", AGENTFILE);
    place.write("script.toml", SCRIPT);
    place.write(".config/convoke/policy.toml", "version = 1\n[mcp]\nallow = [\"post:*\"]\n");
    place.write("work/paper.txt", "");
    place.write("effects/processes", "");
    let folder = place.path().join("effects");
    let arguments = [SERVER, folder.to_str().unwrap()].into_iter().chain(point);
    let arguments: Vec<String> = arguments.map(|argument| format!("'{argument}'")).collect();
    let server = format!(
        "[mcp.servers.post]\ncommand = \"python3\"\nargs = [{}]\nprotocol = \"initialize\"\ntrust_annotations = true\n",
        arguments.join(", ")
    );
    place.write(".config/convoke/convoke.toml", server);
    place
}

fn start(place: &Place, arguments: &[&str]) -> Running {
    let home = place.path().canonicalize().unwrap();
    let path = std::env::var("PATH").unwrap();
    Running::start_with(place, arguments, &[("HOME", home.to_str().unwrap()), ("PATH", &path)])
}

fn lines(place: &Place, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.path().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until no process of the server is left: until then nobody knows what it has done.
fn until_servers_are_gone(place: &Place) {
    let is_running = |process: &String| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    for _ in 0..6000 {
        if !lines(place, "effects/processes").iter().any(is_running) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("a server outlives its client");
}

/// Says truthfully what became of a call that was interrupted; gives the tool.
fn answer_doubt(place: &Place) -> String {
    let open = place.convoke(&["questions", "--json"]);
    let open: Value = serde_json::from_slice(&open.stdout).unwrap();
    let [question] = &open.as_array().unwrap()[..] else { panic!("one question: {open}") };
    let asked = question.to_string();
    assert!(asked.contains("was interrupted and may have acted already"), "{asked}");
    let tools = ["write", "bash", "mcp_post_send"];
    let tool = tools.iter().find(|tool| asked.contains(&format!("`{tool}` was interrupted"))).unwrap();
    until_servers_are_gone(place);
    let was_done = match *tool {
        "write" => place.path().join("work/letter.txt").exists(),
        "bash" => !lines(place, "work/log.txt").is_empty(),
        _ => !lines(place, "effects/send").is_empty(),
    };
    let chosen = if was_done { "done" } else { "again" };
    let answered = place.convoke(&["answer", "post-1", "--choose", chosen]);
    assert!(answered.status.success(), "{}", stderr(&answered));
    (*tool).to_owned()
}

/// Lets it run, killed after so many events each time, to its end. Gives the tools that were asked about.
fn survive(place: &Place, kills: &[(usize, Duration)], what: &str) -> Vec<String> {
    let mut asked = Vec::new();
    let mut kills = kills.iter();
    let mut arguments = RUN.to_vec();
    for _ in 0..12 {
        let mut running = start(place, &arguments);
        if let Some((after, then)) = kills.next() {
            for _ in 0..*after {
                if running.next().is_none() {
                    break;
                }
            }
            std::thread::sleep(*then);
            // It may be over already.
            let _ = running.child.kill();
        }
        let (_, code, told) = running.finish();
        match code {
            Some(0) => return asked,
            Some(5) => asked.push(answer_doubt(place)),
            // Killed.
            None => {}
            other => panic!("{what}: exit {other:?}: {told}"),
        }
        // Killed before it was made, it is run anew.
        let is_there = place.convoke(&["show", "post-1"]).status.code() == Some(0);
        arguments = if is_there { vec!["resume", "post-1"] } else { RUN.to_vec() };
    }
    panic!("{what}: it does not come to an end");
}

/// Every effect is there once; what may be repeated was, if at all, under the same key.
fn must_be_whole(place: &Place, what: &str) {
    until_servers_are_gone(place);
    assert_eq!(place.read("work/letter.txt"), "Dear Ann\n", "{what}");
    assert_eq!(lines(place, "work/log.txt"), ["stamped"], "{what}: the command");
    assert_eq!(lines(place, "effects/send").len(), 1, "{what}: the letter was sent twice, or not at all");
    for tool in ["set", "look"] {
        let keys: BTreeSet<String> = lines(place, &format!("effects/{tool}")).into_iter().collect();
        assert_eq!(keys.len(), 1, "{what}: `{tool}` was called as another call, or not at all");
    }
}

#[test]
fn files_commands_and_mcp_calls_survive_a_kill_after_any_event() {
    let events = {
        let place = post_office(None);
        let (events, code, told) = start(&place, &RUN).finish();
        assert_eq!(code, Some(0), "{told}");
        must_be_whole(&place, "undisturbed");
        events.len()
    };
    assert!(events > 40, "{events}");
    for after in 0..events {
        let place = post_office(None);
        let what = format!("killed after {after} of {events} events");
        let asked = survive(&place, &[(after, Duration::ZERO)], &what);
        assert!(asked.len() <= 1, "{what}: asked about {asked:?}");
        must_be_whole(&place, &what);
    }
}

#[test]
fn files_commands_and_mcp_calls_survive_kills_at_random_moments() {
    // The same moments every time, as far as anything about them can be the same.
    let mut seed: u64 = 0x5eed;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for round in 0..12 {
        let place = post_office(None);
        let kills: Vec<(usize, Duration)> = (0..=round % 4)
            .map(|_| (usize::try_from(random(60)).unwrap(), Duration::from_micros(random(12_000))))
            .collect();
        let what = format!("killed at {kills:?}");
        let asked = survive(&place, &kills, &what);
        assert!(asked.len() <= kills.len(), "{what}: asked about {asked:?}");
        must_be_whole(&place, &what);
    }
}

#[test]
fn a_call_that_was_under_way_is_asked_about_unless_it_may_be_repeated() {
    for (tool, attempts) in [("send", 1), ("set", 2), ("look", 2)] {
        for point in ["before", "late", "after", "answered"] {
            let what = format!("killed in `{tool}`: {point}");
            let place = post_office(Some(&format!("{tool}:{point}")));
            let asked = survive(&place, &[], &what);
            assert!(place.path().join("effects/killed").exists(), "{what}: nobody was killed");
            must_be_whole(&place, &what);
            let acts = lines(&place, &format!("effects/{tool}")).len();
            match (tool, point) {
                // The answer may have been written down in time.
                ("send", "answered") => assert!(asked.len() <= 1, "{what}: {asked:?}"),
                ("send", _) => assert_eq!(asked, ["mcp_post_send"], "{what}"),
                _ => assert!(asked.is_empty(), "{what}: {asked:?}"),
            }
            match point {
                "before" => assert_eq!(acts, 1, "{what}"),
                "answered" => assert!(acts <= attempts, "{what}: {acts}"),
                _ => assert_eq!(acts, attempts, "{what}"),
            }
        }
    }
}
