//! Where keys and packages are kept.

use std::path::{Path, PathBuf};

use convoke_config::Environment;
use convoke_host::trust_store;
use convoke_package::{PublicKey, TrustStore};

use crate::failure::Failure;

/// This user's settings.
pub(super) fn settings() -> Result<PathBuf, Failure> {
    Environment::process().configuration_folder().ok_or_else(|| no_home("this user's settings"))
}

/// The folder of trusted keys.
pub(super) fn trusted() -> Result<PathBuf, Failure> {
    Ok(settings()?.join("trusted"))
}

/// Only this key, or everybody this user trusts.
pub(super) fn trust(key: Option<&Path>) -> Result<TrustStore, Failure> {
    let Some(path) = key else { return Ok(trust_store(&Environment::process())?) };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(TrustStore::default().with(name, PublicKey::read(path)?))
}

/// Where packages are unpacked to.
pub(super) fn packages() -> Result<PathBuf, Failure> {
    let environment = Environment::process();
    // The specification wants paths that are not absolute to be ignored.
    let data = environment.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || environment.get("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    Ok(data.or_else(home).ok_or_else(|| no_home("packages"))?.join("convoke/packages"))
}

fn no_home(what: &str) -> Failure {
    Failure::failed(format!("there is no place for {what}: home directory unavailable"))
        .hint("set HOME, or say where with an option")
}
