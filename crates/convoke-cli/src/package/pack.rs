//! `convoke pack`

use std::path::{Path, PathBuf};

use convoke_config::{NotReplaced, replace_own_file};
use convoke_history::human;
use convoke_host::{OtherKinds, in_words};
use convoke_package::{PackOptions, Package, SigningKey, TrustStore};
use serde_json::json;

use super::arguments::Pack;
use super::title;
use crate::failure::Failure;
use crate::terminal::{Output, Rich, Tone};

pub(super) fn run(wanted: &Pack, output: &mut Output) -> Result<(), Failure> {
    let mut options = PackOptions::default();
    options.key = wanted.key.as_ref().map(SigningKey::read).transpose()?;
    options.version = wanted.version.clone();
    options.created_at = source_date()?;
    options.reader = Some(std::sync::Arc::new(OtherKinds));
    let packed = Package::pack(&wanted.folder, &options)?;
    let package = packed.package;
    let name = || PathBuf::from(format!("{}.agent", package.manifest().name));
    let path = wanted.output.clone().unwrap_or_else(name);
    let bytes = package.to_bytes();
    write(&path, &bytes)?;
    output.notes(packed.excluded.iter().map(|left| format!("left out {}: {}", left.path, left.why)));
    let trust = options
        .key
        .as_ref()
        .map_or_else(TrustStore::default, |key| TrustStore::default().with("you", key.public()));
    let verification = package.verify(&trust);
    let files = package.list()?;
    let document = json!({
        "path": path,
        "bytes": bytes.len(),
        "manifest": package.manifest(),
        "signature": verification,
        "files": files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        "left_out": packed.excluded,
    });
    let size = human::bytes(bytes.len() as u64);
    let count = human::count(files.len() as u64, "file");
    let said = format!("  {}, {count}, {size}, {}", title(&package), in_words(&verification));
    output.give(&document, Rich::new(Tone::Strong, path.display().to_string()).with(Tone::Plain, said))
}

/// The time that builds which can be repeated are said to be made at.
fn source_date() -> Result<Option<u64>, Failure> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.to_str().and_then(|text| text.parse().ok()) {
        Some(seconds) => Ok(Some(seconds)),
        None => {
            Err(Failure::failed(format!("SOURCE_DATE_EPOCH is {text:?}, which is not a number of seconds"))
                .hint("unset it, or set it to seconds since 1970"))
        }
    }
}

/// Writes the package. A file that is no package is not replaced.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace_own_file(path, bytes, Package::is_package).map_err(|error| match error {
        NotReplaced::NoFolder(folder) => {
            let folder = folder.display();
            Failure::failed(format!("failed to write package: there is no folder {folder}"))
                .hint("make it, or name another file with `-o`")
        }
        NotReplaced::Foreign => Failure::failed(format!("{} is there, and is no package", path.display()))
            .hint("name another file with `-o`"),
        NotReplaced::Failed(error) => {
            Failure::failed(format!("failed to write package: {}: {error}", path.display()))
                .hint("name another file with `-o`")
        }
    })
}
