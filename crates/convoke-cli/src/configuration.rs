//! What is configured, read as the command line says.

use std::path::{Path, PathBuf};

use convoke_config::import::AGENT_FILE;
use convoke_config::{Config, Environment, Loader};

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Everything that is configured.
pub(crate) fn load(arguments: &Arguments) -> Result<Config, Failure> {
    loader(arguments).load().map_err(Failure::configuration)
}

/// How it is read.
pub(crate) fn loader(arguments: &Arguments) -> Loader {
    let loader = Loader::new(Environment::process()).file(arguments.config.clone());
    match arguments.names_store {
        true => loader.flag("--store", "store.path", arguments.store.display().to_string()),
        false => loader,
    }
}

/// What to say of an `agent.toml` that nobody reads, if it is here and no convoke.toml is.
pub(crate) fn overlooked(config: &Config) -> Option<String> {
    let places = config.places();
    let is_alone = places.folder.is_none() && places.named.is_none();
    (is_alone && Path::new(AGENT_FILE).exists()).then(|| {
        format!("{AGENT_FILE} is not read: it is of the Go `agent` program; `convoke config import` makes a convoke.toml of it")
    })
}

/// Where skills are kept: those of the command line, which must be there, then those that are configured.
pub(crate) fn skills(config: &Config, given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let is_there = |folder: &PathBuf| match (folder.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest).is_dir(),
        _ => folder.is_dir(),
    };
    if let Some(missing) = given.iter().find(|folder| !is_there(folder)) {
        return Err(Failure::usage(format!("--skills: there is no folder {}", missing.display()))
            .hint("it is the folder in which the folders of skills are"));
    }
    Ok(given.iter().chain(config.skills()).cloned().collect())
}
