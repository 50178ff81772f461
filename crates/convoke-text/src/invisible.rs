//! Recognizes invisible and control characters.
//!
//! A terminal takes some for commands, some turn the direction of writing, and some are there and cannot be seen. Whatever shows a
//! text or takes a name from somebody else asks here.

/// Returns whether a letter controls a terminal, turns the direction of writing, or is there and cannot be seen. Line breaks and tabs are
/// among them; what joins other letters (as in 👩\u{200d}🔬) is not, because it is seen in those.
#[must_use]
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
