//! Loads the configuration as the command line says.

use std::path::{Path, PathBuf};

use convoke_config::import::AGENT_FILE;
use convoke_config::{Config, Environment, Loader};
use convoke_host::missing_folder;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Output;

/// Everything that is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Config, Failure> {
    Ok(loader(arguments).load()?)
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
    if let Some(missing) = given.iter().find_map(|folder| missing_folder(folder)) {
        return Err(Failure::usage(format!("--skills: {missing}"))
            .hint("it is the folder in which the folders of skills are"));
    }
    output.notes(missing_skills(config));
    Ok(given.iter().chain(config.skills()).cloned().collect())
}

/// What to say of folders of skills that are configured and not there.
pub(crate) fn missing_skills(config: &Config) -> impl Iterator<Item = String> {
    convoke_host::missing_skills(config).map(|missing| format!("`skills.paths`: {missing}"))
}
