//! "Did you mean": the nearest of some names.

/// The name that was most likely meant, if there is one that is near enough.
pub(crate) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word this long is no slip of the pen, and comparing it takes long.
    if written.len() > 64 {
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
        .filter(|name| !name.is_empty() && name.len() <= 64 && *name != written)
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
}
