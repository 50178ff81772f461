//! "Did you mean": the known word nearest to a misspelt one.

/// The known word that `word` was probably meant to be, if one is near enough.
pub(crate) fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let tolerance = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped, replaced or swapped with their neighbour to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut above = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let replaced = row[j] + usize::from(letter != other);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *other {
                let swapped: &Vec<usize> = &above;
                best = best.min(swapped[j - 1] + 1);
            }
            next.push(best);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits_and_a_swap_is_one() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("reply", "repyl"), 1);
        assert_eq!(distance("delay", "delay"), 0);
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["reply", "reasoning", "rule"];
        assert_eq!(closest("replys", &known), Some("reply"));
        assert_eq!(closest("resaoning", &known), Some("reasoning"));
        assert_eq!(closest("temperature", &known), None);
        assert_eq!(closest("x", &known), None);
    }
}
