//! Passages found for a question, each with where it stands.
//!
//! Only the trait and what goes through it. What is found is material that somebody else wrote: whoever shows it to a model labels
//! it as such, and makes finding it an effect.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::step::BoxFuture;

/// Finds passages that fit a question.
pub trait Retriever: Send + Sync {
    /// The passages that fit best, best first, at most so many.
    fn retrieve<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Passage>, Error>>;
}

/// Finds what is to be searched by its name, or says why there is none; the empty name is whatever there is.
pub type RetrieverSource = Arc<dyn Fn(&str) -> Result<Arc<dyn Retriever>, String> + Send + Sync>;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The text.
    pub text: String,
    /// Where it stands.
    #[serde(flatten)]
    pub source: PassageSource,
    /// How well it fits, in comparison with others that were found with it.
    pub score: f32,
}

/// The place of a passage, so that an answer can cite it.
///
/// ```
/// use convoke_core::PassageSource;
///
/// let place = PassageSource { document: "guide.md".to_owned(), lines: Some((3, 9)), ..PassageSource::default() };
/// assert_eq!(place.to_string(), "guide.md, lines 3-9");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageSource {
    /// The document: a file, mostly.
    pub document: String,
    /// The headings above it, outermost first, with ` > ` between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The page, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its first and last line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
}

impl fmt::Display for PassageSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.document)?;
        if let Some(page) = self.page {
            write!(formatter, ", page {page}")?;
        }
        match self.lines {
            Some((first, last)) if first == last => write!(formatter, ", line {first}")?,
            Some((first, last)) => write!(formatter, ", lines {first}-{last}")?,
            None => {}
        }
        match &self.heading {
            Some(heading) => write!(formatter, ", \"{heading}\""),
            None => Ok(()),
        }
    }
}
