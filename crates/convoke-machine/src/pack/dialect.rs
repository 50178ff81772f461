//! The two published versions of the format, which disagree, and what each of them says about a pack.

use std::fmt;

use serde::Serialize;

/// A published version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Dialect {
    /// Schema 1.4.0 of the specification.
    #[serde(rename = "1.4.0")]
    V1_4,
    /// Schema 1.5.0, which the original runtime brings with it.
    #[serde(rename = "1.5.0")]
    V1_5,
}

impl Dialect {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::V1_4, Self::V1_5];

    /// Its version.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_4 => "1.4.0",
            Self::V1_5 => "1.5.0",
        }
    }

    /// The version that a pack's `$schema` names, if it names one: `…/v1.4.0/…`, `…/v1.5/…`.
    #[must_use]
    pub fn named_by(schema: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| {
            let version = dialect.name();
            let minor = &version[..version.len() - 2];
            schema.split('/').any(|part| {
                let part = part.strip_prefix('v').unwrap_or(part);
                part == version || part == minor
            })
        })
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Some dialects.
pub(super) type Dialects = &'static [Dialect];

pub(super) const NEITHER: Dialects = &[];
pub(super) const V1_4: Dialects = &[Dialect::V1_4];
pub(super) const V1_5: Dialects = &[Dialect::V1_5];
pub(super) const BOTH: Dialects = &Dialect::ALL;

/// Something that keeps a dialect from accepting a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// Which dialect it is.
    pub dialect: Dialect,
    /// Where, as a JSON pointer.
    pub path: String,
    /// What it does not accept.
    pub message: String,
}

/// The opinions of the dialects about a pack. What only one of them refuses is no mistake here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Compatibility {
    pub(super) refusals: Vec<Refusal>,
}

impl Compatibility {
    /// Returns whether a dialect accepts the pack.
    #[must_use]
    pub fn accepts(&self, dialect: Dialect) -> bool {
        self.refusals_of(dialect).next().is_none()
    }

    /// Returns why a dialect does not accept it.
    pub fn refusals_of(&self, dialect: Dialect) -> impl Iterator<Item = &Refusal> {
        self.refusals.iter().filter(move |refusal| refusal.dialect == dialect)
    }
}
