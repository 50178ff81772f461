//! `convoke doctor`

use std::path::Path;

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
    let trial_of = trial.as_ref();
    let findings =
        Findings { models: &models, choice: &choice, trial: trial_of, standings, checkup: &checkup };
    match arguments.json {
        true => output.json(&findings.to_json())?,
        false => findings.print(output)?,
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

/// Everything that was found out.
struct Findings<'a> {
    models: &'a Models,
    choice: &'a ModelChoice,
    /// What the model said when it was asked for a word, or why it cannot be had.
    trial: Option<&'a Result<String, Failure>>,
    standings: Vec<(&'a Service, ServiceStanding)>,
    checkup: &'a Checkup,
}

impl Findings<'_> {
    fn works(&self) -> bool {
        self.choice.model.is_some() && !matches!(self.trial, Some(Err(_)))
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let Self { models, choice, trial, standings, checkup } = self;
        let heading = |text: &str| Rich::new(Tone::Strong, text);
        let row = |mark: &str, tone: Tone, words: String| {
            Rich::plain("  ").with(tone, mark).with(Tone::Plain, format!(" {words}"))
        };
        let model = choice.model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        let tone = if self.works() { Tone::Good } else { Tone::Bad };
        output.line(&heading("model  ").with(tone, model))?;
        for finding in &choice.findings {
            let (mark, tone) =
                if finding.found.decides() { ("✓", Tone::Good) } else { ("–", Tone::Faint) };
            output.line(&row(mark, tone, finding.to_string()))?;
        }
        let used = choice.model.as_ref().filter(|_| self.works());
        if let Some(bytes) = used.and_then(|name| models.to_fetch(name)) {
            let bytes = human::bytes(bytes);
            let words = format!("it is not here yet: {bytes} are fetched when it is first used");
            output.line(&row("!", Tone::Caution, words))?;
        }
        if let Some(Ok(words)) = trial {
            output.line(&row("✓", Tone::Good, format!("it answers: {words}")))?;
        }
        output.plain("")?;
        output.line(&heading("services"))?;
        let width = Service::ALL.iter().map(|service| service.name.len()).max().unwrap_or_default();
        for (service, standing) in standings {
            let name = service.name;
            let (mark, tone, state) = match standing {
                ServiceStanding::Key(place) => ("✓", Tone::Good, format!("key in {place}")),
                ServiceStanding::Open(address) => ("✓", Tone::Faint, format!("needs no key; at {address}")),
                ServiceStanding::Absent(address) => {
                    ("–", Tone::Faint, format!("needs no key, but nothing answers at {address}"))
                }
                ServiceStanding::Nowhere => {
                    ("–", Tone::Faint, format!("needs an address: services.{name}.base_url in convoke.toml"))
                }
                ServiceStanding::NoKey(variables) => ("–", Tone::Faint, format!("no key; set {variables}")),
            };
            output.line(&row(mark, tone, format!("{name:width$}  ")).with(Tone::Faint, state))?;
        }
        output.plain("")?;
        output.line(&heading("agents"))?;
        for (name, found) in checkup.iter() {
            let (mark, tone, words) = match found {
                CheckResult::Works(words) => ("✓", Tone::Good, words),
                CheckResult::Limited(words) => ("!", Tone::Caution, words),
                CheckResult::Missing(words) => ("✗", Tone::Bad, words),
            };
            output.line(&row(mark, tone, format!("{name:width$}  {}", text::clean(words))))?;
        }
        output.plain("")?;
        output.line(&heading("files"))?;
        let shown = |path: &Path| path.display().to_string();
        let home = convoke_models::Credentials::home(models.config.environment());
        let credentials = models.credentials.path().map_or_else(
            || format!("none; it would be {}", home.as_deref().map(shown).unwrap_or_default()),
            shown,
        );
        output.line(&Rich::plain(format!("  credentials    {credentials}")))?;
        let configs: Vec<_> = models.config.models().paths.iter().map(|path| shown(path)).collect();
        let none = || "none; it would be ./convoke.toml".to_owned();
        let configs = if configs.is_empty() { none() } else { configs.join(", ") };
        output.line(&Rich::plain(format!("  configuration  {configs}")))
    }

    fn to_json(&self) -> Value {
        let Self { models, choice, trial, standings, checkup } = self;
        let services =
            standings.iter().map(|(service, standing)| (service.name.to_owned(), standing.as_json()));
        json!({
            "model": choice.model.as_ref().map(ToString::to_string),
            "looked_at": choice.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "works": self.works(),
            "bytes_to_fetch": choice.model.as_ref().and_then(|name| models.to_fetch(name)),
            "answer": trial.and_then(|trial| trial.as_ref().ok()),
            "services": services.collect::<serde_json::Map<_, _>>(),
            "agents": checkup.as_json(),
            "credentials": models.credentials.path(),
            "configuration": models.config.models().paths,
        })
    }
}

/// Asks for one word.
async fn attempt(models: &Models, name: &ModelName, output: &mut Output) -> Result<String, Failure> {
    let model = open(models, name, output).await?;
    Models::try_out(&*model).await.map_err(|error| Failure::failed(error.to_string()))
}
