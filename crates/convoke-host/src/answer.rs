//! Answers that are values or files, as people give them.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_core::{Decision, Media, MediaSource};

/// The most that a file may have: it is kept with the run.
const LARGEST: u64 = 8 << 20;

/// A value or file that is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAnswer {
    /// It is not JSON.
    #[error("that is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no file, or too large a one.
    #[error("{} is not a file of at most 8 MiB", file.display())]
    NotAFile {
        /// What it is called.
        file: PathBuf,
    },
}

/// The answer that is this JSON text.
///
/// # Errors
/// If it is not JSON.
pub fn json_answer(json: &str) -> Result<Decision, InvalidAnswer> {
    Ok(Decision::Json { value: serde_json::from_str(json)? })
}

/// The answer that is these files.
///
/// # Errors
/// If one of them cannot be read, or is too large.
pub fn media_answer(files: &[PathBuf]) -> Result<Decision, InvalidAnswer> {
    let media = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    Ok(Decision::Media { media })
}

fn read(file: &Path) -> Result<Media, InvalidAnswer> {
    let unreadable = |source| InvalidAnswer::Unreadable { file: file.to_owned(), source };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(InvalidAnswer::NotAFile { file: file.to_owned() });
    }
    let bytes = std::fs::read(file).map_err(unreadable)?;
    Ok(Media {
        media_type: media_type(file).to_owned(),
        name: file.file_name().map(|name| name.to_string_lossy().into_owned()),
        source: MediaSource::Base64(STANDARD.encode(bytes)),
    })
}

/// What kind of file it is, by its name.
fn media_type(file: &Path) -> &'static str {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        Some("json") => "application/json",
        Some("md" | "txt" | "log" | "csv") => "text/plain",
        _ => "application/octet-stream",
    }
}
