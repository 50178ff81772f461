//! Settings, with where each value comes from, and which services have keys.

use convoke_config::{Config, ListedSetting, Problem};
use convoke_history::Tone;
use convoke_history::lines::Rich;
use convoke_models::choose::{CredentialsError, KeySource, Service};
use serde_json::{Value, json};

use super::View;
use crate::failure::FailureReport;

/// The section of the keys of services, which are in no configuration.
const KEYS_SECTION: &str = "keys";

/// Everything that is configured, or a part of it.
#[derive(Debug)]
pub struct Settings<'a> {
    config: &'a Config,
    rows: Vec<ListedSetting>,
    /// The keys of services, unless they were not asked for or cannot be read.
    services: Option<Vec<ServiceKey>>,
    /// Why keys cannot be read: no reason to keep the rest back.
    pub unreadable_keys: Option<CredentialsError>,
}

/// A service, and where its key is from.
#[derive(Debug)]
struct ServiceKey {
    service: &'static Service,
    source: Option<KeySource>,
}

impl<'a> Settings<'a> {
    /// Those of a section or a key, or all of them.
    ///
    /// # Errors
    /// If there is no such section or key.
    pub fn of(config: &'a Config, section: Option<&str>) -> Result<Self, FailureReport> {
        let rows = config.listing(section, &[KEYS_SECTION]).map_err(|unknown| {
            FailureReport::usage(unknown.to_string()).hint(match &unknown.near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", unknown.known.join(", ")),
            })
        })?;
        let with_keys = section.is_none_or(|section| section == KEYS_SECTION);
        let (credentials, unreadable_keys) = match with_keys.then(|| config.credentials()).transpose() {
            Ok(credentials) => (credentials, None),
            Err(error) => (None, Some(error)),
        };
        let services = credentials.map(|credentials| {
            let all = Service::ALL.iter().filter(|service| !service.key_variables.is_empty());
            let source = |service| Some(credentials.key(service, config.environment())?.1);
            all.map(|service| ServiceKey { service, source: source(service) }).collect()
        });
        Ok(Self { config, rows, services, unreadable_keys })
    }
}

impl View for Settings<'_> {
    fn document(&self) -> Value {
        let settings: Vec<Value> = self.rows.iter().map(ListedSetting::to_json).collect();
        let mut warnings: Vec<Value> = self.config.warnings().iter().map(Problem::to_json).collect();
        if let Err(error) = self.config.telemetry() {
            warnings.push(json!({"message": error.to_string(), "file": null, "line": null}));
        }
        let mut all = json!({"settings": settings, "warnings": warnings});
        if let Some(services) = &self.services {
            let keys = services.iter().map(|key| {
                let source = match &key.source {
                    Some(KeySource::Variable(name)) => json!({"set": true, "variable": name}),
                    Some(KeySource::File(path)) => json!({"set": true, "file": path}),
                    None => json!({"set": false}),
                };
                (key.service.name.to_owned(), source)
            });
            all["keys"] = Value::Object(keys.collect());
        }
        all
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let services = self.services.as_deref().unwrap_or_default();
        let names = self.rows.iter().map(|row| row.name.len());
        let names = names.chain(services.iter().map(|key| key.service.name.len() + 5));
        let width = names.max().unwrap_or_default();
        let mut lines = Vec::new();
        let mut last = None;
        for row in &self.rows {
            // The keys that stand alone at the top of the file are one section.
            let own = if row.key.path.contains('.') { row.key.section() } else { "" };
            if last.replace(own).is_some_and(|last| last != own) {
                lines.push(Rich::default());
            }
            let line = Rich::plain(format!("{:width$}  ", row.name));
            lines.push(match &row.setting {
                Some(setting) => line
                    .with(Tone::Accent, setting.value.to_string())
                    .with(Tone::Faint, format!("  ({})", setting.origin)),
                None => line.with(Tone::Faint, format!("{}  (default)", row.key.default)),
            });
        }
        if !self.rows.is_empty() && self.services.is_some() {
            lines.push(Rich::default());
        }
        lines.extend(services.iter().map(|ServiceKey { service, source }| {
            let (tone, said) = match source {
                Some(KeySource::Variable(name)) => (Tone::Good, format!("set, from {name}")),
                Some(KeySource::File(path)) => (Tone::Good, format!("set, from {}", path.display())),
                None => (Tone::Faint, format!("not set ({})", service.key_variables.join(" or "))),
            };
            let name = format!("{KEYS_SECTION}.{}", service.name);
            Rich::plain(format!("{name:width$}  ")).with(tone, said)
        }));
        lines
    }
}
