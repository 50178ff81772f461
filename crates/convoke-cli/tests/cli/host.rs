//! A run started here is gone on with by a program on the host, and the reverse: with a person's answer, tools and an MCP server.

use convoke_config::{Environment, Loader};
use convoke_core::{Answer, RunStatus};
use convoke_goals::Values;
use convoke_host::{GoOnOptions, Host, StartOptions};

use crate::place::{Place, stdout};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../convoke-mcp/tests/fake_server.py");

const AGENTFILE: &str = r#"NAME relay
INPUT topic
TOOLS write, read, mcp_fake_echo
GOAL first "Note $topic" SUPERVISED HUMAN
GOAL second "Echo $first"
RUN main USING first, second
"#;

const SCRIPT: &str = r#"
[[rule]]
when.output = "commitment"
json = { interpretation = "Note it.", approach = "In a file.", confidence = "high" }

[[rule]]
when.output = "assessment"
json = { met_commitment = true }

[[rule]]
when = { tool_result_of = "mcp_fake_echo" }
reply = "echoed"

[[rule]]
when = { user_contains = '<current-goal id="second">' }
reply = { tool_calls = [{ name = "mcp_fake_echo", arguments = { text = "over to you" } }] }

[[rule]]
when = { tool_result_of = "write" }
reply = "noted"

[[rule]]
reply = { tool_calls = [{ name = "write", arguments = { path = "note.txt", content = "looms" } }] }
"#;

/// Servers are processes, which a runtime for stores alone cannot start.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

struct Relay {
    place: Place,
    path: String,
}

impl Relay {
    fn new() -> Self {
        let place = Place::empty();
        place.write("relay.agent", AGENTFILE);
        place.write("script.toml", SCRIPT);
        let server = format!(
            "[mcp.servers.fake]\ncommand = \"python3\"\nargs = ['{SERVER}', \"--only\", \"echo\"]\nprotocol = \"initialize\"\n\
             trust_annotations = true\n"
        );
        place.write(".config/convoke/convoke.toml", server);
        // What an MCP server's tool does is asked about, unless the user says otherwise.
        place.write(".config/convoke/policy.toml", "version = 1\n[mcp]\nallow = [\"fake:echo\"]\n");
        let path = place.path().canonicalize().unwrap().display().to_string();
        Self { place, path }
    }

    fn convoke(&self, words: &[&str]) -> std::process::Output {
        let path = std::env::var("PATH").unwrap();
        self.place.convoke_with(words, &[("HOME", &*self.path), ("PATH", &path), ("USER", "ann")])
    }

    fn host(&self) -> Host {
        let path = std::env::var("PATH").unwrap();
        let environment = Environment::of([
            ("HOME", &*self.path),
            ("PATH", &path),
            ("XDG_DATA_HOME", self.place.data()),
            ("CONVOKE_WORKSPACE", &self.path),
        ]);
        Host::open(Loader::new(environment).folder(&*self.path).load().unwrap()).unwrap()
    }

    fn has_echoed(&self) -> bool {
        let shown = self.convoke(&["show", "relay-1", "--full"]);
        stdout(&shown).contains("over to you") && self.place.path().join("note.txt").exists()
    }
}

#[test]
fn a_run_of_the_command_line_is_gone_on_with_by_a_program() {
    let relay = Relay::new();
    let model = format!("scripted/{}/script.toml", relay.path);
    let words = ["run", "relay.agent", "-i", "topic=looms", "-m", &model, "--id", "relay-1", "--no-input"];
    let started = relay.convoke(&words);
    assert_eq!(started.status.code(), Some(5), "{started:?}");
    let finished = wait(async {
        let host = relay.host();
        let run = "relay-1".parse().unwrap();
        let open = host.store().unwrap().questions(Some(&run)).await.unwrap();
        host.answer(&run, &open[0].id, Answer::approve().by("ben")).await.unwrap();
        host.go_on(&run, GoOnOptions::default()).await.unwrap().finish().await.unwrap()
    });
    assert_eq!(finished.outcome.status, RunStatus::Completed, "{:?}", finished.error());
    assert_eq!(finished.result(), Some("echoed"));
    assert!(relay.has_echoed());
}

#[test]
fn a_run_of_a_program_is_gone_on_with_on_the_command_line() {
    let relay = Relay::new();
    let finished = wait(async {
        let host = relay.host();
        let loaded = host.load(relay.place.path().join("relay.agent")).unwrap();
        let mut options = StartOptions::default();
        options.id = Some("relay-1".parse().unwrap());
        options.model = Some(format!("scripted/{}/script.toml", relay.path));
        let inputs = Values::from_iter([("topic", "looms")]);
        host.start(loaded, inputs, options).await.unwrap().finish().await.unwrap()
    });
    assert_eq!(finished.outcome.status, RunStatus::Suspended, "{:?}", finished.error());
    let question = finished.outcome.questions()[0].id.to_string();
    let answered = relay.convoke(&["answer", "relay-1", &question, "--approve"]);
    assert!(answered.status.success(), "{answered:?}");
    let resumed = relay.convoke(&["resume", "relay-1", "--no-input"]);
    assert_eq!((resumed.status.code(), stdout(&resumed).trim()), (Some(0), "echoed"), "{resumed:?}");
    assert!(relay.has_echoed());
}
