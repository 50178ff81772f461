//! The words that the table of the format is written in.

use super::Walk;
use super::rule::Rule;
use crate::pack::dialect::Dialects;
use crate::pack::document::Node;

/// What a value may be.
pub(super) enum Shape {
    /// Anything.
    Any,
    /// A text.
    Text,
    /// A text that keeps a rule.
    Checked(fn(&str) -> Result<(), Rule>),
    /// One of these texts, in the dialects that insist on it.
    OneOf(&'static [&'static str], Dialects),
    /// Yes or no.
    Truth,
    /// A whole number from here on.
    Whole(i64),
    /// A number within these bounds.
    Number(f64, f64),
    /// This, or null.
    NullOr(&'static Shape),
    /// So many of these, or more.
    List(&'static Shape, usize),
    /// So many of these or more, with names that the pack chooses.
    Names(&'static Shape, usize),
    /// Fields with names of the format.
    Fields(&'static Object),
    /// What takes more than a table.
    Custom(fn(&mut Walk, &Node, &str)),
}

/// An object with fields.
pub(super) struct Object {
    /// What messages call it: `a prompt`.
    pub(super) title: &'static str,
    pub(super) fields: &'static [Field],
    /// Who refuses fields that are not in the table: they are warned about. Without anybody, they have a meaning to somebody.
    pub(super) closed_to: Dialects,
    /// What depends on several of its fields.
    pub(super) also: Option<fn(&mut Walk, &Node, &str)>,
}

/// A field of an object.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// Who insists on it.
    pub(super) required: Dialects,
    /// Who knows it. What neither does is an extension of ours.
    pub(super) known: Dialects,
    /// What to write if it is missing.
    pub(super) example: &'static str,
}

/// A field that may be left out.
pub(super) const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: Dialects::NEITHER, known: Dialects::BOTH, example: "" }
}

/// A field that must be there.
pub(super) const fn required(name: &'static str, shape: Shape, example: &'static str) -> Field {
    Field { name, shape, required: Dialects::BOTH, known: Dialects::BOTH, example }
}

/// A field that only some know.
pub(super) const fn known_by(name: &'static str, shape: Shape, known: Dialects) -> Field {
    Field { name, shape, required: Dialects::NEITHER, known, example: "" }
}

/// An object with these fields and no others.
pub(super) const fn closed(title: &'static str, fields: &'static [Field]) -> Object {
    Object { title, fields, closed_to: Dialects::BOTH, also: None }
}

/// An object with these fields and any others.
pub(super) const fn open(title: &'static str, fields: &'static [Field]) -> Object {
    Object { title, fields, closed_to: Dialects::NEITHER, also: None }
}
