//! The default folder of the library.

use std::path::PathBuf;

use crate::WeightsError;

/// The folder named by `CONVOKE_MODELS`, or `convoke/models` where this user's data is (`XDG_DATA_HOME`, or
/// `~/.local/share`).
///
/// # Errors
/// [`WeightsError::NoFolder`] if there is no such place.
pub fn default_folder() -> Result<PathBuf, WeightsError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("CONVOKE_MODELS") {
        return Ok(folder);
    }
    // The specification wants paths that are not absolute to be ignored.
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    Ok(data.ok_or(WeightsError::NoFolder)?.join("convoke/models"))
}
