//! Chunking: how a reply is cut into pieces.

/// Chunking of a reply's text into the pieces it is streamed in.
///
/// ```
/// use convoke_models::scripted::{Chunks, Reply};
///
/// let slow_typist = Reply::text("Good morning").chunks(Chunks::Characters(1));
/// let one_piece = Reply::text("Good morning").chunks(Chunks::Whole);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Chunks {
    /// A word at a time, with the space after it. Arguments of tool calls without a space come in two halves.
    #[default]
    Words,
    /// So many characters at a time; 0 counts as 1.
    Characters(usize),
    /// All at once.
    Whole,
}

impl Chunks {
    /// The pieces of this text, none of them empty.
    pub(super) fn split(self, text: &str) -> Vec<String> {
        match self {
            Self::Words => words(text),
            Self::Characters(size) => characters(text, size.max(1)),
            Self::Whole if text.is_empty() => Vec::new(),
            Self::Whole => vec![text.to_owned()],
        }
    }

    /// The pieces of a tool call's arguments. Whoever reads a stream must put them together again, so unless asked
    /// otherwise there is always something to put together.
    pub(super) fn split_arguments(self, text: &str) -> Vec<String> {
        let pieces = self.split(text);
        if self == Self::Whole || pieces.len() > 1 {
            return pieces;
        }
        characters(text, text.chars().count().div_ceil(2).max(1))
    }
}

fn words(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut in_space = false;
    for (at, character) in text.char_indices() {
        if in_space && !character.is_whitespace() {
            pieces.push(text[start..at].to_owned());
            start = at;
        }
        in_space = character.is_whitespace();
    }
    if start < text.len() {
        pieces.push(text[start..].to_owned());
    }
    pieces
}

fn characters(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_keep_the_space_after_them() {
        assert_eq!(Chunks::Words.split("Let me\n\n look."), ["Let ", "me\n\n ", "look."]);
        assert_eq!(Chunks::Words.split("  two"), ["  ", "two"]);
        assert!(Chunks::Words.split("").is_empty());
    }

    #[test]
    fn arguments_come_in_two_pieces_at_least() {
        assert_eq!(Chunks::Words.split_arguments("{}"), ["{", "}"]);
        assert_eq!(Chunks::Characters(100).split_arguments(r#"{"a":1}"#).len(), 2);
        assert_eq!(Chunks::Whole.split_arguments("{}"), ["{}"]);
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_text_are_not_empty_and_make_the_text(text in any::<String>(), size in 0_usize..5) {
            for chunks in [Chunks::Words, Chunks::Characters(size), Chunks::Whole] {
                for pieces in [chunks.split(&text), chunks.split_arguments(&text)] {
                    prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
                    prop_assert_eq!(pieces.concat(), text.as_str());
                }
            }
        }
    }
}
