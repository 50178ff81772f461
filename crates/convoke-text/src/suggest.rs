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
    let own = letters(&lower);
    names
        .into_iter()
        .filter(|name| !name.is_empty() && name.len() <= LONGEST && *name != written)
        .filter_map(|name| {
            let name_lower = name.to_lowercase();
            let theirs = letters(&name_lower);
            // Every letter that only one of them has is a slip: most words need no closer look.
            if (own & !theirs).count_ones().max((theirs & !own).count_ones()) as usize > allowed {
                return None;
            }
            let distance = strsim::osa_distance(&lower, &name_lower);
            // `-` for `_` is the commonest slip.
            let same_words = lower.replace('-', "_") == name_lower.replace('-', "_");
            Some((if same_words { 0 } else { distance }, name))
        })
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The letters of a word, as bits; those beyond ASCII are left out, and `-` is `_`.
fn letters(word: &str) -> u128 {
    let ascii = word.bytes().filter(u8::is_ascii);
    ascii.fold(0, |letters, byte| letters | 1 << if byte == b'-' { b'_' } else { byte })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_that_is_near_is_passed_over_for_its_letters() {
        let letters = ['a', 'b', 'c', '-', '_', 'ä', 'D'];
        let word = |number: usize| -> String {
            (0..5).map(|place| letters[number / letters.len().pow(place) % letters.len()]).collect()
        };
        let known: Vec<String> = (0..400).map(|number| word(number * 41)).collect();
        for written in (0..200).map(|number| word(number * 83 + 7)) {
            let near = known.iter().filter(|name| **name != written);
            let slips = |name: &String| strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
            let found = nearest(&written, known.iter().map(String::as_str));
            let best = near.map(slips).min().filter(|best| *best <= 2);
            assert!(found.is_some() || best.is_none(), "{written}: {best:?}");
        }
    }

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
