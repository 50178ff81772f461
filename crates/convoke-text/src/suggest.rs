//! "Did you mean": the known name nearest to a misspelt one.
//!
//! Everything of ours that reads what people write (Agentfiles, configurations, names of models) asks here, so that the
//! same slip is understood everywhere in the same way.

/// Longer words are no slips of the pen, and comparing them takes long.
const LONGEST: usize = 64;

/// The name that was most likely meant, if there is one that is near enough.
///
/// ```
/// use convoke_text::nearest;
///
/// assert_eq!(nearest("modle", ["model", "fallback"]), Some("model"));
/// assert_eq!(nearest("first-draft", ["first_draft"]), Some("first_draft"));
/// assert_eq!(nearest("banana", ["model", "fallback"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST {
        return None;
    }
    let allowed = match written.chars().count() {
        0..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    let lower = written.to_lowercase();
    names
        .into_iter()
        .filter(|name| !name.is_empty() && name.len() <= LONGEST && *name != written)
        .map(|name| {
            let name_lower = name.to_lowercase();
            let distance = strsim::osa_distance(&lower, &name_lower);
            // `-` for `_` is the commonest slip.
            let same_words = lower.replace('-', "_") == name_lower.replace('-', "_");
            (if same_words { 0 } else { distance }, name)
        })
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["analyze", "polish", "first_draft"];
        assert_eq!(nearest("anlayze", names), Some("analyze"));
        assert_eq!(nearest("Polish", names), Some("polish"));
        assert_eq!(nearest("first-draft", names), Some("first_draft"));
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["reply", "reasoning", "rule"];
        assert_eq!(nearest("replys", known), Some("reply"));
        assert_eq!(nearest("resaoning", known), Some("reasoning"));
        assert_eq!(nearest("temperature", known), None);
        assert_eq!(nearest("x", known), None);
    }
}
