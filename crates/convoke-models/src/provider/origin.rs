//! The origin of thoughts: most go back only to the model at the address that had them.

/// A short name for a model at an address that does not tell what they are: addresses may carry passwords.
pub(super) fn fingerprint(base_url: &str, model: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [base_url, model] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..8].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_stays_the_same_for_journals_that_hold_it() {
        assert_eq!(fingerprint("https://api.anthropic.com", "claude-opus-5"), "8f381e25");
    }
}
