//! What a server was given and nobody else may see, so that it can be taken out of texts that are shown or written down.

/// The shortest value that counts as a secret. Shorter ones (a port, a flag) are none, and are part of many words.
const SHORTEST: usize = 6;

/// What stands in the place of a secret.
const HIDDEN: &str = "(secret)";

/// Values that must not be shown.
#[derive(Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        // One may be part of another: the longer one goes first, or its rest would stay.
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self(values)
    }

    /// The text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }

    /// A text whose beginning is missing without them, and without what may be the rest of one.
    pub(crate) fn hide_in_rest(&self, text: &str) -> String {
        let rests = self.0.iter().flat_map(|secret| secret.char_indices().map(|(at, _)| &secret[at..]));
        let rest = rests.filter(|rest| text.starts_with(rest)).map(str::len).max().unwrap_or(0);
        self.hide(&text[rest..])
    }
}

/// Says nothing.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_one_is_hidden_too() {
        let secrets = Secrets::new(["hush-hush".to_owned()]);
        assert_eq!(secrets.hide_in_rest("sh-hush and hush-hush"), " and (secret)");
        assert_eq!(secrets.hide_in_rest("and so on"), "and so on");
    }

    #[test]
    fn the_longer_one_is_hidden_whole() {
        let secrets = Secrets::new(["abcdef", "Bearer abcdef", "8080", ""].map(str::to_owned));
        assert_eq!(secrets.hide("Bearer abcdef or abcdef at 8080"), "(secret) or (secret) at 8080");
        assert!(!format!("{secrets:?}").contains("abcdef"));
    }
}
