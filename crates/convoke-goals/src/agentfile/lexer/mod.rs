//! The lexer: splits a text into tokens.
//!
//! Keywords of the Go `agent` program's language are words of their own kind and can never be names. The words that came later
//! (`MODEL`, `WHEN`, `LOOP`, ...) are ordinary identifiers here and get their meaning from where they stand, so that a
//! file that uses one of them as a name stays valid.

mod scan;
mod string;
mod token;

pub use scan::{Lexed, lex};
pub use token::{Comment, Comparison, Illegal, Keyword, Token, TokenKind};

/// Whether a text is written as a name is: a letter or `_`, then letters, digits, `_` and `-`.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(is_name_byte)
}

/// Whether a byte can be in a name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
