//! Writes the manifest of a new package: what was asked for, then what the folder's manifest says, then what the Agentfile
//! shows.

use convoke_core::Timestamp;
use convoke_goals::agentfile::Agentfile;
use convoke_goals::agentfile::model::{Input, Type};

use super::PackOptions;
use crate::error::PackageError;
use crate::manifest::{Author, InputInfo, Manifest, Requires};

pub(super) fn manifest(
    mut manifest: Manifest,
    file: &Agentfile,
    options: &PackOptions,
) -> Result<Manifest, PackageError> {
    manifest.format = Manifest::FORMAT;
    if manifest.name.trim().is_empty() {
        manifest.name = file.name.clone();
    }
    if let Some(version) = &options.version {
        manifest.version = version.clone();
    } else if manifest.version.trim().is_empty() {
        manifest.version = "0.0.0".to_owned();
    }
    if let Some(description) = &options.description {
        manifest.description = description.clone();
    }
    if let Some(license) = &options.license {
        manifest.license = license.clone();
    }
    for input in &file.inputs {
        manifest.inputs.entry(input.name.clone()).or_insert_with(|| described(input));
    }
    requires(&mut manifest, file);
    if let Some(author) = &options.author {
        manifest.author = Some(author.clone());
    }
    if let Some(author) = &mut manifest.author {
        // Only a signature says this.
        author.key_fingerprint = String::new();
    }
    if let Some(key) = &options.key {
        manifest.author.get_or_insert_with(Author::default).key_fingerprint =
            key.public().fingerprint().to_string();
    }
    manifest.created_at = options.created_at.map(|seconds| {
        let micros = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        Timestamp::from_micros(micros).to_string().replace(".000Z", "Z")
    });
    manifest.check()?;
    Ok(manifest)
}

fn described(input: &Input) -> InputInfo {
    let values = match &input.ty {
        Type::OneOf(values) => values.iter().map(|value| value.as_str().into()).collect(),
        _ => Vec::new(),
    };
    let ty = if values.is_empty() { input.ty.to_string() } else { "string".to_owned() };
    InputInfo {
        required: input.default.is_none(),
        default: input.default.clone(),
        ty,
        description: String::new(),
        values,
    }
}

fn requires(manifest: &mut Manifest, file: &Agentfile) {
    for profile in file.agents.iter().filter_map(|agent| agent.requires.as_ref()) {
        let requires = manifest.requires.get_or_insert_with(Requires::default);
        if !requires.profiles.contains(profile) {
            requires.profiles.push(profile.clone());
        }
    }
}
