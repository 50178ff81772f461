//! From text to tokens.
//!
//! Keywords of the original language are words of their own kind and can never be names. The words that came later
//! (`MODEL`, `WHEN`, `LOOP`, ...) are ordinary identifiers here and get their meaning from where they stand, so that a
//! file that uses one of them as a name stays valid.

mod scan;
mod string;
mod token;

pub use scan::{Lexed, lex};
pub use token::{Comment, Comparison, Illegal, Keyword, Token, TokenKind};
