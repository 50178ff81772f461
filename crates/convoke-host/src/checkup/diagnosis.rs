//! Everything that a look at this machine found out: the model that would be used, services, what agents need.

use std::path::Path;

use convoke_history::lines::Rich;
use convoke_history::{Tone, human};
use convoke_models::Credentials;
use convoke_models::choose::{ModelChoice, Service};
use serde_json::{Map, Value, json};

use super::{CheckResult, Checkup, ServiceStanding};
use crate::failure::FailureReport;
use crate::models::Models;
use crate::view::View;

/// Everything that was found out.
pub struct Diagnosis<'a> {
    /// The models there are.
    pub models: &'a Models,
    /// The one that would be used, and why.
    pub choice: ModelChoice,
    /// What the model said when it was asked for a word, or why it cannot be had.
    pub trial: Option<Result<String, FailureReport>>,
    /// Each service, and how it stands.
    pub standings: Vec<(&'static Service, ServiceStanding)>,
    /// What agents need, and whether it is there.
    pub checkup: Checkup,
}

impl Diagnosis<'_> {
    fn works(&self) -> bool {
        self.choice.model.is_some() && !matches!(self.trial, Some(Err(_)))
    }

    /// Returns why agents cannot work here, if they cannot.
    #[must_use]
    pub fn failure(self) -> Option<FailureReport> {
        if let Some(Err(failure)) = self.trial {
            return Some(failure);
        }
        if self.choice.model.is_none() {
            let none = FailureReport::failed("there is no model to use");
            return Some(
                none.hint("set a provider's key, start Ollama, or build with the cargo feature `local`"),
            );
        }
        let wrong = self.checkup.iter().filter_map(|(name, found)| (!found.works()).then_some(name));
        let wrong: Vec<&str> = wrong.collect();
        let message = || format!("not everything agents need is there: {}", wrong.join(", "));
        (!wrong.is_empty()).then(|| FailureReport::failed(message()))
    }
}

impl View for Diagnosis<'_> {
    fn document(&self) -> Value {
        let Self { models, choice, trial, standings, checkup } = self;
        let services =
            standings.iter().map(|(service, standing)| (service.name.to_owned(), standing.as_json()));
        json!({
            "model": choice.model.as_ref().map(ToString::to_string),
            "looked_at": choice.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "works": self.works(),
            "bytes_to_fetch": choice.model.as_ref().and_then(|name| models.to_fetch(name)),
            "answer": trial.as_ref().and_then(|trial| trial.as_ref().ok()),
            "services": services.collect::<Map<_, _>>(),
            "agents": checkup.as_json(),
            "credentials": models.credentials.path(),
            "configuration": models.config.models().paths,
        })
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let Self { models, choice, trial, standings, checkup } = self;
        let heading = |text: &str| Rich::new(Tone::Strong, text);
        let row = |mark: &str, tone: Tone, words: String| {
            Rich::plain("  ").with(tone, mark).with(Tone::Plain, format!(" {words}"))
        };
        let model = choice.model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        let tone = if self.works() { Tone::Good } else { Tone::Bad };
        let mut lines = vec![heading("model  ").with(tone, model)];
        lines.extend(choice.findings.iter().map(|finding| {
            let (mark, tone) =
                if finding.found.decides() { ("✓", Tone::Good) } else { ("–", Tone::Faint) };
            row(mark, tone, finding.to_string())
        }));
        let used = choice.model.as_ref().filter(|_| self.works());
        if let Some(bytes) = used.and_then(|name| models.to_fetch(name)) {
            let bytes = human::bytes(bytes);
            let words = format!("it is not here yet: {bytes} are fetched when it is first used");
            lines.push(row("!", Tone::Caution, words));
        }
        if let Some(Ok(words)) = trial {
            lines.push(row("✓", Tone::Good, format!("it answers: {words}")));
        }
        lines.extend([Rich::default(), heading("services")]);
        let width = Service::ALL.iter().map(|service| service.name.len()).max().unwrap_or_default();
        lines.extend(standings.iter().map(|(service, standing)| {
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
            row(mark, tone, format!("{name:width$}  ")).with(Tone::Faint, state)
        }));
        lines.extend([Rich::default(), heading("agents")]);
        lines.extend(checkup.iter().map(|(name, found)| {
            let (mark, tone) = match found {
                CheckResult::Works(_) => ("✓", Tone::Good),
                CheckResult::Limited(_) => ("!", Tone::Caution),
                CheckResult::Missing(_) => ("✗", Tone::Bad),
            };
            row(mark, tone, format!("{name:width$}  {}", found.words()))
        }));
        lines.extend([Rich::default(), heading("files")]);
        let shown = |path: &Path| path.display().to_string();
        let home = Credentials::home(models.config.environment());
        let credentials = models.credentials.path().map_or_else(
            || format!("none; it would be {}", home.as_deref().map(shown).unwrap_or_default()),
            shown,
        );
        lines.push(format!("  credentials    {credentials}").into());
        let configs: Vec<_> = models.config.models().paths.iter().map(|path| shown(path)).collect();
        let none = "none; it would be ./convoke.toml".to_owned();
        let configs = if configs.is_empty() { none } else { configs.join(", ") };
        lines.push(format!("  configuration  {configs}").into());
        lines
    }
}
