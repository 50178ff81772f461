//! Checks names of models, which are names of folders too.

use crate::WeightsError;

/// The longest name that is one.
const LONGEST: usize = 100;

/// That this can be a model's name: it becomes a folder, so it must not lead anywhere else.
pub(crate) fn check(name: &str) -> Result<(), WeightsError> {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well && name.len() <= LONGEST && name.chars().all(is_fine) {
        return Ok(());
    }
    Err(WeightsError::BadName { name: name.to_owned() })
}

/// The name for a file that brings none: its own, in small letters and without its ending.
pub(crate) fn of_file(file: &str) -> Result<String, WeightsError> {
    let stem = file.strip_suffix(".gguf").or_else(|| file.strip_suffix(".GGUF")).unwrap_or(file);
    let name = stem.to_ascii_lowercase().replace(' ', "-");
    check(&name)?;
    Ok(name)
}
