//! The words that the table of the format is written in.

use super::Verdict;
use super::rule::Rule;
use crate::pack::dialect::{BOTH, Dialects, NEITHER};
use crate::pack::document::Node;

/// What a value may be.
pub(super) enum Shape {
    /// Anything.
    Any,
    /// A text.
    Text,
    /// A text of so many characters.
    Length(usize, usize),
    /// A text that keeps a rule.
    Checked(&'static Rule),
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
    Custom(fn(&mut Verdict, &Node, &str)),
}

/// An object with fields.
pub(super) struct Object {
    /// What messages call it: `a prompt`.
    pub(super) title: &'static str,
    pub(super) fields: &'static [Field],
    /// Who refuses fields that are not in the table: they are warned about, also where nobody refuses them. Without a word, they have a
    /// meaning to somebody.
    pub(super) closed_to: Option<Dialects>,
    /// What depends on several of its fields.
    pub(super) also: Option<fn(&mut Verdict, &Node, &str)>,
}

/// A field of an object, or several that are alike.
pub(super) struct Field {
    names: &'static str,
    pub(super) shape: Shape,
    /// Who insists on it.
    pub(super) required: Dialects,
    /// Who knows it. What neither does is an extension of ours.
    pub(super) known: Dialects,
    /// What to write if it is missing; where nobody insists on it, nothing.
    pub(super) example: &'static str,
    /// Why it has no effect, if it has none.
    pub(super) idle: Option<&'static str>,
}

impl Field {
    /// The same, with the reason why nothing here heeds it.
    pub(super) const fn without_effect(self, why: &'static str) -> Self {
        Self { idle: Some(why), ..self }
    }
}

/// Fields that may be left out.
pub(super) const fn optional(names: &'static str, shape: Shape) -> Field {
    known_by(names, shape, BOTH)
}

/// Fields that only some know.
pub(super) const fn known_by(names: &'static str, shape: Shape, known: Dialects) -> Field {
    Field { names, shape, required: NEITHER, known, example: "", idle: None }
}

/// Fields that must be there.
pub(super) const fn required(names: &'static str, shape: Shape, example: &'static str) -> Field {
    required_by(names, shape, BOTH, example)
}

/// Fields that must be there for some.
pub(super) const fn required_by(
    names: &'static str,
    shape: Shape,
    by: Dialects,
    example: &'static str,
) -> Field {
    Field { names, shape, required: by, known: BOTH, example, idle: None }
}

/// An object, by what messages call it.
pub(super) const fn named(title: &'static str) -> Object {
    Object { title, fields: &[], closed_to: None, also: None }
}

impl Object {
    /// It has these fields and no others.
    pub(super) const fn closed(self, fields: &'static [Field]) -> Self {
        self.closed_to(BOTH, fields)
    }

    /// It has these fields, and to some no others. Nobody heeds others, whoever lets them be.
    pub(super) const fn closed_to(self, closed_to: Dialects, fields: &'static [Field]) -> Self {
        Self { fields, closed_to: Some(closed_to), ..self }
    }

    /// It has these fields and any others.
    pub(super) const fn open(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }

    /// It keeps a rule that is about several of its fields.
    pub(super) const fn and(self, also: fn(&mut Verdict, &Node, &str)) -> Self {
        Self { also: Some(also), ..self }
    }

    /// Its fields, by name.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static Field, &'static str)> + use<> {
        self.fields.iter().flat_map(|field| field.names.split(' ').map(move |name| (field, name)))
    }

    /// The field of a name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.rows().find(|(_, known)| *known == name).map(|(field, _)| field)
    }
}
