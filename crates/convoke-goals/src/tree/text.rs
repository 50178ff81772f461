//! Texts and names of a tree.

use std::sync::Arc;

use crate::agentfile::Template;

/// The name of a node or a value.
pub type Name = Arc<str>;

/// A text with variables in it: `$name`, `${name}`; `$$` is a dollar.
///
/// Which part of `$security-scan` is the name depends on which names there are, so a text is read when the tree it is in
/// is prepared, once. What a variable's value has in it is never looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// As it is written.
    Written(String),
    /// Read already: a file was checked.
    Read(Template<Name>),
}

impl Text {
    /// Returns whether there is nothing but white space in it.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Written(text) => text.trim().is_empty(),
            Self::Read(template) => template.is_blank(),
        }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self::Written(text.into())
    }
}

impl From<Template<Name>> for Text {
    fn from(template: Template<Name>) -> Self {
        Self::Read(template)
    }
}
