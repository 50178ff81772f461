//! Tests of problem reports: messages, locations, suggestions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use common::{Home, read};
use convoke_config::Style;
use convoke_config::schema::KEYS;
use convoke_models::PriceTable;

/// What a user is told about a folder's file with this text.
fn told(text: &str) -> String {
    let home = Home::with("", text);
    home.plain(home.load().unwrap_err())
}

#[test]
fn everything_is_reported_at_once_with_its_place_and_a_suggestion() {
    insta::assert_snapshot!(told(
        "modle = \"gpt-5.4\"\nfallback = [\"antropic/x\", 3]\n\n[services.antropic]\n[services.openai]\nbase_url = \"example.org\"\n\n\
         [profiles.fast]\nmax_tokens = \"500\"\ntemperature = 3\nreasoning = \"hihg\"\n\n[profiles.empty]\n\n[budgets]\nwall_time = 30\ntokens = -1\ncost = 3\n\n\
         [supervision]\nmodel = \"gpt-5.4\"\nprofile = \"fats\"\n\n[mcp.files]\ncommand = \"x\"\n"
    ));
}

#[test]
fn agentcore_224_what_is_no_toml_or_no_time_is_an_error_that_names_the_key() {
    insta::assert_snapshot!(told("model = \"x\nfallback = [\n[store\n"));
    let error = told("[budgets]\nwall_time = \"soon\"\n");
    assert!(
        error.contains("`budgets.wall_time`: invalid duration `soon`: write `30s`, `5m`, `1h30m`"),
        "{error}"
    );
    let error = told("[supervision]\nhuman_expiry = \"later\"\n");
    assert!(error.contains("`supervision.human_expiry`: invalid duration `later`"), "{error}");
    // A file that is not there is no mistake; one that cannot be read is, whatever the others say.
    let home = Home::with("[budgets]\nwall_time = \"soon\"\n", "model = \"gpt-5.4\"\n");
    assert_eq!(home.load().unwrap_err().errors(), 1);
}

#[test]
fn agent_179_names_of_other_tools_are_errors_that_say_what_to_write() {
    let text =
        "[storage]\npath = \"x\"\n[state]\nlocation = \"y\"\n[llm]\nmodel = \"x\"\n[supervisor]\n[otel]\n";
    insta::assert_snapshot!(told(text));
    for section in ["storage", "state"] {
        let error = told(&format!("[{section}]\npath = \"x\"\n"));
        assert!(error.contains(&format!("there is no key `{section}`")), "{error}");
        assert!(error.contains("did you mean `store`?"), "{error}");
    }
    let error = told("[store\npath = \"x\"\n");
    assert!(error.starts_with("error: ") && error.contains("convoke.toml:1:"), "{error}");
}

#[test]
fn no_secret_is_shown_whatever_is_wrong_with_the_file() {
    for text in [
        "api_key = \"sk-secret\"\n",
        "[anthropic]\napi_key = \"sk-secret\"\n",
        "[services.openai]\nheaders = { authorization = \"Bearer sk-secret\", \"bad name\" = 3 }\n",
        "[services.openai]\nbase_url = \"ftp://ann:sk-secret@h.example\"\n",
        "[services.openai]\nheaders = \"sk-secret\"\n",
        "[telemetry]\nheaders = { a = \"sk-secret\", b = [\"sk-secret\"] }\nendpoint = 3\n",
        "[llm]\ntoken = { a = \"sk-secret\" }\n",
        "key = sk-secret\n",
        "key = \"sk-secret\nmodel = 3\n",
        "'''\nsk-secret\n",
    ] {
        let error = Home::with("", text).load().unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
    let error = told("api_key = \"sk-secret\"\n");
    assert!(error.contains("credentials.toml"), "{error}");
}

#[test]
fn a_secret_in_a_file_is_warned_about_and_not_shown() {
    let home =
        Home::with("", "[services.openai]\nheaders = { x-api-key = \"sk-secret\", x-team = \"looms\" }\n");
    let config = home.load().unwrap();
    let shown = home.plain(config.warnings());
    assert!(
        shown.contains("there seems to be a secret in `x-api-key`") && !shown.contains("sk-secret"),
        "{shown}"
    );
    assert_eq!(config.warnings().iter().count(), 1);
    assert!(!format!("{config:?}").contains("sk-secret"));
}

#[test]
fn variables_and_flags_are_checked_like_files() {
    let home = Home::new();
    let wrong = home.loader([
        ("CONVOKE_BUDGETS_TOKENS", "many"),
        ("CONVOKE_LOG", "infos"),
        ("CONVOKE_TELEMETRY_SAMPLE_RATIO", "2"),
        ("CONVOKE_WORKSPACE_READ_ONLY", "perhaps"),
        ("CONVOKE_FALLBACK", "gpt-5.4,nowhere/x"),
    ]);
    insta::assert_snapshot!(wrong.load().unwrap_err());
    let misspelt = home.loader([("CONVOKE_MODLE", "x"), ("CONVOKE_SOMETHING_ELSE", "x")]).load().unwrap();
    let warnings = misspelt.warnings().to_string();
    assert!(warnings.contains("did you mean CONVOKE_MODEL?"), "{warnings}");
    assert_eq!(misspelt.warnings().iter().count(), 1);
    assert!(home.loader([]).flag("--store", "store.pth", "x").load().is_err());
    let both = [("CONVOKE_SUPERVISION_MODEL", "gpt-5.4"), ("CONVOKE_SUPERVISION_PROFILE", "fast")];
    let error = home.loader(both).load().unwrap_err().to_string();
    assert!(error.contains("`supervision` has a model and a profile"), "{error}");
}

#[test]
fn a_variable_of_other_programs_that_we_cannot_use_is_a_warning() {
    let home = Home::new();
    let config = home.loader([("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]).load().unwrap();
    assert_eq!(config.telemetry().unwrap().endpoint, None);
    assert!(config.warnings().to_string().contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{}", config.warnings());
    let config = home.loader([("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")]).load().unwrap();
    assert_eq!(config.telemetry().unwrap().endpoint.as_deref(), Some("http://127.0.0.1:4318"));
    assert!(home.loader([("CONVOKE_TELEMETRY_ENDPOINT", "localhost:4317")]).load().is_err());
}

#[test]
fn a_file_that_is_broken_anywhere_is_told_about_without_showing_its_secrets() {
    let text = "model = \"gpt-5.4\"\n[services.openai]\nbase_url = \"https://u:SECRET@h.example/v1\"\n\
                headers = { x-key = \"SECRET\", 'é' = '''SECRET''' }\n[budgets]\ntokens = 1_000\n[odd]\nx = [\"SECRET\", { y = \"SECRET\" }]\n";
    let home = Home::new();
    for (at, letter) in text.char_indices() {
        let without = format!("{}{}", &text[..at], &text[at + letter.len_utf8()..]);
        let doubled = format!("{}{letter}{}", &text[..at], &text[at..]);
        for broken in [&text[..at], &without, &doubled] {
            // A secret that is itself cut in two is none.
            home.write("project/convoke.toml", broken);
            let shown = match home.load() {
                Ok(config) => format!("{config:?} {}", config.warnings()),
                Err(error) => format!("{error:?} {error}"),
            };
            assert!(!shown.contains("SECRET"), "{broken}\n{shown}");
        }
    }
}

#[test]
fn of_very_many_mistakes_the_first_are_told_and_the_others_counted() {
    let many: String = (0..20_000).map(|number| format!("unknown_{number} = 1\n")).collect();
    let error = Home::with("", &many).load().unwrap_err();
    assert_eq!(error.errors(), 51);
    assert!(error.to_string().contains("there are 19950 more mistakes"));
}

#[test]
fn numbers_are_kept_within_what_makes_sense() {
    for text in [
        "[profiles.p]\nmax_tokens = 0\n",
        "[profiles.p]\nmax_tokens = 4294967296\n",
        "[profiles.p]\ntemperature = nan\n",
        "[profiles.p]\ntop_p = 1.1\n",
        "[budgets]\ncost_usd = -1\n",
        "[budgets]\ncost_usd = inf\n",
        "[budgets]\nmodel_calls = 0\n",
        "[budgets]\nwall_time = \"0s\"\n",
        "[services.openai]\nrequests_per_second = 0\n",
        "[services.openai]\nconcurrent_requests = 1.5\n",
        "[supervision]\nmax_reorients = 101\n",
        "[telemetry]\nsample_ratio = -0.1\n",
        "[telemetry]\nendpoint = \"ftp://h\"\n",
        "[workspace]\nsummary = \"yes\"\n",
        "store = \"x.db\"\n",
        "[services.gemini]\nidle_seconds = 3\n[services.google]\nidle_seconds = 4\n",
        "[model]\nname = \"x\"\n",
        "trusted_hosts = [\"https://h.example/\"]\n",
        "trusted_hosts = [\"h.example:80\"]\n",
        "[profiles.\"a.b\"]\nmodel = \"gpt-5.4\"\n",
        "[skills]\npaths = [\"\"]\n",
    ] {
        let error = read(text).map(drop).unwrap_err();
        assert_eq!(error.errors(), 1, "{text}: {error}");
        assert!(error.iter().next().unwrap().line().is_some(), "{error}");
    }
}

#[test]
fn nothing_in_a_file_controls_the_terminal() {
    let text = "\"a\\u001b[31m\" = 1\n[\"b\\u0007\"]\nx = \"\u{9b}\"\n";
    let error = Home::with("", text).load().unwrap_err();
    assert!(!error.to_string().contains(['\u{1b}', '\u{7}', '\u{9b}']), "{error:?}");
    assert!(error.render(Style { color: true, width: 80 }).contains("\u{1b}["));
    assert!(!error.render(Style { color: true, width: 80 }).contains("\u{1b}[31m\""));
}

#[test]
fn the_documented_keys_and_variables_are_the_accepted_ones() {
    let page = include_str!("../../../docs/configuration.md");
    let cells = page.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        (cells.next().unwrap().trim_matches('`').to_owned(), line)
    });
    let is_key = |name: &str| !name.starts_with("CONVOKE_") && !name.starts_with("convoke ");
    let documented: Vec<_> = cells.filter(|(name, _)| is_key(name)).collect();
    let names: Vec<_> = documented.iter().map(|(name, _)| name.replace("NAME", "*")).collect();
    let accepted: Vec<_> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    assert_eq!(names, accepted);
    for (key, (_, line)) in KEYS.iter().zip(&documented) {
        for variable in key.variables {
            assert!(line.contains(variable), "{line} lacks {variable}");
        }
        assert!(line.contains(key.about.trim_end_matches('.')), "{line} lacks: {}", key.about);
    }
}

#[test]
fn the_example_of_the_documents_is_valid() {
    let page = include_str!("../../../docs/configuration.md");
    let examples: Vec<_> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!examples.is_empty());
    let (prices, settings): (Vec<_>, Vec<_>) =
        examples.into_iter().partition(|example| example.starts_with("# prices.toml"));
    let [prices] = prices[..] else { panic!("there is one example of prices") };
    let prices = PriceTable::parse(prices).unwrap_or_else(|error| panic!("{error}"));
    assert!(prices.price("compatible/house-model").is_some() && prices.price("groq/any").is_none());
    for example in settings {
        let home = Home::with(example, "");
        home.load().unwrap_or_else(|error| panic!("{error}"));
    }
}
