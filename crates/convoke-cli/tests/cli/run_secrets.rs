//! Secrets that tools repeat: in what they ask and report, and in what they cut.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::place::{Place, stderr, stdout};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../convoke-mcp/tests/fake_server.py");

const SECRET: &str = "s3cr3t-v4lue-0123456789-ABCDEFGHIJ";

const AGENTFILE: &str = "NAME keys\nINPUT key SECRET\nGOAL use \"Use $key\"\nRUN main USING use\n";

const RUN: [&str; 11] = [
    "run",
    "keys.agent",
    "-m",
    "scripted/script.toml",
    "--id",
    "keys-1",
    "-i",
    "key=s3cr3t-v4lue-0123456789-ABCDEFGHIJ",
    "--output",
    "ndjson",
    "-v",
];

/// A folder with a run whose model makes these calls, one after the other.
fn place(calls: &[(&str, &str)]) -> Place {
    let place = Place::empty();
    place.write("keys.agent", AGENTFILE);
    let mut script = String::new();
    for (number, (name, arguments)) in calls.iter().enumerate().rev() {
        let when = match number {
            0 => String::new(),
            _ => format!("when = {{ tool_result_of = \"{}\" }}\n", calls[number - 1].0),
        };
        let call =
            format!("reply = {{ tool_calls = [{{ name = \"{name}\", arguments = {{ {arguments} }} }}] }}");
        script = format!("{script}[[rule]]\n{when}{call}\n\n");
    }
    let last = calls[calls.len() - 1].0;
    let script = format!("[[rule]]\nwhen = {{ tool_result_of = \"{last}\" }}\nreply = \"Done.\"\n\n{script}");
    place.write("script.toml", script);
    place.write(".config/convoke/policy.toml", "version = 1\n[mcp]\nallow = [\"fake:*\"]\n");
    let server = format!(
        "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SERVER}', \"--only\", \"repeat\"]\n\
         protocol = \"initialize\"\ntrust_annotations = true\n"
    );
    place.write(".config/convoke/convoke.toml", server);
    place
}

fn convoke(place: &Place, arguments: &[&str]) -> Output {
    let home = place.path().canonicalize().unwrap();
    let path = std::env::var("PATH").unwrap();
    place.convoke_with(arguments, &[("HOME", home.to_str().unwrap()), ("PATH", &path)])
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// All that is said and kept, but for what the user has put there.
fn left(place: &Place, ran: &Output) -> String {
    let mut left = format!("{}\n{}", stdout(ran), stderr(ran));
    let shown = convoke(place, &["replay", "keys-1", "--json"]);
    left.push_str(&stdout(&shown));
    for file in files(place.path()) {
        let own = ["keys.agent", "script.toml", "work", ".config"];
        if !own.iter().any(|name| file.starts_with(place.path().join(name))) {
            left.push_str(&String::from_utf8_lossy(&std::fs::read(file).unwrap()));
        }
    }
    left
}

/// More than half of the secret, wherever that begins.
fn tells(left: &str) -> Option<&'static str> {
    let length = SECRET.len() / 2 + 1;
    (0..=SECRET.len() - length).map(|at| &SECRET[at..at + length]).find(|part| left.contains(part))
}

#[test]
fn what_a_server_asks_and_reports_does_not_tell_the_secret() {
    let place = place(&[("mcp_fake_repeat", &format!("text = \"{SECRET}\""))]);
    let ran = convoke(&place, &RUN);
    assert_eq!(ran.status.code(), Some(5), "{}", stderr(&ran));
    let left = left(&place, &ran);
    assert!(left.contains("[MCP:fake] Use ⟦secret:key:") && left.contains("with ⟦secret:key:"), "{left}");
    assert_eq!(tells(&left), None, "{left}");
}

#[test]
fn what_tools_cut_does_not_tell_the_secret() {
    // `grep` shows 400 bytes of a line, and of a long output of a command the first and the last 16 KiB are shown.
    let command = "head -c 16360 /dev/zero | tr '\\\\0' x; cat secret.txt; head -c 40000 /dev/zero | tr '\\\\0' y; \
                   tail -c 12 secret.txt; head -c 16372 /dev/zero | tr '\\\\0' z";
    let place = place(&[
        ("grep", "pattern = \"needle\", path = \"work\""),
        ("bash", &format!("command = \"{command}\", folder = \"work\"")),
    ]);
    place.write("work/secret.txt", SECRET);
    place.write("work/lines.txt", format!("needle {}{SECRET}\n", "x".repeat(400 - 7 - 25)));
    let ran = convoke(&place, &RUN);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let left = left(&place, &ran);
    assert!(left.contains("lines.txt:1: needle xxx") && left.contains("bytes left out"), "{left}");
    assert_eq!(tells(&left), None, "{left}");
}
