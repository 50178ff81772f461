//! Tests of layers: precedence and origins of values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::Home;
use convoke_config::{Loader, LogFormat, LogLevel, McpTransport, Origin, Supervisor};
use convoke_core::{Limits, Money, ReasoningEffort};

#[test]
fn durations_are_written_as_everywhere_else() {
    for (text, millis) in [("90 s", 90_000), ("1.5s", 1_500), ("4w", 2_419_200_000), ("1h 30min", 5_400_000)]
    {
        let config = Home::with(&format!("[budgets]\nwall_time = \"{text}\"\n"), "").load().unwrap();
        assert_eq!(config.wall_time(), Some(Duration::from_millis(millis)), "{text}");
    }
}

#[test]
fn agentcore_222_a_whole_file_is_understood() {
    let text = r#"
model = "gpt-5.4-mini"
fallback = ["ollama/qwen3"]
prices = "prices.toml"

[services.openai]
requests_per_second = 0.5
concurrent_requests = 4
first_token_seconds = 30
idle_seconds = 60

[profiles.fast]
model = "claude-haiku-5-5"
fallback = ["gpt-5.4-mini"]
max_tokens = 4096
temperature = 0.5
top_p = 0.9
seed = 7
[profiles.deep]
model = "claude-opus-5"
reasoning = "high"

[supervision]
profile = "deep"
max_reorients = 2
human_expiry = "2d"
answerers = ["ann", "bob"]

[budgets]
cost_usd = 1.5
tokens = 50_000
model_calls = 40
tool_calls = 0
turns = 9
wall_time = "1h30m"
per_tool = { search = 3 }

[workspace]
path = "work"
summary = false
read_only = true

[telemetry]
endpoint = "http://127.0.0.1:4318"
headers = { x-team = "t" }
service_name = "looms"
sample_ratio = 0.25
log_level = "debug"
log_format = "json"

[skills]
paths = ["skills", "~/skills"]
"#;
    // A folder's servers would be asked about, and its store refused; the user's are the user's word.
    let servers = "[store]\npath = \"runs.db\"\n[mcp.servers.files]\ncommand = \"mcp-files\"\nargs = [\"-y\"]\nenv = { KEEP = \"1\" }\n\
                   [mcp.servers.wiki]\nurl = \"https://wiki.example/mcp\"\n";
    let home = Home::with(&format!("trusted_hosts = [\"127.0.0.1\"]\n{servers}"), text);
    let config = home.load().unwrap();
    assert_eq!(config.models().model.as_deref(), Some("gpt-5.4-mini"));
    assert_eq!(config.models().fallback, ["ollama/qwen3"]);
    let [files, wiki] = &config.mcp_servers()[..] else { panic!("two servers") };
    let McpTransport::Command { command, arguments, variables, .. } = &files.transport else {
        panic!("a command: {files:?}")
    };
    assert_eq!(
        (files.name.as_str(), command.as_str(), &arguments[..]),
        ("files", "mcp-files", &["-y".into()][..])
    );
    assert_eq!(variables["KEEP"], "1");
    let McpTransport::Address { url, .. } = &wiki.transport else { panic!("an address: {wiki:?}") };
    assert_eq!((wiki.name.as_str(), url.as_str()), ("wiki", "https://wiki.example/mcp"));
    let service = &config.models().services["openai"];
    assert_eq!((service.requests_per_second, service.concurrent_requests), (Some(0.5), Some(4)));
    assert_eq!((service.first_token_seconds, service.idle_seconds), (Some(30), Some(60)));
    assert_eq!(config.models().prices, Some(home.project().join("prices.toml")));
    assert_eq!(config.profiles().map(|profile| profile.name.as_str()).collect::<Vec<_>>(), ["deep", "fast"]);
    let (fast, deep) = (config.profile("fast").unwrap(), config.profile("deep").unwrap());
    assert_eq!(fast.model.as_ref().unwrap().to_string(), "anthropic/claude-haiku-5-5");
    assert_eq!(fast.fallback.iter().map(ToString::to_string).collect::<Vec<_>>(), ["openai/gpt-5.4-mini"]);
    assert_eq!((fast.params.max_tokens, fast.params.seed), (Some(4096), Some(7)));
    assert_eq!((fast.params.temperature, fast.params.top_p), (Some(0.5), Some(0.9)));
    assert_eq!((fast.params.reasoning, deep.params.reasoning), (None, Some(ReasoningEffort::High)));
    assert_eq!(deep.model.as_ref().unwrap().to_string(), "anthropic/claude-opus-5");
    let supervision = config.supervision();
    assert!(matches!(&supervision.supervisor, Supervisor::Profile(profile) if profile.name == "deep"));
    assert_eq!(supervision.max_reorients, Some(2));
    assert_eq!(supervision.human_expiry, Some(Duration::from_secs(2 * 86_400)));
    assert_eq!(supervision.answerers, ["ann", "bob"]);
    let limits = Limits::default()
        .cost(Money::from_cents(150))
        .tokens(50_000)
        .model_calls(40)
        .tool_calls(0)
        .turns(9)
        .calls_of("search", 3);
    assert_eq!(config.limits(), limits);
    assert_eq!(config.wall_time(), Some(Duration::from_secs(5_400)));
    assert_eq!(config.store(), Some(home.path().join(".config/convoke/runs.db")));
    let workspace = config.workspace();
    assert_eq!(
        (workspace.path, workspace.summary, workspace.read_only),
        (home.project().join("work"), false, true)
    );
    let telemetry = config.telemetry().unwrap();
    assert_eq!(telemetry.endpoint.as_deref(), Some("http://127.0.0.1:4318"));
    assert_eq!(telemetry.headers["x-team"], "t");
    assert!(!format!("{telemetry:?}").contains("Bearer"), "{telemetry:?}");
    assert_eq!((telemetry.service_name.as_str(), telemetry.sample_ratio), ("looms", 0.25));
    assert_eq!((config.log().level, config.log().format), (LogLevel::Debug, LogFormat::Json));
    assert_eq!(config.skills(), [home.project().join("skills"), home.path().join("skills")]);
    assert!(config.warnings().is_empty(), "{}", config.warnings());
}

#[test]
fn agentcore_224_missing_files_are_safe_defaults_and_a_named_one_must_be_there() {
    missing_files_are_safe_defaults_and_a_named_one_must_be_there();
}

#[test]
fn agent_178_181_missing_files_are_safe_defaults_and_a_named_one_must_be_there() {
    missing_files_are_safe_defaults_and_a_named_one_must_be_there();
}

fn missing_files_are_safe_defaults_and_a_named_one_must_be_there() {
    let home = Home::new();
    let config = home.load().unwrap();
    assert!(config.settings().is_empty() && config.warnings().is_empty());
    assert!(
        config
            .store()
            .is_some_and(|store| store.starts_with(home.path().join(".local/share/convoke/projects")))
    );
    assert_eq!(config.limits(), Limits::default());
    let workspace = config.workspace();
    assert_eq!((workspace.path, workspace.summary, workspace.read_only), (home.project(), true, false));
    let telemetry = config.telemetry().unwrap();
    assert_eq!((telemetry.endpoint, telemetry.record_content), (None, false));
    assert_eq!(config.supervision().supervisor, Supervisor::Same);
    assert_eq!((config.wall_time(), config.supervision().human_expiry), (None, None), "nobody is hurried");
    assert_eq!(config.profiles().count(), 0);
    assert!(config.mcp_servers().is_empty() && config.models().services.is_empty());

    let missing = home.path().join("other.toml");
    let error = home.loader([]).file(Some(missing.clone())).load().unwrap_err().to_string();
    assert!(error.contains("other.toml cannot be read"), "{error}");
    let missing = missing.to_str().unwrap();
    assert!(home.loader([("CONVOKE_CONFIG", missing)]).load().is_err());
    home.write("other.toml", "trusted_hosts = [\"h.example\"]\n");
    let config = home.loader([("CONVOKE_CONFIG", missing)]).load().unwrap();
    assert_eq!(config.models().trusted_hosts, ["h.example"], "who names a file vouches for it");
}

#[test]
fn every_layer_goes_before_the_one_below_and_is_named_as_the_origin() {
    let home = Home::with("prices = \"user.toml\"\n", "\nprices = \"folder.toml\"\n");
    let origin = |config: &convoke_config::Config| home.plain(config.origin("prices"));
    let prices = |config: &convoke_config::Config| config.models().prices.clone().unwrap();
    let user = Home::with("prices = \"user.toml\"\n", "").load().unwrap();
    assert!(prices(&user).ends_with(".config/convoke/user.toml"));
    let folder = home.load().unwrap();
    assert_eq!(prices(&folder), home.project().join("folder.toml"));
    assert_eq!(origin(&folder), "~/project/convoke.toml:2");
    let variable = home.loader([("CONVOKE_PRICES", "~/variable.toml")]).load().unwrap();
    assert_eq!(prices(&variable), home.path().join("variable.toml"));
    assert_eq!(variable.origin("prices"), Origin::Variable("CONVOKE_PRICES".into()));
    let flag = home.loader([("CONVOKE_PRICES", "variable.toml")]).flag("--prices", "prices", "flag.toml");
    let flag = flag.load().unwrap();
    assert_eq!((prices(&flag).as_path(), origin(&flag)), (Path::new("flag.toml"), "--prices".to_owned()));
    assert_eq!(flag.origin("budgets.tokens"), Origin::Default);
}

#[test]
fn of_stores_that_the_user_names_the_last_one_holds_and_is_the_only_origin() {
    let home = Home::with("[store]\npath = \"user.db\"\n", "");
    let named = home.loader([("CONVOKE_STORE", "variable.db")]).load().unwrap();
    assert_eq!(named.named_store(), Some(Path::new("variable.db")));
    assert_eq!(named.origin("store.path"), Origin::Variable("CONVOKE_STORE".into()));
}

#[test]
fn agentcore_223_a_supervisor_is_the_usual_model_unless_somebody_names_one() {
    assert_eq!(common::read("model = \"gpt-5.4\"\n").unwrap().supervision().supervisor, Supervisor::Same);
    let named = |home: Home| match home.load().unwrap().supervision().supervisor {
        Supervisor::Model(name) => name.to_string(),
        other => format!("{other:?}"),
    };
    let user = "[supervision]\nmodel = \"claude-opus-5\"\n";
    assert_eq!(
        named(Home::with(user, "model = \"gpt-5.4\"\n")),
        "anthropic/claude-opus-5",
        "the user's is kept"
    );
    let folder = "[supervision]\nmodel = \"gpt-5.4\"\n";
    assert_eq!(named(Home::with(user, folder)), "openai/gpt-5.4");
    let by_profile = Home::with(user, "[supervision]\nprofile = \"p\"\n[profiles.p]\nmodel = \"gpt-5.4\"\n");
    let supervision = by_profile.load().unwrap().supervision();
    assert!(matches!(supervision.supervisor, Supervisor::Profile(_)), "a profile takes the place of a model");
}

#[test]
fn agentcore_226_profiles_are_united_and_skills_of_the_folder_come_first_without_repetition() {
    let user = "model = \"gpt-5.4\"\n[profiles.a]\nmodel = \"gpt-5.4\"\nmax_tokens = 9\n[profiles.b]\nmodel = \"grok-4\"\n\
                [skills]\npaths = [\"~/skills\", \"~/project/own\"]\n";
    let folder = "model = \"claude-x\"\n[profiles.a]\nmodel = \"claude-x\"\n[skills]\npaths = [\"own\"]\n";
    let home = Home::with(user, folder);
    let config = home.loader([("CONVOKE_SKILLS", "/more")]).load().unwrap();
    assert_eq!(config.models().model.as_deref(), Some("claude-x"));
    let a = config.profile("a").unwrap();
    assert_eq!(a.model.as_ref().unwrap().to_string(), "anthropic/claude-x");
    assert_eq!(a.params.max_tokens, None, "a profile of the same name is another profile");
    assert!(config.profile("b").is_ok());
    let expected = [Path::new("/more").to_owned(), home.project().join("own"), home.path().join("skills")];
    assert_eq!(config.skills(), expected);
    let origin = home.plain(config.origin("skills.paths"));
    assert_eq!(origin, "CONVOKE_SKILLS, ~/project/convoke.toml:5, ~/.config/convoke/convoke.toml:8");
}

#[test]
fn agentcore_226_what_the_folder_says_takes_the_place_of_what_the_user_says_and_nothing_else() {
    let user = "model = \"gpt-5.4\"\n[supervision]\nmodel = \"claude-opus-5\"\n\
                [mcp.servers.shared]\ncommand = \"users\"\n[mcp.servers.own]\ncommand = \"own\"\n";
    let folder = "model = \"claude-x\"\n[supervision]\nmodel = \"gpt-5.4\"\n\
                  [mcp.servers.shared]\nurl = \"https://folders.example\"\n[mcp.servers.more]\ncommand = \"more\"\n";
    let supervisor = |home: &Home| home.load().unwrap().supervision().supervisor;
    let home = Home::with(user, folder);
    let config = home.load().unwrap();
    assert_eq!(config.models().model.as_deref(), Some("claude-x"));
    assert!(matches!(supervisor(&home), Supervisor::Model(name) if name.to_string() == "openai/gpt-5.4"));
    let servers = config.mcp_servers();
    let mut names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["more", "own", "shared"]);
    let shared = servers.iter().find(|server| server.name == "shared").unwrap();
    assert!(matches!(&shared.transport, McpTransport::Address { .. }), "of another kind, too: {shared:?}");

    // Whoever supervises is the usual model, whichever of the two files says which that is.
    let usual = Home::with("model = \"gpt-5.4\"\n", "model = \"claude-x\"\n");
    assert_eq!(supervisor(&usual), Supervisor::Same);
    // Read again without the folder's file, the user's is what it was.
    std::fs::remove_file(home.project().join("convoke.toml")).unwrap();
    let alone = home.load().unwrap();
    assert_eq!((alone.models().model.as_deref(), alone.mcp_servers().len()), (Some("gpt-5.4"), 2));
    assert!(
        matches!(supervisor(&home), Supervisor::Model(name) if name.to_string() == "anthropic/claude-opus-5")
    );
}

#[test]
fn agentcore_226_further_layers_are_merged_and_a_mistake_in_any_ends_it() {
    let home = Home::with("model = \"gpt-5.4\"\n", "model = \"claude-x\"\n");
    let model = |loader: Loader| loader.load().unwrap().models().model.clone();
    assert_eq!(model(home.loader([("CONVOKE_STORE", "x.db")])).as_deref(), Some("claude-x"));
    let flagged = home.loader([]).flag("--model", "model", "grok-4");
    assert_eq!(model(flagged).as_deref(), Some("grok-4"));
    let wrong = home.loader([("CONVOKE_BUDGETS_TOKENS", "many")]).load().unwrap_err().to_string();
    assert!(wrong.contains("CONVOKE_BUDGETS_TOKENS"), "{wrong}");
    for (user, folder) in [("model = 3\n", "model = \"x\"\n"), ("", "[budgets]\ntokens = \"many\"\n")] {
        assert!(Home::with(user, folder).load().is_err(), "{user} {folder}");
    }
}

#[test]
fn a_file_is_found_above_the_working_folder_but_not_beyond_the_project_or_the_home() {
    let home = Home::with("", "[skills]\npaths = [\"kept\"]\n");
    home.write("project/deep/down/file", "");
    let below = |folder: &str| {
        home.loader([]).folder(home.path().join(folder)).load().unwrap().skills().first().cloned()
    };
    let found = below("project/deep/down");
    assert!(
        found.as_ref().is_some_and(|found| found.ends_with("project/kept")),
        "beside the file that says so: {found:?}"
    );
    // A project of its own within it.
    home.write("project/deep/.git/HEAD", "");
    assert_eq!(below("project/deep/down"), None);
    // What lies above the home is nobody's.
    let outer = Home::with("", "");
    outer.write("convoke.toml", "[skills]\npaths = [\"above\"]\n");
    let inner = outer.path().join("project");
    std::fs::remove_file(inner.join("convoke.toml")).unwrap();
    let at = |home: &Path| {
        let environment = convoke_config::Environment::of([("HOME", home.to_str().unwrap())]);
        convoke_config::Loader::new(environment).folder(&inner).load().unwrap().skills().first().cloned()
    };
    assert_eq!(at(&inner), None);
    assert!(at(outer.path()).is_some_and(|found| found.ends_with("above")));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_a_file_that_cannot_be_read_and_not_none() {
    use std::os::unix::fs::symlink;

    for name in ["project/convoke.toml", ".config/convoke/convoke.toml"] {
        for target in ["absent.toml", "convoke.toml"] {
            let home = Home::with("", "");
            std::fs::remove_file(home.path().join(name)).unwrap();
            symlink(target, home.path().join(name)).unwrap();
            let problems = home.plain(home.load().unwrap_err());
            let told = format!("~/{name} cannot be read: it is a link that cannot be followed");
            assert!(problems.contains(&told), "{problems}");
        }
    }
    // The same of a folder above, and a policy is found as well.
    let home = Home::new();
    symlink("absent", home.path().join(".config")).unwrap();
    assert!(home.load().is_err());
    symlink("absent.toml", home.path().join("project/policy.toml")).unwrap();
    let sub = home.project().join("sub");
    std::fs::create_dir(&sub).unwrap();
    let places = home.loader([]).folder(sub).locations();
    assert!(places.policy.is_some_and(|policy| policy.ends_with("project/policy.toml")));
    // Two links that lead nowhere are not one file.
    let home = Home::with("", "");
    symlink("absent.toml", home.path().join(".config/convoke/policy.toml")).unwrap();
    symlink("absent.toml", home.path().join("project/policy.toml")).unwrap();
    let policy = home.loader([]).locations().policy;
    assert_eq!(policy, Some(home.project().join("policy.toml")));
    let within = home.loader([]).folder(home.path().join(".config/convoke")).locations();
    assert_eq!(within.policy, None, "whoever works there has one file, not two");
}

#[cfg(unix)]
#[test]
fn a_folder_that_anybody_may_write_to_is_not_looked_into() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with("", "[skills]\npaths = [\"kept\"]\n");
    home.write("project/below/file", "");
    std::fs::set_permissions(home.project(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let config = home.loader([]).folder(home.project().join("below")).load().unwrap();
    assert_eq!(config.skills(), <[std::path::PathBuf; 0]>::default());
}

/// Only root can make files that are somebody else's.
#[cfg(unix)]
#[test]
fn what_others_put_into_a_folder_that_anybody_may_write_to_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let home = Home::with("", "[skills]\npaths = [\"kept\"]\n");
    let file = home.project().join("convoke.toml");
    if chown(&file, Some(12345), None).is_err() {
        return;
    }
    let load = || home.loader([]).folder(home.project()).load().unwrap();
    assert_eq!(load().skills().len(), 1, "nobody else could have put it there");
    std::fs::set_permissions(home.project(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let config = load();
    assert!(config.skills().is_empty());
    assert!(home.plain(config.warnings()).contains("is not used: it is not yours"));
    chown(&file, Some(0), None).unwrap();
    assert_eq!(load().skills().len(), 1);
}

#[test]
fn the_store_of_a_subfolder_is_that_of_its_project() {
    let home = Home::with("", "");
    home.write("project/deep/down/file", "");
    let places = |folder: &str| home.loader([]).folder(home.path().join(folder)).locations();
    let project = |folder: &str| {
        let folder = places(folder).project.folder;
        folder.strip_prefix(home.path().canonicalize().unwrap()).unwrap().to_owned()
    };
    assert_eq!(
        project("project/deep/down"),
        Path::new("project"),
        "where the convoke.toml is that was found"
    );
    assert_eq!(places("project/deep/down").project.store(), places("project").project.store());
    // Without one, a folder above whose runs are kept is the one that is meant.
    std::fs::remove_file(home.project().join("convoke.toml")).unwrap();
    assert_eq!(project("project/deep/down"), Path::new("project/deep/down"));
    let kept = places("project/deep").project.store().unwrap();
    home.write(kept.strip_prefix(home.path()).unwrap().to_str().unwrap(), "");
    assert_eq!(project("project/deep/down"), Path::new("project/deep"));
    // A repository is a project, with all its folders.
    home.write("project/.git/HEAD", "");
    assert_eq!(project("project/deep/down"), Path::new("project"));
    // And one within it another.
    home.write("project/deep/down/.git/HEAD", "");
    assert_eq!(project("project/deep/down"), Path::new("project/deep/down"));
}

#[test]
fn a_home_that_is_kept_in_git_is_not_the_project_of_everything_below_it() {
    let home = Home::new();
    home.write(".git/HEAD", "");
    let folder = home.loader([]).locations().project.folder;
    assert_eq!(folder, home.project().canonicalize().unwrap());
}

#[test]
fn folders_of_the_same_name_have_places_of_their_own() {
    let home = Home::new();
    home.write("one/same/file", "");
    home.write("two/same/file", "");
    let place = |folder: &str| {
        home.loader([]).folder(home.path().join(folder)).locations().project.data_folder().unwrap()
    };
    assert_ne!(place("one/same"), place("two/same"));
    let name = place("one/same").file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("same-"), "{name}");
    let odd = home.write("odd \u{1b}[31m näme/file", "");
    let name =
        place(odd.parent().unwrap().to_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.is_ascii() && !name.contains(['\u{1b}', ' ', '[']), "{name}");
}

#[test]
fn without_a_home_there_is_no_place_for_runs_and_a_data_folder_must_be_absolute() {
    let home = Home::new();
    let store = |variables: &[(&str, &str)]| {
        let environment = convoke_config::Environment::from_iter(variables.iter().copied());
        convoke_config::Loader::new(environment).folder(home.project()).load().unwrap().store()
    };
    assert_eq!(store(&[]), None);
    assert_eq!(store(&[("XDG_DATA_HOME", "data"), ("HOME", "")]), None);
    assert!(
        store(&[("XDG_DATA_HOME", "data"), ("HOME", "/home/ann")])
            .unwrap()
            .starts_with("/home/ann/.local/share/convoke")
    );
    assert!(store(&[("XDG_DATA_HOME", "/data")]).unwrap().starts_with("/data/convoke/projects"));
    assert_eq!(store(&[("CONVOKE_STORE", "/runs.db")]), Some("/runs.db".into()));
}

#[test]
fn a_file_in_the_workspace_is_within_reach_of_agents_unless_the_user_says_that_it_may_be() {
    let home = Home::with("", "");
    let config = home.load().unwrap();
    assert!(config.is_within_reach(&home.project().join("deep/runs.db")));
    assert!(config.is_within_reach(&home.project().join("../project/runs.db")));
    assert!(!config.is_within_reach(&home.path().join("runs.db")));
    let agreed = Home::with("[store]\ninside_workspace = true\n", "");
    assert!(!agreed.load().unwrap().is_within_reach(&agreed.project().join("runs.db")));
    for setting in ["path = \"/runs.db\"", "inside_workspace = true"] {
        let home = Home::with("", &format!("[store]\n{setting}\n"));
        let told = home.plain(home.load().unwrap_err());
        assert!(told.contains("counts only in your own file") && told.contains("CONVOKE_STORE"), "{told}");
    }
}

#[test]
fn a_rehearsal_is_no_file_wherever_the_configuration_is() {
    let home = Home::with("", "model = \"scripted/rehearsal\"\nfallback = [\"scripted/script.toml\"]\n");
    home.write("project/below/file", "");
    let config = home.loader([]).folder(home.project().join("below")).load().unwrap();
    assert_eq!(config.models().model.as_deref(), Some("scripted/rehearsal"));
    let script = home.project().canonicalize().unwrap().join("script.toml");
    assert_eq!(config.models().fallback, [format!("scripted/{}", script.display())]);
}

#[test]
fn a_folders_file_can_lower_what_the_user_allows_and_not_raise_it() {
    let user = "[budgets]\ntokens = 100\ncost_usd = 1\n[workspace]\nread_only = true\n[supervision]\nanswerers = [\"ann\", \"bob\"]\n";
    let folder = "[budgets]\ntokens = 500\ncost_usd = 0.5\nturns = 3\n[workspace]\nread_only = false\n[supervision]\nanswerers = [\"eve\"]\n";
    let home = Home::with(user, folder);
    let config = home.load().unwrap();
    let limits = Limits::default().tokens(100).cost(Money::from_cents(50)).turns(3);
    assert_eq!(config.limits(), limits);
    assert!(config.workspace().read_only);
    assert_eq!(config.supervision().answerers, ["ann", "bob"]);
    insta::assert_snapshot!(home.plain(config.warnings()));
    // The environment is the user's.
    let raised = home.loader([("CONVOKE_BUDGETS_TOKENS", "900"), ("CONVOKE_WORKSPACE_READ_ONLY", "no")]);
    let raised = raised.load().unwrap();
    assert_eq!((raised.limits().tokens, raised.workspace().read_only), (Some(900), false));
}

#[test]
fn agent_182_a_workspace_on_the_command_line_goes_first_and_tilde_is_the_home() {
    let home = Home::with("[workspace]\npath = \"~/work\"\n", "");
    assert_eq!(home.load().unwrap().workspace().path, home.path().join("work"));
    let flag = home.loader([]).flag("--workspace", "workspace.path", "/elsewhere").load().unwrap();
    assert_eq!(flag.workspace().path, Path::new("/elsewhere"));
    assert_eq!(flag.origin("workspace.path"), Origin::Flag("--workspace".into()));
    // A shell replaces the tilde of a flag before anybody sees it, and that of a variable not always.
    let home = Home::new();
    let variable = home.loader([("CONVOKE_WORKSPACE", "~/other")]).load().unwrap();
    assert_eq!(variable.workspace().path, home.path().join("other"));
}
