//! A setting: one value with its key, origin and location.

use crate::problem::SourceLocation;
use crate::schema::Key;
use crate::{Origin, Value};

/// A value that somebody set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its name: `budgets.tokens`, `profiles.fast.model`.
    pub name: String,
    /// What is known of its key.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// Its place in a file, to point at.
    pub(crate) place: Option<SourceLocation>,
}

impl Setting {
    /// The name that the user chose, if its key has one: `fast` in `profiles.fast.model`.
    pub(crate) fn own_name(&self) -> Option<&str> {
        if !self.key.is_named() {
            return None;
        }
        let rest = self.name.strip_prefix(self.key.section())?.strip_prefix('.')?;
        match self.key.path.rsplit('.').next() {
            Some("*") => rest.rsplit('.').next(),
            Some(last) => rest.strip_suffix(last)?.strip_suffix('.'),
            None => None,
        }
    }
}
