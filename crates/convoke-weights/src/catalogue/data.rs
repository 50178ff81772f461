//! Parses a catalogue.

use std::collections::HashSet;

use serde::Deserialize;

use super::{CatalogueEntry, CatalogueFile, FileSource, ModelKind, Sampling, WheelSource};
use crate::{Digest, name};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    model: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    title: String,
    kind: ModelKind,
    #[serde(default)]
    default: bool,
    licence: String,
    context_tokens: u64,
    sampling: Option<Sampling>,
    file: Vec<File>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    bytes: u64,
    sha256: Digest,
    source: Vec<AnySource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnySource {
    address: Option<String>,
    package: Option<String>,
    version: Option<String>,
    member: Option<String>,
    parts: Option<usize>,
}

pub(super) fn read(text: &str) -> Result<Vec<CatalogueEntry>, String> {
    let document: Document = toml::from_str(text).map_err(|error| error.to_string())?;
    let entries = document.model.into_iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    let mut names = HashSet::new();
    let mut defaults = HashSet::new();
    for entry in &entries {
        for name in entry.aliases.iter().chain([&entry.name]) {
            if !names.insert(name) {
                return Err(format!("two models are called `{name}`"));
            }
        }
        if entry.is_default && !defaults.insert(entry.kind) {
            return Err(format!("`{}` is the second default of its kind", entry.name));
        }
    }
    Ok(entries)
}

fn entry(model: Model) -> Result<CatalogueEntry, String> {
    let of = |message: String| format!("model `{}`: {message}", model.name);
    name::check(&model.name).map_err(|error| error.to_string())?;
    let files = model.file.into_iter().map(file).collect::<Result<Vec<_>, _>>().map_err(of)?;
    if files.is_empty() {
        return Err(of("it has no files".to_owned()));
    }
    Ok(CatalogueEntry {
        name: model.name,
        aliases: model.aliases,
        title: model.title,
        kind: model.kind,
        is_default: model.default,
        licence: model.licence,
        context_tokens: model.context_tokens,
        sampling: model.sampling,
        files,
    })
}

fn file(file: File) -> Result<CatalogueFile, String> {
    name::check(&file.name).map_err(|error| error.to_string())?;
    let sources = file.source.into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
    if sources.is_empty() {
        return Err(format!("file `{}` has no source", file.name));
    }
    Ok(CatalogueFile { name: file.name, bytes: file.bytes, sha256: file.sha256, sources })
}

fn source(source: AnySource) -> Result<FileSource, String> {
    match (source.address, source.package, source.version, source.member, source.parts) {
        (Some(address), None, None, None, None) => Ok(FileSource::Address(address)),
        (None, Some(package), Some(version), Some(member), parts) => {
            let parts = parts.unwrap_or(1);
            if parts == 0 {
                return Err("`parts` must be 1 or more".to_owned());
            }
            Ok(FileSource::Wheels(WheelSource { package, version, member, parts }))
        }
        _ => Err("a source has `address`, or `package`, `version`, `member` and perhaps `parts`".to_owned()),
    }
}
