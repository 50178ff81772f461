//! Quotes words for commands that are copied and pasted.

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(quoted("./convoke.db"), "./convoke.db");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's $5"), r"'it'\''s $5'");
        assert_eq!(quoted(""), "''");
    }
}
