//! What is configured, read as the command line says.

use std::path::{Path, PathBuf};

use convoke_config::import::AGENT_FILE;
use convoke_config::{Config, Environment, Loader};
use convoke_text::nearest;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Output;

/// Everything that is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Config, Failure> {
    loader(arguments).load().map_err(Failure::configuration)
}

/// How it is read.
pub(crate) fn loader(arguments: &Arguments) -> Loader {
    let loader = Loader::new(Environment::process()).file(arguments.config.clone());
    match arguments.named_store.as_ref().filter(|_| arguments.names_store) {
        Some(store) => loader.flag("--store", "store.path", store.display().to_string()),
        None => loader,
    }
}

/// What to say of an `agent.toml` that nobody reads, if it is here and no convoke.toml is.
pub(crate) fn overlooked(config: &Config) -> Option<String> {
    let places = config.locations();
    let is_alone = places.folder.is_none() && places.named.is_none();
    (is_alone && Path::new(AGENT_FILE).exists()).then(|| {
        format!("{AGENT_FILE} is not read: it is of the Go `agent` program; `convoke config import` makes a convoke.toml of it")
    })
}

/// Where skills are kept: those of the command line, which must be there, then those that are configured. One of these that
/// is not there is noted.
pub(crate) fn skills(
    config: &Config,
    given: &[PathBuf],
    output: &mut Output,
) -> Result<Vec<PathBuf>, Failure> {
    if let Some(missing) = given.iter().find(|folder| !at_home(folder).is_dir()) {
        return Err(Failure::usage(format!("--skills: {}", absent(missing)))
            .hint("it is the folder in which the folders of skills are"));
    }
    for missing in missing_skills(config) {
        output.note(&missing);
    }
    Ok(given.iter().chain(config.skills()).cloned().collect())
}

/// What to say of folders of skills that are configured and not there.
pub(crate) fn missing_skills(config: &Config) -> impl Iterator<Item = String> {
    let missing = config.skills().iter().filter(|folder| !at_home(folder).is_dir());
    missing.map(|folder| format!("`skills.paths`: {}", absent(folder)))
}

/// A folder as it is meant: a leading `~` is the user's home.
fn at_home(folder: &Path) -> PathBuf {
    match (folder.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.to_owned(),
    }
}

/// That a folder is not there, and which one beside it was perhaps meant.
fn absent(folder: &Path) -> String {
    let place = at_home(folder);
    let beside = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(beside).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let shown = folder.display();
    match nearest(name, names.iter().map(String::as_str)) {
        Some(meant) => {
            format!("there is no folder {shown}; did you mean {}?", folder.with_file_name(meant).display())
        }
        None => format!("there is no folder {shown}"),
    }
}
