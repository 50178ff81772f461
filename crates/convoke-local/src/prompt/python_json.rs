//! Writes JSON as Python does: a space after commas and colons, nothing escaped that need not be.
//!
//! Chat templates were written for Python, and models have read their tools and calls in this form. Serde's compact form
//! means the same and costs a small model some of its wits.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// One line, `{"a": 1, "b": [2, 3]}`.
pub(crate) fn line(value: &impl Serialize) -> serde_json::Result<String> {
    write(value, Spaced)
}

/// Several lines, each level indented by so many spaces.
pub(crate) fn indented(value: &impl Serialize, spaces: usize) -> serde_json::Result<String> {
    write(value, PrettyFormatter::with_indent(" ".repeat(spaces).as_bytes()))
}

fn write(value: &impl Serialize, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    // Serde's JSON is UTF-8; nothing is lost here.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spaces_stand_where_python_puts_them_and_markup_stays_as_it_is() {
        let value = json!({"a": [1, 2], "b": {"c": "<x> & ü"}});
        assert_eq!(line(&value).unwrap(), r#"{"a": [1, 2], "b": {"c": "<x> & ü"}}"#);
        assert_eq!(indented(&json!({"a": 1}), 4).unwrap(), "{\n    \"a\": 1\n}");
    }
}
