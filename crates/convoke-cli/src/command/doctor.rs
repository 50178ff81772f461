//! `convoke doctor`

use convoke_host::models::Models;
use convoke_host::{CheckResult, Checkup, HostError, ServiceStanding};
use convoke_models::ModelName;
use convoke_models::choose::{ModelChoice, Service};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Doctor};
use crate::configuration;
use crate::failure::{Failure, FileProblems};
use crate::host;
use crate::human;
use crate::run::open;
use crate::terminal::{Output, Rich, Tone, text};

pub(crate) async fn run(arguments: &Arguments, wanted: &Doctor, output: &mut Output) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let models = host.models()?;
    if !models.config.warnings().is_empty() {
        output.problems(models.config.warnings());
    }
    for missing in configuration::missing_skills(&models.config) {
        output.note(&missing);
    }
    let choice = models.choose(wanted.model.as_deref()).await?;
    let policies = host.policies(None);
    if let Err(HostError::Policy(invalid)) = &policies {
        output.file_problems(&FileProblems::Policy(invalid.errors.clone()));
    }
    let checkup = host.check_up(policies.as_ref()).await;
    let trial = match &choice.model {
        Some(name) => match models.check(name) {
            Ok(()) if wanted.try_it => Some(attempt(&models, name, output).await),
            Ok(()) => None,
            Err(missing) => Some(Err(missing.into())),
        },
        None => None,
    };
    let standings = models.services().await;
    if arguments.json {
        output.json(&as_json(&models, &choice, trial.as_ref(), &standings, &checkup))?;
    } else {
        print(&models, &choice, trial.as_ref(), &standings, &checkup, output)?;
    }
    let wrong: Vec<&str> =
        checkup.iter().filter_map(|(name, found)| (!found.works()).then_some(name)).collect();
    match trial {
        Some(Err(failure)) => Err(failure),
        _ if choice.model.is_none() => Err(no_model()),
        _ if !wrong.is_empty() => {
            Err(Failure::failed(format!("not everything agents need is there: {}", wrong.join(", "))))
        }
        _ => Ok(()),
    }
}

fn no_model() -> Failure {
    Failure::failed("there is no model to use")
        .hint("set a provider's key, start Ollama, or build with the cargo feature `local`")
}

fn print(
    models: &Models,
    choice: &ModelChoice,
    trial: Option<&Result<String, Failure>>,
    standings: &[(&Service, ServiceStanding)],
    checkup: &Checkup,
    output: &mut Output,
) -> Result<(), Failure> {
    let heading = |text: &str| Rich::new(Tone::Strong, text);
    let model = choice.model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let works = choice.model.is_some() && !matches!(trial, Some(Err(_)));
    let tone = if works { Tone::Good } else { Tone::Bad };
    output.line(&heading("model  ").with(tone, model))?;
    for finding in &choice.findings {
        let (mark, tone) = if finding.found.decides() { ("✓", Tone::Good) } else { ("–", Tone::Faint) };
        output.line(&Rich::plain("  ").with(tone, mark).with(Tone::Plain, format!(" {finding}")))?;
    }
    if let Some(bytes) = choice.model.as_ref().filter(|_| works).and_then(|name| models.to_fetch(name)) {
        let words = format!(" it is not here yet: {} are fetched when it is first used", human::bytes(bytes));
        output.line(&Rich::plain("  ").with(Tone::Caution, "!").with(Tone::Plain, words))?;
    }
    if let Some(Ok(words)) = trial {
        output.line(
            &Rich::plain("  ").with(Tone::Good, "✓").with(Tone::Plain, format!(" it answers: {words}")),
        )?;
    }
    output.plain("")?;
    output.line(&heading("services"))?;
    let width = Service::ALL.iter().map(|service| service.name.len()).max().unwrap_or_default();
    for (service, standing) in standings {
        let (mark, tone, state) = match standing {
            ServiceStanding::Key(place) => ("✓", Tone::Good, format!("key in {place}")),
            ServiceStanding::Open(address) => ("✓", Tone::Faint, format!("needs no key; at {address}")),
            ServiceStanding::Absent(address) => {
                ("–", Tone::Faint, format!("needs no key, but nothing answers at {address}"))
            }
            ServiceStanding::Nowhere => (
                "–",
                Tone::Faint,
                format!("needs an address: services.{}.base_url in convoke.toml", service.name),
            ),
            ServiceStanding::NoKey(variables) => ("–", Tone::Faint, format!("no key; set {variables}")),
        };
        let name = format!(" {:width$}  ", service.name);
        output.line(&Rich::plain("  ").with(tone, mark).with(Tone::Plain, name).with(Tone::Faint, state))?;
    }
    output.plain("")?;
    output.line(&heading("agents"))?;
    for (name, found) in checkup.iter() {
        let (mark, tone, words) = match found {
            CheckResult::Works(words) => ("✓", Tone::Good, words),
            CheckResult::Limited(words) => ("!", Tone::Caution, words),
            CheckResult::Missing(words) => ("✗", Tone::Bad, words),
        };
        let name = format!(" {name:width$}  ");
        let words = text::clean(words);
        output.line(&Rich::plain("  ").with(tone, mark).with(Tone::Plain, name).with(Tone::Plain, words))?;
    }
    output.plain("")?;
    let file = |path: Option<&std::path::Path>, otherwise: String| {
        path.map_or(otherwise, |path| path.display().to_string())
    };
    output.line(&heading("files"))?;
    let home = convoke_models::Credentials::home(models.config.environment());
    let no_credentials =
        format!("none; it would be {}", home.map_or_else(String::new, |path| path.display().to_string()));
    output.line(
        &Rich::plain("  credentials    ").with(Tone::Plain, file(models.credentials.path(), no_credentials)),
    )?;
    let configs: Vec<_> =
        models.config.models().paths.iter().map(|path| path.display().to_string()).collect();
    let config =
        if configs.is_empty() { "none; it would be ./convoke.toml".to_owned() } else { configs.join(", ") };
    output.line(&Rich::plain("  configuration  ").with(Tone::Plain, config))
}

fn as_json(
    models: &Models,
    choice: &ModelChoice,
    trial: Option<&Result<String, Failure>>,
    standings: &[(&Service, ServiceStanding)],
    checkup: &Checkup,
) -> Value {
    let services: serde_json::Map<String, Value> =
        standings.iter().map(|(service, standing)| (service.name.to_owned(), standing.as_json())).collect();
    json!({
        "model": choice.model.as_ref().map(ToString::to_string),
        "looked_at": choice.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "works": choice.model.is_some() && !matches!(trial, Some(Err(_))),
        "bytes_to_fetch": choice.model.as_ref().and_then(|name| models.to_fetch(name)),
        "answer": trial.and_then(|trial| trial.as_ref().ok()),
        "services": services,
        "agents": checkup.as_json(),
        "credentials": models.credentials.path(),
        "configuration": models.config.models().paths,
    })
}

/// Asks for one word.
async fn attempt(models: &Models, name: &ModelName, output: &mut Output) -> Result<String, Failure> {
    let model = open(models, name, output).await?;
    Models::try_out(&*model).await.map_err(|error| Failure::failed(error.to_string()))
}
