//! Untrusted text made safe to show.
//!
//! Models, tools and people put anything into a journal. What could move a cursor, recolour a screen or reorder a line is shown
//! as what it is, on terminals and on pages alike.
//!
//! ```
//! use convoke_history::text;
//!
//! assert_eq!(text::clean("a\u{1b}[31mred\tb"), "a\\u{1b}[31mred    b");
//! assert_eq!(text::one_line("  two\n lines "), "two lines");
//! ```

use convoke_text::is_invisible;

/// The text with everything that could control a terminal made visible. Lines stay lines; tabs become spaces.
#[must_use]
pub fn clean(text: &str) -> String {
    visible(text).replace('\t', "    ")
}

/// The text with everything that could control a terminal made visible, tabs left as they are.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\n' | '\t' => visible.push(character),
            other if is_invisible(other) => visible.extend(other.escape_unicode()),
            other => visible.push(other),
        }
    }
    visible
}

/// The text in one line: every run of white space becomes one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    // Nothing that is ever shown in one line is longer than this.
    const LONGEST: usize = 4_096;
    let start: String = text.chars().take(LONGEST).collect();
    clean(&start.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// JSON in which everything that could control a terminal is written by its number: it is the same JSON.
#[must_use]
pub fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for character in json.chars() {
        // What is not in a string of it is no letter of this kind.
        if is_invisible(character) && !matches!(character, '\n' | '\t') {
            let mut units = [0; 2];
            visible.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            visible.push(character);
        }
    }
    visible
}

/// As many lines and characters of the beginning of a text as there may be, and the number of characters left.
#[must_use]
pub fn beginning(text: &str, lines: usize, characters: usize) -> (&str, usize) {
    let by_lines =
        text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(index, _)| index);
    let by_characters = text.char_indices().nth(characters).map_or(text.len(), |(index, _)| index);
    let (shown, rest) = text.split_at(by_lines.min(by_characters));
    (shown, rest.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}\tb\r\nc"), "a\\u{1b}[31mred\\u{7}    b\nc");
        assert_eq!(clean("\u{202e}gnp.exe"), "\\u{202e}gnp.exe");
        assert_eq!(
            clean("rm\u{61c}\u{200b} x\u{e0041}\u{2028}y"),
            "rm\\u{61c}\\u{200b} x\\u{e0041}\\u{2028}y"
        );
        assert_eq!(clean("👩\u{200d}🔬"), "👩\u{200d}🔬", "what joins others is seen in them");
        assert_eq!(clean("a\u{9b}31mb\u{ad}\u{e0100}"), "a\\u{9b}31mb\\u{ad}\\u{e0100}");
        assert_eq!(one_line("  two\n lines\t here "), "two lines here");
    }
    #[test]
    fn nothing_in_json_reaches_the_terminal_as_a_command() {
        assert_eq!(
            visible_json("{\"a\": \"\u{9b}\u{202e}\u{e0041}é\"}\n"),
            "{\"a\": \"\\u009b\\u202e\\udb40\\udc41é\"}\n"
        );
    }
}
