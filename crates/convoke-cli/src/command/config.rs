//! `convoke config`

use std::path::Path;

use convoke_config::{Config, FileLocations, ListedSetting, Problem, import, is_listed};
use convoke_host::HostError;
use convoke_models::choose::Service;
use convoke_models::{Credentials, choose::KeySource};
use serde_json::{Value, json};

use crate::arguments::{Arguments, ConfigCommand};
use crate::configuration;
use crate::failure::Failure;
use crate::files;
use crate::terminal::{Output, Rich, Tone, text};

/// The section of the keys of services, which are in no configuration.
const KEYS_SECTION: &str = "keys";

pub(crate) fn run(
    arguments: &Arguments,
    command: &ConfigCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show { section } => show(arguments, section.as_deref(), output),
        ConfigCommand::Path => path(arguments, output),
        ConfigCommand::Import { file, output: to } => translate(arguments, file, to, output),
    }
}

fn translate(arguments: &Arguments, file: &Path, to: &Path, output: &mut Output) -> Result<(), Failure> {
    let (name, text) = files::read(file)?;
    let imported = import::translate(&text, &name).map_err(|error| Failure::failed(error.to_string()))?;
    let is_shown = to == Path::new("-");
    if !is_shown {
        files::write_new(to, &imported.text)?;
    }
    if arguments.json {
        let written = (!is_shown).then_some(to);
        return output.json(&json!({"written": written, "text": imported.text, "notes": imported.notes}));
    }
    match is_shown {
        true => output.block(&imported.text)?,
        false => {
            output.line(&Rich::new(Tone::Good, "wrote").with(Tone::Plain, format!(" {}", to.display())))?
        }
    }
    for note in &imported.notes {
        output.note(note);
    }
    Ok(())
}

fn show(arguments: &Arguments, section: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let rows = config.listing(section, &[KEYS_SECTION]).map_err(|unknown| {
        Failure::usage(unknown.to_string()).hint(match &unknown.near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", unknown.known.join(", ")),
        })
    })?;
    let with_keys = section.is_none_or(|section| section == KEYS_SECTION);
    let credentials = with_keys.then(|| config.credentials()).transpose();
    // Keys that cannot be read are no reason to keep the rest back.
    let known = credentials.as_ref().ok().and_then(Option::as_ref);
    let services = known.map(|credentials| services(&config, credentials));
    if arguments.json {
        output.json(&as_json(&config, &rows, services.as_deref()))?;
        return Ok(credentials.map(drop).map_err(HostError::from)?);
    }
    print(&rows, services.as_deref(), output)?;
    // Who asks for a part has not asked about the rest.
    if section.is_none() && !config.warnings().is_empty() {
        output.problems(config.warnings());
    }
    if is_listed("telemetry.endpoint", section)
        && let Err(error) = config.telemetry()
    {
        output.note(&error.to_string());
    }
    Ok(credentials.map(drop).map_err(HostError::from)?)
}

/// A service, where its key is from, and what is said of that.
type ServiceKey = (&'static str, Option<KeySource>, String);

/// The keys of services: what is said of each, and where it is from.
fn services(config: &Config, credentials: &Credentials) -> Vec<ServiceKey> {
    let all = Service::ALL.iter().filter(|service| !service.key_variables.is_empty());
    all.map(|service| match credentials.key(service, config.environment()) {
        Some((_, place)) => {
            let from = match &place {
                KeySource::Variable(name) => name.clone(),
                KeySource::File(path) => path.display().to_string(),
            };
            (service.name, Some(place), format!("set, from {from}"))
        }
        None => (service.name, None, format!("not set ({})", service.key_variables.join(" or "))),
    })
    .collect()
}

fn print(
    rows: &[ListedSetting],
    services: Option<&[ServiceKey]>,
    output: &mut Output,
) -> Result<(), Failure> {
    let names = rows.iter().map(|row| row.name.len());
    let names = names.chain(services.iter().flat_map(|all| all.iter().map(|(name, ..)| name.len() + 5)));
    let width = names.max().unwrap_or_default();
    let mut last = None;
    for row in rows {
        // The keys that stand alone at the top of the file are one section.
        let own = if row.key.path.contains('.') { row.key.section() } else { "" };
        if last.replace(own).is_some_and(|last| last != own) {
            output.plain("")?;
        }
        let line = Rich::plain(format!("{:width$}  ", text::clean(&row.name)));
        output.line(&match &row.setting {
            Some(setting) => line
                .with(Tone::Accent, text::clean(&setting.value.to_string()))
                .with(Tone::Faint, text::clean(&format!("  ({})", setting.origin))),
            None => line.with(Tone::Faint, format!("{}  (default)", row.key.default)),
        })?;
    }
    let Some(services) = services else { return Ok(()) };
    if !rows.is_empty() {
        output.plain("")?;
    }
    for (name, place, said) in services {
        let tone = if place.is_some() { Tone::Good } else { Tone::Faint };
        let name = format!("{KEYS_SECTION}.{name}");
        output.line(&Rich::plain(format!("{name:width$}  ")).with(tone, said.clone()))?;
    }
    Ok(())
}

fn as_json(config: &Config, rows: &[ListedSetting], services: Option<&[ServiceKey]>) -> Value {
    let settings: Vec<Value> = rows.iter().map(ListedSetting::to_json).collect();
    let mut warnings: Vec<Value> = config.warnings().iter().map(Problem::to_json).collect();
    if let Err(error) = config.telemetry() {
        warnings.push(json!({"message": error.to_string(), "file": null, "line": null}));
    }
    let mut all = json!({"settings": settings, "warnings": warnings});
    if let Some(services) = services {
        let keys = services.iter().map(|(name, place, _)| {
            let place = match place {
                Some(KeySource::Variable(name)) => json!({"set": true, "variable": name}),
                Some(KeySource::File(path)) => json!({"set": true, "file": path}),
                None => json!({"set": false}),
            };
            ((*name).to_owned(), place)
        });
        all["keys"] = Value::Object(keys.collect());
    }
    all
}

fn path(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let places = configuration::loader(arguments).locations();
    let store = Some(&*arguments.store).filter(|store| !store.as_os_str().is_empty());
    if arguments.json {
        let file = |path: Option<&Path>| path.map(|path| json!({"path": path, "exists": path.exists()}));
        let FileLocations { user, named, folder, credentials, .. } = &places;
        return output.json(&json!({
            "user": file(user.as_deref()),
            "named": file(named.as_deref()),
            "folder": file(folder.as_deref()),
            "credentials": file(credentials.as_deref()),
            "store": file(store),
            "earlier_store": file(places.old_store.as_deref()),
        }));
    }
    let there = |path: &Path| if path.exists() { "" } else { "  (not there)" };
    let mut line = |name: &str, path: Option<&Path>, otherwise: &str| {
        let said = path.map_or_else(|| otherwise.to_owned(), |path| path.display().to_string());
        let note = path.map_or("", there);
        output.line(&Rich::plain(format!("{name:13}")).with(Tone::Plain, said).with(Tone::Faint, note))
    };
    line("user", places.user.as_deref(), "none: neither HOME nor XDG_CONFIG_HOME is set")?;
    match &places.named {
        Some(named) => line("named", Some(named), "")?,
        None => line("folder", places.folder.as_deref(), "none; it would be ./convoke.toml")?,
    }
    line("credentials", places.credentials.as_deref(), "none")?;
    let nowhere = match places.project.store() {
        Some(_) => "not known: the configuration is not valid (`convoke config show` says why)",
        None => "none: neither HOME nor XDG_DATA_HOME is set to an absolute path",
    };
    line("store", store, nowhere)?;
    match &places.old_store {
        Some(earlier) => line("earlier", Some(earlier), ""),
        None => Ok(()),
    }
}
