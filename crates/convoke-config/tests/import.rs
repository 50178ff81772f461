//! The `agent.toml` of the Go `agent` program, translated.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use common::read;
use convoke_config::import::translate;
use convoke_core::ReasoningEffort;

const OLD: &str = r#"
[agent]
id = "example-agent"
workspace = "work"

[llm]
provider = "openai-compat"
model = "qwen3"
base_url = "http://localhost:8080/v1"
max_tokens = 4096
api_key_env = "MY_KEY"
max_retries = 5

[small_llm]
model = "claude-haiku-4-5"

[profiles.deep]
model = "claude-opus-4-5"
max_tokens = 8192
thinking = "high"

[profiles.plain]
model = "own-model"
thinking = "auto"

[profiles.odd]
provider = "nobody"
model = "x"

[mcp.servers.files]
command = "npx"
args = ["-y", "server-files", "/tmp"]
env = { PRICE = "5$" }
denied_tools = ["delete"]

[timeouts]
mcp = 90
web_search = 30

[skills]
paths = ["./skills"]

[telemetry]
enabled = true
endpoint = "http://localhost:4318"
protocol = "http"

[storage]
path = "./storage"

[security]
mode = "paranoid"

[sevice]
x = 1
"#;

#[test]
fn what_has_a_counterpart_is_carried_over_and_can_be_read() {
    let imported = translate(OLD, "agent.toml").unwrap();
    let config = read(&imported.text).unwrap_or_else(|problems| panic!("{problems}\n{}", imported.text));
    assert!(config.warnings().is_empty(), "{}", config.warnings());
    assert_eq!(config.models().model.as_deref(), Some("compatible/qwen3"));
    let deep = config.profile("deep").unwrap();
    assert_eq!(deep.model.as_ref().unwrap().to_string(), "anthropic/claude-opus-4-5");
    assert_eq!(deep.params.max_tokens, Some(8192));
    assert_eq!(
        config.profile("plain").unwrap().model.as_ref().unwrap().to_string(),
        "compatible/own-model",
        "a model whose service nobody can tell is where the main one is"
    );
    assert!(config.profile("odd").is_err());
    let servers = config.mcp_servers();
    assert_eq!((servers[0].name.as_str(), servers[0].deny.len()), ("files", 1));
    assert_eq!(servers[0].timeout, Some(std::time::Duration::from_secs(90)));
    assert!(config.workspace().path.ends_with("work") && config.skills()[0].ends_with("skills"));
    insta::assert_snapshot!(imported.text);
}

#[test]
fn agent_180_a_profile_without_a_provider_has_that_of_the_main_model_and_keeps_its_thinking() {
    let config = |profile: &str| {
        let old = format!("[llm]\nprovider = \"mistral\"\nmodel = \"main\"\n[profiles.slow]\n{profile}\n");
        let imported = translate(&old, "agent.toml").unwrap();
        read(&imported.text).unwrap_or_else(|problems| panic!("{problems}\n{}", imported.text))
    };
    let own = config("model = \"own\"\nthinking = \"high\"");
    let slow = own.profile("slow").unwrap();
    assert_eq!(slow.model.as_ref().unwrap().to_string(), "mistral/own");
    assert_eq!(slow.params.reasoning, Some(ReasoningEffort::High));
    let elsewhere =
        config("provider = \"openai-compat\"\nmodel = \"own\"\nbase_url = \"http://localhost:1/v1\"");
    assert_eq!(elsewhere.profile("slow").unwrap().model.as_ref().unwrap().to_string(), "compatible/own");
    assert_eq!(elsewhere.models().services["compatible"].base_url.as_deref(), Some("http://localhost:1/v1"));
}

#[test]
fn what_has_no_counterpart_is_said() {
    insta::assert_snapshot!(translate(OLD, "agent.toml").unwrap().notes.join("\n"));
}

#[test]
fn a_file_that_says_nothing_of_use_and_one_that_is_not_valid() {
    let imported = translate("[telemetry]\nenabled = false\nendpoint = \"x\"\n", "agent.toml").unwrap();
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    assert!(read(&imported.text).unwrap().settings().is_empty());
    let error = translate("[llm\nmodel = \"secret\"", "agent.toml").unwrap_err().to_string();
    assert!(error.starts_with("agent.toml is not valid TOML") && !error.contains("secret"), "{error}");
}
