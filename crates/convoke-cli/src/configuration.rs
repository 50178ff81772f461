//! What is configured, read as the command line says.

use std::path::PathBuf;

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

/// Where skills are kept: those of the command line, then those that are configured.
pub(crate) fn skills(config: &Config, given: &[PathBuf]) -> Vec<PathBuf> {
    given.iter().chain(config.skills()).cloned().collect()
}
