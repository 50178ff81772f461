//! `convoke config`

use std::path::Path;

use convoke_config::import;
use convoke_config::schema::{self, KEYS, Key};
use convoke_config::{Config, FileLocations, FileScope, Origin, Setting};
use convoke_host::HostError;
use convoke_models::choose::Service;
use convoke_models::{Credentials, choose::KeySource};
use convoke_text::nearest;
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
    if let Some(section) = section {
        must_be_known(section)?;
    }
    let mut rows: Vec<Row> = KEYS.iter().flat_map(|key| rows(&config, key)).collect();
    rows.retain(|row| is_in(&row.name, section));
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
    if is_in("telemetry.endpoint", section)
        && let Err(error) = config.telemetry()
    {
        output.note(&error.to_string());
    }
    Ok(credentials.map(drop).map_err(HostError::from)?)
}

/// A value as it is shown.
struct Row {
    key: &'static Key,
    name: String,
    /// `None` if nobody set it.
    setting: Option<Setting>,
}

/// The rows of a key: what is set, or the default. Those with names of the user's come together, name by name.
fn rows(config: &Config, key: &'static Key) -> Vec<Row> {
    let is_like = |other: &Key| match key.is_named() {
        true => other.is_named() && other.section() == key.section(),
        false => other.path == key.path,
    };
    if KEYS.iter().find(|other| is_like(other)).is_some_and(|first| first.path != key.path) {
        return Vec::new();
    }
    let set = config.settings().iter().filter(|setting| is_like(setting.key));
    let mut rows: Vec<Row> =
        set.map(|setting| Row { key, name: setting.name.clone(), setting: Some(setting.clone()) }).collect();
    if rows.is_empty() && !key.is_named() {
        rows.push(Row { key, name: key.path.to_owned(), setting: None });
    }
    rows
}

/// Whether a key is in what was asked for.
fn is_in(path: &str, section: Option<&str>) -> bool {
    let Some(section) = section else { return true };
    let mut parts = path.split('.');
    section.split('.').all(|asked| parts.next().is_some_and(|part| part == asked || part == "*"))
}

fn must_be_known(section: &str) -> Result<(), Failure> {
    if section == KEYS_SECTION || KEYS.iter().any(|key| is_in(key.path, Some(section))) {
        return Ok(());
    }
    let known: Vec<_> = schema::sections().chain([KEYS_SECTION]).collect();
    let failure = Failure::usage(format!("there is no section or key `{section}`"));
    Err(match nearest(section, known.iter().copied().chain(KEYS.iter().map(|key| key.path))) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("there are {}", known.join(", "))),
    })
}

/// The keys of services: what is said of each, and where it is from.
fn services(config: &Config, credentials: &Credentials) -> Vec<(&'static str, Option<KeySource>, String)> {
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
    rows: &[Row],
    services: Option<&[(&'static str, Option<KeySource>, String)]>,
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

fn as_json(
    config: &Config,
    rows: &[Row],
    services: Option<&[(&'static str, Option<KeySource>, String)]>,
) -> Value {
    let settings: Vec<Value> = rows
        .iter()
        .map(|row| match &row.setting {
            Some(setting) => {
                json!({"key": row.name, "value": setting.value.to_json(), "origin": origin(&setting.origin)})
            }
            None => json!({"key": row.name, "value": null, "default": row.key.default, "origin": {"kind": "default"}}),
        })
        .collect();
    let mut warnings: Vec<Value> = config
        .warnings()
        .iter()
        .map(|problem| {
            let place = problem.line();
            json!({"message": problem.message, "file": place.map(|(file, _)| file), "line": place.map(|(_, line)| line)})
        })
        .collect();
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

fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::Default => json!({"kind": "default"}),
        Origin::File { path, line, scope } => {
            let kind = if *scope == FileScope::User { "user_file" } else { "folder_file" };
            json!({"kind": kind, "file": path, "line": line})
        }
        Origin::Variable(name) => json!({"kind": "variable", "name": name}),
        Origin::Flag(name) => json!({"kind": "flag", "name": name}),
        Origin::Several(all) => all.iter().map(self::origin).collect(),
    }
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
        Some(_) => "not known: the configuration is not valid (`convoke config check` says why)",
        None => "none: neither HOME nor XDG_DATA_HOME is set to an absolute path",
    };
    line("store", store, nowhere)?;
    match &places.old_store {
        Some(earlier) => line("earlier", Some(earlier), ""),
        None => Ok(()),
    }
}
