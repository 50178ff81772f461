//! The size limit of prompts, and how texts are cut to fit it.

/// The size limit of what others made in a prompt: the values in the text of a goal come first, and what that text leaves
/// is for earlier results and iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextBudget {
    /// At most so many bytes of values in a text; and at most so many of that text, earlier results and iterations together.
    pub bytes: usize,
}

impl ContextBudget {
    /// Makes a budget of so many bytes.
    #[must_use]
    pub fn bytes(bytes: usize) -> Self {
        Self { bytes }
    }

    /// What a text leaves of it.
    pub(crate) fn beside(self, text: &str) -> Self {
        Self { bytes: self.bytes.saturating_sub(text.len()) }
    }
}

impl Default for ContextBudget {
    fn default() -> Self {
        Self { bytes: 256 * 1024 }
    }
}

/// A prompt, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FittedPrompt {
    /// The prompt.
    pub text: String,
    /// What was left out, in the order it would have stood there.
    pub cuts: Vec<CutText>,
}

/// A text that was cut.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CutText {
    /// Its name.
    pub name: String,
    /// How long it is.
    pub bytes: usize,
    /// How much of it is there. 0: nothing but its name.
    pub kept: usize,
}

/// Below this a piece of a text says nothing.
const LEAST: usize = 200;

/// Cuts texts, oldest first in the list, so that together they fit. The largest are cut first; of equally large ones the
/// oldest; the newest keeps half of what there is before the others get anything.
pub(crate) fn fit(texts: &[(&str, &str)], budget: ContextBudget) -> (Vec<String>, Vec<CutText>) {
    let allowed = allowances(&texts.iter().map(|(_, text)| text.len()).collect::<Vec<_>>(), budget.bytes);
    let mut cuts = Vec::new();
    let mut kept = Vec::with_capacity(texts.len());
    for ((name, text), allowed) in texts.iter().zip(allowed) {
        if text.len() <= allowed {
            kept.push((*text).to_owned());
            continue;
        }
        let (piece, length) = excerpt(text, allowed);
        cuts.push(CutText { name: (*name).to_owned(), bytes: text.len(), kept: length });
        kept.push(piece);
    }
    (kept, cuts)
}

/// How many bytes each of some texts may have.
fn allowances(lengths: &[usize], budget: usize) -> Vec<usize> {
    if lengths.iter().sum::<usize>() <= budget {
        return lengths.to_vec();
    }
    let Some((&newest, older)) = lengths.split_last() else { return Vec::new() };
    let older_total: usize = older.iter().sum();
    let for_newest = newest.min((budget / 2).max(budget.saturating_sub(older_total)));
    let mut left = budget - for_newest;
    // From the shortest on, each gets what it needs if an equal share allows it; those that need more share the rest.
    let mut order: Vec<usize> = (0..older.len()).collect();
    order.sort_by_key(|&index| (older[index], std::cmp::Reverse(index)));
    let mut allowed = vec![0; lengths.len()];
    for (done, &index) in order.iter().enumerate() {
        let share = left / (order.len() - done);
        let given = older[index].min(share);
        allowed[index] = given;
        left -= given;
    }
    // What is too short to say anything goes to the newest of those that were cut.
    let mut freed = 0;
    for index in 0..older.len() {
        if allowed[index] < older[index] && allowed[index] < LEAST {
            freed += allowed[index];
            allowed[index] = 0;
        }
    }
    if let Some(index) =
        (0..older.len()).rev().find(|&index| allowed[index] > 0 && allowed[index] < older[index])
    {
        allowed[index] = (allowed[index] + freed).min(older[index]);
    }
    allowed[older.len()] = for_newest;
    allowed
}

/// The beginning and the end of a text with a note between them, and how much of the text that is.
fn excerpt(text: &str, allowed: usize) -> (String, usize) {
    let head = floor(text, allowed - allowed / 3);
    let tail = ceil(text, text.len() - (allowed - head).min(text.len() - head));
    let kept = head + (text.len() - tail);
    let cut = tail - head;
    let piece = if kept == 0 {
        format!("[… left out: {} bytes …]", text.len())
    } else {
        format!("{}\n[… {cut} of {} bytes left out here …]\n{}", &text[..head], text.len(), &text[tail..])
    };
    (piece, kept)
}

fn floor(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

fn ceil(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place += 1;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_fits_is_left_alone() {
        let (kept, cuts) = fit(&[("a", "one"), ("b", "two")], ContextBudget::bytes(6));
        assert_eq!(kept, ["one", "two"]);
        assert!(cuts.is_empty());
    }

    #[test]
    fn the_largest_are_cut_first_and_it_is_said() {
        let long = "x".repeat(10_000);
        let (kept, cuts) = fit(&[("long", &long), ("short", "s"), ("new", "n")], ContextBudget::bytes(1_000));
        assert!(kept[0].contains("bytes left out here"), "{}", kept[0]);
        assert_eq!(&kept[1..], ["s", "n"]);
        assert_eq!(cuts.len(), 1);
        assert_eq!((cuts[0].name.as_str(), cuts[0].bytes), ("long", 10_000));
    }

    #[test]
    fn the_newest_keeps_half() {
        let long = "x".repeat(10_000);
        let (_, cuts) = fit(&[("old", &long), ("new", &long)], ContextBudget::bytes(2_000));
        assert_eq!(cuts.iter().map(|cut| cut.kept).collect::<Vec<_>>(), [1_000, 1_000]);
    }

    proptest! {
        #[test]
        fn together_they_fit_whatever_they_are(
            texts in prop::collection::vec("[a-zäöü€🦀\n]{0,400}", 0..12),
            bytes in 0_usize..3_000,
        ) {
            let named: Vec<(&str, &str)> = texts.iter().map(|text| ("t", text.as_str())).collect();
            let (kept, cuts) = fit(&named, ContextBudget::bytes(bytes));
            prop_assert_eq!(kept.len(), texts.len());
            let whole: usize = texts.iter().map(String::len).sum();
            let missing: usize = cuts.iter().map(|cut| cut.bytes - cut.kept).sum();
            prop_assert!(whole - missing <= bytes);
            prop_assert_eq!(cuts.is_empty(), whole <= bytes);
        }
    }
}
