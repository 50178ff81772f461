//! Tests of the sections about models.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use common::Home;
use convoke_config::{Environment, OpenError};
use convoke_core::ReasoningEffort;

/// The model of this name, with the user's own file.
fn connect<const N: usize>(
    name: &str,
    variables: [(&str, &str); N],
    config: &str,
) -> Result<String, OpenError> {
    let home = Home::with(config, "");
    let config = home.loader(variables).load()?;
    let model = config.connector()?.connect(&name.parse()?)?;
    Ok(model.name().to_owned())
}

#[test]
fn a_model_without_its_key_says_where_the_key_is_looked_for() {
    let error = connect("claude-x", [], "").unwrap_err().to_string();
    assert!(error.contains("ANTHROPIC_API_KEY"), "{error}");
    let name = connect("claude-x", [("ANTHROPIC_API_KEY", "k")], "").unwrap();
    assert_eq!(name, "anthropic/claude-x");
    // A place of one's own may need no key.
    let own = "[services.anthropic]\nbase_url = \"http://127.0.0.1:1\"\n";
    assert_eq!(connect("claude-x", [], own).unwrap(), "anthropic/claude-x");
}

#[test]
fn a_compatible_server_needs_an_address_and_headers_may_come_from_the_environment() {
    let error = connect("compatible/m", [], "").unwrap_err().to_string();
    assert!(error.contains("base"), "{error}");
    let config =
        "[services.compatible]\nbase_url = \"http://127.0.0.1:1/v1\"\nheaders = { x-token = \"${TOKEN}\" }\n";
    let error = connect("compatible/m", [], config).unwrap_err().to_string();
    assert!(error.contains("TOKEN is not set"), "{error}");
    assert_eq!(connect("compatible/m", [("TOKEN", "t")], config).unwrap(), "compatible/m");
}

#[test]
fn a_section_may_use_any_name_of_its_service() {
    let config = "[services.litellm]\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    assert_eq!(connect("compatible/m", [], config).unwrap(), "compatible/m");
}

#[test]
fn a_service_says_how_it_is_asked_for_shapes_and_how_long_its_replies_may_be() {
    use convoke_models::provider::StructuredOutput;
    for (word, how) in [
        ("json_schema", StructuredOutput::JsonSchema),
        ("json_object", StructuredOutput::JsonObject),
        ("words", StructuredOutput::Words),
    ] {
        let text = format!("[services.compatible]\nstructured_output = \"{word}\"\nmax_reply_mib = 3\n");
        let config = Home::with(&text, "").loader([]).load().unwrap();
        let service = &config.models().services["compatible"];
        assert_eq!((service.structured_output, service.max_reply_mib), (Some(how), Some(3)));
    }
    let wrong = Home::with("[services.compatible]\nstructured_output = \"json\"\n", "");
    assert!(wrong.loader([]).load().is_err());
}

#[test]
fn turns_of_a_goal_are_said_by_a_key_or_a_variable_and_the_fewest_count() {
    let home = Home::with("[budgets]\nturns_per_goal = 80\n", "[budgets]\nturns_per_goal = 120\n");
    assert_eq!(home.loader([]).load().unwrap().turns_per_goal(), Some(80));
    let variable = [("CONVOKE_BUDGETS_TURNS_PER_GOAL", "9")];
    assert_eq!(Home::with("", "").loader(variable).load().unwrap().turns_per_goal(), Some(9));
    assert_eq!(Home::with("", "").loader([]).load().unwrap().turns_per_goal(), None);
}

#[test]
fn nothing_secret_is_shown_for_debugging() {
    let text = "[services.compatible]\nbase_url = \"http://ann:pass-word@h.example\"\nheaders = { x-key = \"se-cret\" }\n";
    let home = Home::with(text, "");
    let config = home.loader([("OPENAI_API_KEY", "the-key")]).load().unwrap();
    let shown = format!("{config:?} {:?}", config.connector().unwrap());
    for secret in ["pass-word", "se-cret", "the-key"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn a_project_cannot_send_keys_where_its_user_has_not_agreed_to() {
    let folder = "[services.anthropic]\nbase_url = \"https://elsewhere.example/\"\n";
    let name = "claude-x".parse().unwrap();
    let tried = |user: &str, variables: &[(&str, &str)]| {
        let home = Home::with(user, folder);
        let path = home.path().to_str().unwrap().to_owned();
        let all = variables.iter().copied().chain([("HOME", path.as_str()), ("ANTHROPIC_API_KEY", "k")]);
        let loader = convoke_config::Loader::new(Environment::from_iter(all)).folder(home.project());
        let tried = loader.load().unwrap().connector().unwrap().connect(&name).map(drop);
        tried.map_err(|error| error.to_string())
    };
    let error = tried("", &[]).unwrap_err();
    assert!(error.contains("trusted_hosts = [\"elsewhere.example\"]"), "{error}");
    assert_eq!(tried("trusted_hosts = [\"Elsewhere.Example\"]\n", &[]), Ok(()));
    assert_eq!(tried("", &[("CONVOKE_TRUSTED_HOSTS", "other.example, elsewhere.example")]), Ok(()));
}

#[test]
fn a_folders_service_replaces_the_users_as_a_whole() {
    // Otherwise the user's headers would go where the folder says.
    let user = "[services.compatible]\nbase_url = \"http://127.0.0.1:1\"\nheaders = { x-team = \"mine\" }\n";
    let home = Home::with(user, "[services.compatible]\nbase_url = \"http://127.0.0.1:2\"\n");
    let config = home.load().unwrap();
    let service = &config.models().services["compatible"];
    assert_eq!(service.base_url.as_deref(), Some("http://127.0.0.1:2"));
    assert!(service.headers.is_empty());
    assert_eq!(service.folder_file.as_deref(), Some(home.project().join("convoke.toml").as_path()));
}

#[test]
fn a_profile_has_a_model_parameters_and_a_fallback() {
    let home = Home::with(
        "",
        "model = \"gpt-5.4-mini\"\nfallback = [\"ollama/qwen3\"]\n[profiles.deep]\nmodel = \"claude-opus\"\nmax_tokens = 900\n\
         temperature = 0\ntop_p = 0.9\nseed = 7\nreasoning = \"high\"\nfallback = [\"gpt-5.4\"]\n[profiles.short]\nmax_tokens = 50\n",
    );
    let config = home.load().unwrap();
    let deep = config.profile("deep").unwrap();
    assert_eq!(deep.model.as_ref().unwrap().to_string(), "anthropic/claude-opus");
    assert_eq!(deep.fallback[0].to_string(), "openai/gpt-5.4");
    let params = &deep.params;
    assert_eq!((params.max_tokens, params.temperature, params.top_p), (Some(900), Some(0.0), Some(0.9)));
    assert_eq!((params.seed, params.reasoning), (Some(7), Some(ReasoningEffort::High)));
    let names: Vec<_> = config.profiles().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["deep", "short"]);
    let error = config.profile("fast").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no profile `fast`: there are `deep`, `short`; add [profiles.fast] to convoke.toml"
    );
    let error = config.profile("shrot").unwrap_err().to_string();
    assert!(error.contains("did you mean `short`?"), "{error}");
    let error = Home::new().load().unwrap().profile("fast").unwrap_err().to_string();
    assert!(error.contains("add [profiles.fast]"), "{error}");
}

#[test]
fn agent_180_a_profile_without_a_model_is_the_usual_one_and_an_unknown_profile_is_an_error() {
    let text = "model = \"compatible/m\"\nfallback = [\"ollama/qwen3\"]\n[services.compatible]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                [profiles.slow]\nreasoning = \"high\"\n[profiles.other]\nmodel = \"compatible/n\"\n";
    let home = Home::with(text, "");
    let config = home.load().unwrap();
    // The model, and what it falls back to, are inherited; how it thinks is the profile's own.
    let slow = config.profile("slow").unwrap();
    assert_eq!(slow.model, None);
    assert_eq!(slow.fallback[0].to_string(), "ollama/qwen3");
    assert_eq!(slow.params.reasoning, Some(ReasoningEffort::High));
    // Its service is reached where the service is.
    let other = config.profile("other").unwrap();
    assert!(other.fallback.is_empty());
    let model = config.connector().unwrap().connect(other.model.as_ref().unwrap()).unwrap();
    assert_eq!(model.name(), "compatible/n");
    let error = config.profile("none").unwrap_err().to_string();
    assert!(error.starts_with("there is no profile `none`"), "nobody is given another model: {error}");
}

#[test]
fn a_model_in_a_file_is_beside_the_configuration_that_names_it() {
    let home = Home::with("fallback = [\"~/m.gguf\"]\n", "model = \"scripted/replies.toml\"\n");
    home.write("project/below/file", "");
    let config = home.loader([]).folder(home.project().join("below")).load().unwrap();
    let model = config.models().model.clone().unwrap();
    assert!(model.starts_with("scripted//") && model.ends_with("/project/replies.toml"), "{model}");
    assert_eq!(config.models().fallback, [format!("local/{}", home.path().join("m.gguf").display())]);
}

#[test]
fn the_environments_model_comes_after_the_files() {
    let home = Home::with("", "model = \"ollama/qwen3\"\n");
    let config = home.loader([("CONVOKE_MODEL", "gpt-5.4")]).load().unwrap();
    assert_eq!(config.models().model.as_deref(), Some("ollama/qwen3"));
    assert!(home.plain(config.origin("model")).ends_with("convoke.toml:1"));
    let config = Home::new().loader([("CONVOKE_MODEL", "gpt-5.4")]).load().unwrap();
    assert_eq!(config.models().model, None, "the chooser looks there itself, after an Agentfile");
    assert_eq!(config.origin("model").to_string(), "CONVOKE_MODEL");
}
