//! Quotes words for commands that are copied and pasted.

/// A word as a shell reads it back.
#[must_use]
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word as a command takes it that is followed by no options: one that begins like an option stands behind `--`.
#[must_use]
pub fn shell_argument(word: &str) -> String {
    let dashes = if word.starts_with('-') { "-- " } else { "" };
    format!("{dashes}{}", shell_quoted(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(shell_quoted("./convoke.db"), "./convoke.db");
        assert_eq!(shell_quoted("two words"), "'two words'");
        assert_eq!(shell_quoted("it's $5"), r"'it'\''s $5'");
        assert_eq!(shell_quoted(""), "''");
    }

    #[test]
    fn a_name_that_begins_like_an_option_is_none() {
        assert_eq!(shell_argument("-ok"), "-- -ok");
        assert_eq!(shell_argument("--it's"), r"-- '--it'\''s'");
        assert_eq!(shell_argument("Approved"), "Approved");
    }
}
