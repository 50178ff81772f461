//! Tests of choosing a model.

use std::path::PathBuf;

use crate::server::{Answer, Server};
use convoke_models::choose::{
    CredentialsError, KeySource, LookupResult, ModelChoice, ModelConfig, Service, ServiceConfig,
};
use convoke_models::{Chooser, Connector, Credentials, Environment, ModelName};
use serde_json::json;

fn written(name: &str, text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    (folder, path)
}

/// A place where nobody is.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn chooser(environment: Environment) -> Chooser {
    Chooser::new(environment, Credentials::default()).ollama(nobody()).local(Some("smollm2".into()))
}

fn named(choice: &ModelChoice) -> String {
    choice.model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[tokio::test]
async fn the_order_is_flag_file_environment_key_ollama_local() {
    let everything = || Environment::of([("CONVOKE_MODEL", "grok-4"), ("OPENAI_API_KEY", "sk-1")]);
    let config = ModelConfig { model: Some("gemini-2.5-pro".into()), ..ModelConfig::default() };
    let asked = chooser(everything()).config(config.clone()).asked(Some("claude-opus-4-1".into()));
    assert_eq!(named(&asked.choose().await.unwrap()), "anthropic/claude-opus-4-1");
    let in_file = chooser(everything()).config(config);
    assert_eq!(named(&in_file.choose().await.unwrap()), "gemini/gemini-2.5-pro");
    assert_eq!(named(&chooser(everything()).choose().await.unwrap()), "xai/grok-4");

    let by_key = chooser(Environment::of([("OPENAI_API_KEY", "sk-1")])).choose().await.unwrap();
    assert_eq!(named(&by_key), "openai/gpt-5.4-mini");
    let last = by_key.findings.last().unwrap();
    let place = KeySource::Variable("OPENAI_API_KEY".into());
    assert_eq!(last.found, LookupResult::Key { service: "openai", place });

    let tags = json!({"models": [{"name": "nomic-embed-text"}, {"name": "qwen3:4b"}]});
    let ollama = Server::start([Answer::json(200, tags)]).await;
    let running = chooser(Environment::of([])).ollama(&ollama.url).choose().await.unwrap();
    assert_eq!(named(&running), "ollama/qwen3:4b");

    let local = chooser(Environment::of([])).choose().await.unwrap();
    assert_eq!(named(&local), "local/smollm2");
    assert_eq!(local.findings.len(), 4, "it says what it looked at: {local:?}");
    assert!(local.findings.iter().rev().skip(1).all(|finding| !finding.found.decides()));

    let none = chooser(Environment::of([])).local(None).choose().await.unwrap();
    assert_eq!(none.model, None);
}

#[tokio::test]
async fn an_ollama_without_models_is_passed_over_with_a_word() {
    let ollama = Server::start([Answer::json(200, json!({"models": []}))]).await;
    let choice = chooser(Environment::of([])).ollama(&ollama.url).choose().await.unwrap();
    assert_eq!(named(&choice), "local/smollm2");
    assert!(choice.findings[2].to_string().contains("no model"), "{choice:?}");
    let other = Server::start([Answer::json(401, json!({"error": "log in"}))]).await;
    let choice = chooser(Environment::of([])).ollama(&other.url).choose().await.unwrap();
    assert!(choice.findings[2].to_string().contains("no Ollama answers"), "something runs there: {choice:?}");
}

#[tokio::test]
async fn what_is_asked_for_by_name_is_an_error_if_it_makes_no_sense() {
    let error = chooser(Environment::of([])).asked(Some("antropic/x".into())).choose().await.unwrap_err();
    assert!(error.to_string().contains("did you mean `anthropic/x`?"), "{error}");
}

#[test]
fn agent_185_prefixes_infer_the_service_in_any_case_and_unknown_names_are_errors() {
    for (model, expected) in [
        ("Claude-3", "anthropic/Claude-3"),
        ("gpt-4o", "openai/gpt-4o"),
        ("o1", "openai/o1"),
        ("o3-mini", "openai/o3-mini"),
        ("chatgpt-4o-latest", "openai/chatgpt-4o-latest"),
        ("gemini-1.5", "gemini/gemini-1.5"),
        ("gemma-2", "gemini/gemma-2"),
        ("llama-3.1", "groq/llama-3.1"),
        ("mistral-large", "mistral/mistral-large"),
        ("mixtral-8x7b", "mistral/mixtral-8x7b"),
        ("codestral-latest", "mistral/codestral-latest"),
        ("pixtral-12b", "mistral/pixtral-12b"),
        ("grok-3", "xai/grok-3"),
        ("cerebras-gpt", "cerebras/cerebras-gpt"),
        ("GPT-4o", "openai/GPT-4o"),
        ("openrouter/anthropic/claude-3", "openrouter/anthropic/claude-3"),
        ("google/gemini-x", "gemini/gemini-x"),
        ("litellm/any", "compatible/any"),
        ("local/smollm2", "local/smollm2"),
        ("./some/file.gguf", "local/./some/file.gguf"),
        ("local//some/file.gguf", "local//some/file.gguf"),
    ] {
        assert_eq!(model.parse::<ModelName>().unwrap().to_string(), expected);
    }
    let here = std::env::current_dir().unwrap().display().to_string();
    for (model, expected) in [
        ("scripted/a.toml", format!("scripted/{here}/a.toml")),
        ("scripted/rehearsal", "scripted/rehearsal".to_owned()),
        ("./some/file.gguf", format!("local/{here}/some/file.gguf")),
        ("~/file.gguf", "local/~/file.gguf".to_owned()),
        ("local/smollm2", "local/smollm2".to_owned()),
        ("openai/o3-mini", "openai/o3-mini".to_owned()),
    ] {
        let name = model.parse::<ModelName>().unwrap().absolute();
        assert_eq!(name.to_string(), expected);
        assert_eq!(name.to_string().parse(), Ok(name), "it is read as it is written");
    }
    for wrong in ["", "my-model", "nowhere/model", "anthropic/"] {
        let error = wrong.parse::<ModelName>().unwrap_err().to_string();
        assert!(error.contains("does not say where the model is"), "{error}");
    }
}

#[test]
fn agent_183_credentials_must_be_the_owners_alone_and_a_services_key_beats_the_general_one() {
    let text = "[llm]\napi_key = \"general\"\n[anthropic]\napi_key = \"own-key\"\n";
    for mode in [0o644, 0o640] {
        let (_folder, path) = written("credentials.toml", text, mode);
        let error = Credentials::read(&path).unwrap_err();
        assert!(matches!(error, CredentialsError::Exposed { .. }), "{error}");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
    for mode in [0o600, 0o400] {
        let (_folder, path) = written("credentials.toml", text, mode);
        let credentials = Credentials::read(&path).unwrap();
        let place = |service: &str, environment: &Environment| {
            credentials.key(Service::named(service).unwrap(), environment).map(|(_, place)| place)
        };
        let empty = Environment::of([]);
        assert_eq!(place("anthropic", &empty), Some(KeySource::File(path.clone())));
        assert_eq!(place("openai", &empty), Some(KeySource::File(path.clone())), "the general key serves");
        assert_eq!(place("ollama", &empty), None, "who needs no key gets none");
        let set = Environment::of([("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(place("anthropic", &set), Some(KeySource::Variable("ANTHROPIC_API_KEY".into())));
        assert!(!format!("{credentials:?}").contains("own-key"));
    }
    // Without any file, the environment alone does.
    let set = Environment::of([("OPENAI_API_KEY", "k")]);
    let service = Service::named("openai").unwrap();
    let (_, place) = Credentials::load(&set).unwrap().key(service, &set).unwrap();
    assert_eq!(place, KeySource::Variable("OPENAI_API_KEY".into()));
    let missing = Environment::of([("CONVOKE_CREDENTIALS", "/nowhere/credentials.toml")]);
    assert!(matches!(Credentials::load(&missing), Err(CredentialsError::Unreadable { .. })));
}

#[tokio::test]
async fn agent_183_a_service_is_sent_its_own_key_and_the_general_one_only_if_it_has_none() {
    let text = "[llm]\napi_key = \"general\"\n[mistral]\napi_key = \"own-key\"\n";
    let (_folder, path) = written("credentials.toml", text, 0o600);
    let credentials = Credentials::read(&path).unwrap();
    for (service, variable, key) in [
        ("mistral", None, "own-key"),
        ("xai", None, "general"),
        ("mistral", Some(("MISTRAL_API_KEY", "from-the-environment")), "from-the-environment"),
    ] {
        let server = Server::start([Answer::json(401, json!({}))]).await;
        let reached = ServiceConfig { base_url: Some(server.url.clone()), ..ServiceConfig::default() };
        let config =
            ModelConfig { services: [(service.to_owned(), reached)].into(), ..ModelConfig::default() };
        let environment =
            variable.map_or_else(|| Environment::of([]), |variable| Environment::of([variable]));
        let connector = Connector::new(environment, credentials.clone(), config);
        let model = connector.connect(&format!("{service}/m").parse().unwrap()).unwrap();
        crate::server::ask(&*model, convoke_core::ModelRequest::new("hi")).await.unwrap_err();
        assert_eq!(server.last().headers["authorization"], format!("Bearer {key}"), "{service}");
    }
}

#[test]
fn a_malformed_credentials_file_names_the_line_and_shows_none_of_it() {
    for text in ["[anthropic]\napi_key = sk-secret\n", "[anthropic]\napikey = \"sk-secret\"\n"] {
        let (_folder, path) = written("credentials.toml", text, 0o600);
        let error = Credentials::read(&path).unwrap_err();
        assert!(error.to_string().contains("line "), "{error}");
        assert!(!format!("{error} {error:?}").contains("sk-secret"), "{error:?}");
    }
}

#[tokio::test]
async fn a_general_key_does_not_choose_a_service() {
    let (_folder, path) = written("credentials.toml", "[llm]\napi_key = \"general\"\n", 0o600);
    let credentials = Credentials::read(&path).unwrap();
    let chooser = Chooser::new(Environment::of([]), credentials).ollama(nobody());
    assert_eq!(chooser.choose().await.unwrap().model, None);
}

#[test]
fn an_unknown_section_of_the_credentials_is_an_error_that_names_it() {
    let (_folder, path) = written("credentials.toml", "[openia]\napi_key = \"k\"\n", 0o600);
    let error = Credentials::read(&path).unwrap_err().to_string();
    assert!(error.contains("did you mean [openai]?"), "{error}");
}

#[tokio::test]
async fn an_ollama_elsewhere_is_found_and_called_at_the_same_place() {
    let tags = json!({"models": [{"name": "qwen3:4b"}]});
    let chat =
        json!({"message": {"role": "assistant", "content": "Hello."}, "done": true, "done_reason": "stop"});
    let ollama = Server::start([Answer::json(200, tags), Answer::lines([chat])]).await;
    let environment = Environment::of([("OLLAMA_HOST", &ollama.url)]);
    let chooser = Chooser::new(environment.clone(), Credentials::default());
    let name = chooser.choose().await.unwrap().model.unwrap();
    assert_eq!(name.to_string(), "ollama/qwen3:4b");
    let connector = Connector::new(environment, Credentials::default(), ModelConfig::default());
    let model = connector.connect(&name).unwrap();
    let reply = crate::server::ask(&*model, convoke_core::ModelRequest::new("hi")).await.unwrap();
    assert_eq!(reply.text(), "Hello.");
}

#[test]
fn a_pipe_in_the_place_of_prices_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let config = ModelConfig { prices: Some(pipe), ..ModelConfig::default() };
    let prices = Connector::new(Environment::of([]), Credentials::default(), config).prices();
    assert!(prices.unwrap_err().to_string().contains("it is a pipe, not a file"));
}
