//! Finds fragments of secrets: what is left of one in a text that was cut before the secret was hidden.
//!
//! Texts are cut in many places: an error quotes the beginning of a body, a tool leaves out the middle of an output. A cut
//! may go through a secret, and half of one is not found any more by whoever looks for the whole. So more than half of a
//! secret is looked for too, wherever it stands: who hides needs to know nothing about who cuts.

use std::ops::Range;

/// The shortest piece, in characters. Anything shorter is part of ordinary words.
const SHORTEST: usize = 8;

/// The shortest piece where the text was obviously cut.
const SHORTEST_AT_CUT: usize = 6;

/// What of the middle of a secret every piece has, before or after.
const ANCHOR: usize = 4;

/// More than half of a secret, in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFragment {
    /// Where it stands in the text, in bytes.
    pub place: Range<usize>,
    /// Which part of the secret it is, in bytes.
    pub part: Range<usize>,
}

/// The first piece of a secret in a text, from this byte on: more than half of it, and at least eight characters (six
/// where the text ends, or says that something was left out). It is as long as it can be.
///
/// ```
/// use convoke_text::secret_fragments::first_fragment;
///
/// let piece = first_fragment("correct-horse-battery", "it said: rect-horse-battery!", 0);
/// assert_eq!(piece.map(|piece| piece.place), Some(9..27));
/// assert_eq!(first_fragment("correct-horse-battery", "-battery", 0), None);
/// ```
#[must_use]
pub fn first_fragment(secret: &str, text: &str, from: usize) -> Option<SecretFragment> {
    let length = secret.chars().count();
    if length <= SHORTEST_AT_CUT {
        return None;
    }
    // More than half of a secret has its middle in it, and on one side of that, the middle included, half of the piece.
    let byte = |at: usize| secret.char_indices().nth(at).map_or(secret.len(), |(byte, _)| byte);
    let middle = (length - 1) / 2;
    let anchors = [middle, middle + 1 - ANCHOR].map(|at| byte(at)..byte(at + ANCHOR));
    let next = |anchor: &Range<usize>, from: usize| {
        text.get(from..)?.find(&secret[anchor.clone()]).map(|found| from + found)
    };
    let mut found = anchors.each_ref().map(|anchor| next(anchor, from));
    loop {
        let which = match found {
            [Some(one), Some(other)] => usize::from(other < one),
            [one, other] => usize::from(one.or(other).is_some() && one.is_none()),
        };
        let at = found[which]?;
        let piece = extended(secret, text, from, &anchors[which], at);
        if is_enough(secret, text, length, &piece) {
            return Some(piece);
        }
        let step = text[at..].chars().next().map_or(1, char::len_utf8);
        found[which] = next(&anchors[which], at + step);
    }
}

/// The text with something else in the place of every piece of a secret.
#[must_use]
pub fn without_fragments(secret: &str, text: &str, instead: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(piece) = first_fragment(secret, text, from) {
        clean.push_str(&text[from..piece.place.start]);
        clean.push_str(instead);
        from = piece.place.end;
    }
    clean.push_str(&text[from..]);
    clean
}

/// What the text and the secret have in common around a place where both have the same.
fn extended(secret: &str, text: &str, from: usize, anchor: &Range<usize>, at: usize) -> SecretFragment {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let bytes = |(character, _): (char, char)| character.len_utf8();
    let before = text[from..at].chars().rev().zip(secret[..anchor.start].chars().rev());
    let before: usize = before.take_while(same).map(bytes).sum();
    let end = at + anchor.len();
    let after = text[end..].chars().zip(secret[anchor.end..].chars());
    let after: usize = after.take_while(same).map(bytes).sum();
    SecretFragment { place: at - before..end + after, part: anchor.start - before..anchor.end + after }
}

fn is_enough(secret: &str, text: &str, length: usize, piece: &SecretFragment) -> bool {
    let characters = text[piece.place.clone()].chars().count();
    let is_cut_before = || is_cut(text[..piece.place.start].trim_end_matches(' ').chars().next_back());
    let is_cut_after = || is_cut(text[piece.place.end..].trim_start_matches(' ').chars().next());
    let is_at_cut =
        || (piece.part.start == 0 || is_cut_before()) && (piece.part.end == secret.len() || is_cut_after());
    2 * characters > length && (characters >= SHORTEST || (characters >= SHORTEST_AT_CUT && is_at_cut()))
}

/// Whether a text was cut where this stands beside it: nothing, the end of a line, or what says that something is missing.
fn is_cut(beside: Option<char>) -> bool {
    matches!(beside, None | Some('\n' | '…' | '[' | ']' | '\u{fffd}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(secret: &str, text: &str) -> String {
        without_fragments(secret, text, "#")
    }

    #[test]
    fn more_than_half_of_a_secret_is_found_wherever_it_is_cut() {
        let secret = "abcdefghijklmnop";
        for (text, clean) in [
            ("x abcdefghijklmnop y", "x # y"),
            ("x abcdefghi y", "x # y"),
            ("hijklmnop", "#"),
            ("x defghijklm y", "x # y"),
            ("abcdefgh, ijklmnop", "abcdefgh, ijklmnop"),
            ("abcdefghi abcdefghijkl", "# #"),
            ("abcdefghihijklmnop", "##"),
        ] {
            assert_eq!(pieces(secret, text), clean, "{text}");
        }
    }

    #[test]
    fn a_shorter_piece_counts_where_the_text_was_cut() {
        let secret = "hunter2-x";
        for (text, clean) in [
            ("hunter is a word", "hunter is a word"),
            ("login: hunter", "login: #"),
            ("hunter […]\nnext", "# […]\nnext"),
            ("first\n[… 9 bytes left out …]\nter2-x", "first\n[… 9 bytes left out …]\n#"),
            ("ter2-x is the end of it", "# is the end of it"),
            ("or ter2-x", "or ter2-x"),
            ("hunte", "hunte"),
        ] {
            assert_eq!(pieces(secret, text), clean, "{text}");
        }
    }

    #[test]
    fn characters_are_never_cut_in_two() {
        let secret = "über-älter-größer";
        assert_eq!(pieces(secret, "ber-älter-gr\u{fffd}"), "#\u{fffd}");
        assert_eq!(pieces(secret, "…älter-größe!"), "…#!");
        assert_eq!(first_fragment("", "", 0), None);
    }
}
