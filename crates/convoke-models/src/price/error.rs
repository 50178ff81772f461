//! Errors of price tables.

/// Errors of price tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// It is not TOML.
    #[error("line {line}: the price table is not valid TOML: {message}")]
    Syntax {
        /// Where; counted from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// There is no such key.
    #[error("line {line}: unknown key `{key}`; {}", advice(hint.as_deref(), known))]
    UnknownKey {
        /// Where.
        line: usize,
        /// The key.
        key: String,
        /// The key that was probably meant.
        hint: Option<String>,
        /// The keys there are.
        known: &'static [&'static str],
    },
    /// A key's value is of the wrong kind.
    #[error("line {line}: `{key}` is {found}; write {expected}")]
    WrongValue {
        /// Where.
        line: usize,
        /// The key.
        key: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A key is not there.
    #[error("line {line}: `{key}` is missing; write {expected}")]
    MissingKey {
        /// Where it should be.
        line: usize,
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A name is none.
    #[error("line {line}: `{name}` is not a model's name; {remedy}")]
    WrongName {
        /// Where.
        line: usize,
        /// What stands there.
        name: String,
        /// What to do.
        remedy: &'static str,
    },
}

fn advice(hint: Option<&str>, known: &[&str]) -> String {
    match hint {
        Some(hint) => format!("did you mean `{hint}`?"),
        None => format!("known keys are `{}`", known.join("`, `")),
    }
}
