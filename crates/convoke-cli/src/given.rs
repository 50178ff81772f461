//! Answers that are values or files, as people give them on a command line or at a question.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_core::{Decision, Media, MediaSource};

use crate::failure::Failure;

/// The most that a file may have: it is kept with the run.
const LARGEST: u64 = 8 << 20;

/// The value that is written like this.
pub(crate) fn value(json: &str) -> Result<Decision, Failure> {
    let value = serde_json::from_str(json).map_err(|error| {
        Failure::usage(format!("that is not JSON: {error}")).hint("a text stands between double quotes")
    })?;
    Ok(Decision::Json { value })
}

/// These files.
pub(crate) fn media(files: &[PathBuf]) -> Result<Decision, Failure> {
    let media = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    Ok(Decision::Media { media })
}

fn read(file: &Path) -> Result<Media, Failure> {
    let unreadable = |error| Failure::usage(format!("{} cannot be read: {error}", file.display()));
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(Failure::usage(format!("{} is no file of at most 8 MiB", file.display())));
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
