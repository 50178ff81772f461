//! A line of standard input as it was typed. What cannot be read is told from what is not there: nobody's words get lost without a
//! word.

use std::io::{self, BufRead};

/// What is said of a line that cannot be read.
pub(crate) const UNREADABLE: &str = "that is no text in UTF-8, and was not sent; type it again";

/// What standard input gave.
pub(crate) enum Typed {
    /// A line, without its end.
    Line(String),
    /// A line that is no text in UTF-8.
    Unreadable,
    /// There is nothing more.
    End,
    /// Standard input cannot be read any more.
    Gone,
}

/// Reads a line.
pub(crate) fn read_typed() -> Typed {
    let mut bytes = Vec::new();
    match io::stdin().lock().read_until(b'\n', &mut bytes) {
        Ok(0) => Typed::End,
        Ok(_) => match String::from_utf8(bytes) {
            Ok(line) => Typed::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
            Err(_) => Typed::Unreadable,
        },
        Err(_) => Typed::Gone,
    }
}
