//! The manifest of a package.

use std::collections::BTreeMap;

use convoke_text::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::archive_path;
use crate::error::PackageError;

/// The manifest of a package: `manifest.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The format; 1 is the only one.
    #[serde(default)]
    pub format: u32,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// Which version it is.
    #[serde(default)]
    pub version: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// Under which licence it may be used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// What the workflow takes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, InputInfo>,
    /// What it gives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, OutputInfo>,
    /// What it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<Requires>,
    /// Other packages it is to be used with, and which versions of them. They are listed, not fetched.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<String, String>,
    /// When it was made, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

/// The author of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Author {
    /// Their name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How to reach them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// The key they say they signed it with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key_fingerprint: String,
}

/// A value a workflow takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputInfo {
    /// It must be given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What it is otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What it may be.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub ty: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The values it may have.
    #[serde(default, rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
}

/// A value a workflow gives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutputInfo {
    /// What it is.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub ty: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The requirements of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Requires {
    /// Profiles of models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl Manifest {
    /// The only format there is.
    pub const FORMAT: u32 = 1;

    const KEYS: [&str; 11] = [
        "format",
        "name",
        "version",
        "description",
        "author",
        "license",
        "inputs",
        "outputs",
        "requires",
        "dependencies",
        "created_at",
    ];

    /// Reads the manifest of a package. What it says beyond what is known here is ignored, but is signed all the same.
    pub(crate) fn of_package(bytes: &[u8]) -> Result<Self, PackageError> {
        let manifest: Self = parse(bytes)?;
        if manifest.format != Self::FORMAT {
            let reason = format!("it is in format {}, and this program reads format 1", manifest.format);
            return Err(PackageError::Manifest { reason });
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// Reads a manifest that somebody wrote by hand, for a package to be made.
    pub(crate) fn of_folder(bytes: &[u8]) -> Result<Self, PackageError> {
        let keys: BTreeMap<String, Value> = parse(bytes)?;
        if let Some(unknown) = keys.keys().find(|key| !Self::KEYS.contains(&key.as_str())) {
            let meant = nearest(unknown, Self::KEYS)
                .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            return Err(PackageError::Manifest { reason: format!("there is no key `{unknown}`{meant}") });
        }
        parse(bytes)
    }

    /// Names and versions become folders: they must be fit for that.
    pub(crate) fn check(&self) -> Result<(), PackageError> {
        for (what, text) in [("name", &self.name), ("version", &self.version)] {
            archive_path::segment(text).map_err(|reason| PackageError::Manifest {
                reason: format!("its {what} {text:?} cannot be used: {reason}"),
            })?;
        }
        Ok(())
    }

    /// The bytes that are stored and signed. They are written as the `agent` program writes them.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, PackageError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| PackageError::Manifest { reason: error.to_string() })?;
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                other => escaped.push(other),
            }
        }
        Ok(escaped.into_bytes())
    }
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, PackageError> {
    serde_json::from_slice(bytes).map_err(|error| PackageError::Manifest { reason: error.to_string() })
}
