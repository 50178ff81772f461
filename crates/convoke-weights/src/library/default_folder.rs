//! The default folder of the library.

use std::path::PathBuf;

use convoke_text::xdg;

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
    let data = xdg::data_folder(|name| match name {
        // Of a user without the variable, the system may know where the home is.
        "HOME" => std::env::home_dir(),
        _ => set(name),
    });
    Ok(data.ok_or(WeightsError::NoFolder)?.join("convoke/models"))
}
