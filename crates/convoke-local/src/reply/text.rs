//! Decodes text out of bytes, and cuts it at stop words.

/// Bytes as they come, text as far as its characters are complete.
///
/// A token of a model's vocabulary may end in the middle of a character.
#[derive(Debug, Default)]
pub(super) struct Characters {
    rest: Vec<u8>,
}

impl Characters {
    /// The text that is complete now. Bytes that can never become text come out as U+FFFD.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let unfinished = match self.rest.utf8_chunks().last() {
            // Only what breaks off at the very end may still be completed, and only if it is a true beginning.
            Some(chunk) if begins_character(chunk.invalid()) => chunk.invalid().len(),
            _ => 0,
        };
        let rest = self.rest.split_off(self.rest.len() - unfinished);
        let text = String::from_utf8_lossy(&self.rest).into_owned();
        self.rest = rest;
        text
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

fn begins_character(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Text up to the first of some stop words.
#[derive(Debug, Default)]
pub(super) struct StopWords {
    words: Vec<String>,
    held: String,
    found: bool,
}

impl StopWords {
    pub(super) fn new(words: Vec<String>) -> Self {
        Self {
            words: words.into_iter().filter(|word| !word.is_empty()).collect(),
            held: String::new(),
            found: false,
        }
    }

    /// Whether one of them was written.
    pub(super) fn found(&self) -> bool {
        self.found
    }

    /// The text that can be given out: all of it but what may be the beginning of a stop word.
    pub(super) fn push(&mut self, text: String) -> String {
        if self.found {
            return String::new();
        }
        if self.words.is_empty() {
            return text;
        }
        self.held.push_str(&text);
        if let Some(at) = self.words.iter().filter_map(|word| self.held.find(word.as_str())).min() {
            self.found = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let may_begin = |at: &usize| self.words.iter().any(|word| word.starts_with(&self.held[*at..]));
        let keep = self.held.char_indices().map(|(at, _)| at).find(may_begin).unwrap_or(self.held.len());
        let rest = self.held.split_off(keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_split_across_pieces_come_out_whole() {
        let text = "aü€😀z";
        for size in 1..5 {
            let mut characters = Characters::default();
            let mut out = String::new();
            for piece in text.as_bytes().chunks(size) {
                let given = characters.push(piece);
                assert!(!given.contains('\u{FFFD}'));
                out.push_str(&given);
            }
            out.push_str(&characters.finish());
            assert_eq!(out, text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_hold_up_what_follows() {
        let mut characters = Characters::default();
        assert_eq!(characters.push(&[b'a', 0xFF, b'b', 0xE2]), "a\u{FFFD}b");
        assert_eq!(characters.push(b"c"), "\u{FFFD}c");
        assert_eq!(characters.push(&[0xE2, 0x82]), "");
        assert_eq!(characters.finish(), "\u{FFFD}");
    }

    #[test]
    fn nothing_of_a_stop_word_is_given_out_and_nothing_else_is_held_back() {
        let mut stop = StopWords::new(vec!["END".into(), "\n\n".into()]);
        assert_eq!(stop.push("one E".into()), "one ");
        assert_eq!(stop.push("N".into()), "");
        assert_eq!(stop.push("T\n".into()), "ENT");
        assert_eq!(stop.push("two EN".into()), "\ntwo ");
        assert_eq!(stop.push("D more".into()), "");
        assert!(stop.found());
        assert_eq!(stop.push("more".into()) + &stop.finish(), "");
    }

    #[test]
    fn the_beginning_of_a_stop_word_at_the_end_is_text() {
        let mut stop = StopWords::new(vec!["END".into()]);
        assert_eq!(stop.push("an EN".into()) + &stop.finish(), "an EN");
        assert!(!stop.found());
    }
}
