//! Searches for a text in another, however JSON or an address may have written it.

use std::collections::HashMap;

/// The result of matching at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchResult {
    /// The whole of what is looked for, so many bytes long.
    Whole(usize),
    /// The beginning of it, and then the text ends.
    Begun,
    /// Neither.
    Nothing,
}

/// The escapes in which characters may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// As it is, or as JSON writes it.
    InJson,
    /// Also as JSON within JSON writes it, and as an address does.
    Anyhow,
}

/// How characters may be written: one list for all needles that have the character.
pub(super) struct Alphabet {
    spelled: Escapes,
    numbers: HashMap<char, usize>,
    spellings: Vec<Vec<Spelling>>,
}

struct Spelling {
    text: String,
    /// Whether its letters are digits, which are the same in capitals.
    is_number: bool,
}

/// What is looked for.
pub(super) struct Needle {
    /// The places of its characters in the alphabet.
    characters: Vec<usize>,
}

impl Alphabet {
    pub(super) fn new(spelled: Escapes) -> Self {
        Self { spelled, numbers: HashMap::new(), spellings: Vec::new() }
    }

    pub(super) fn needle(&mut self, text: &str) -> Needle {
        let characters = text.chars().map(|character| {
            *self.numbers.entry(character).or_insert_with(|| {
                self.spellings.push(spellings(character, self.spelled));
                self.spellings.len() - 1
            })
        });
        Needle { characters: characters.collect() }
    }

    /// The bytes that a text may begin with which begins with this.
    pub(super) fn first_bytes(&self, needle: &Needle) -> Vec<u8> {
        let first = needle.characters.first().map_or(&[][..], |first| &self.spellings[*first]);
        let mut bytes: Vec<u8> = first.iter().filter_map(|spelling| spelling.text.bytes().next()).collect();
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }

    /// Whether a text begins with what is looked for. That may be written in several ways at once: the longest counts.
    pub(super) fn at_start_of(&self, text: &str, needle: &Needle) -> MatchResult {
        // Where the next character may begin. One character has one or two spellings that fit, so this never holds more
        // than a few places.
        let mut places = vec![0];
        let mut begun = false;
        for character in &needle.characters {
            let mut next: Vec<usize> = Vec::new();
            for place in places {
                let rest = &text.as_bytes()[place..];
                for spelling in &self.spellings[*character] {
                    let written = spelling.text.as_bytes();
                    let common = rest.len().min(written.len());
                    let (rest, start) = (&rest[..common], &written[..common]);
                    if rest != start && !(spelling.is_number && rest.eq_ignore_ascii_case(start)) {
                        continue;
                    }
                    if common < written.len() {
                        begun = true;
                    } else if !next.contains(&(place + common)) {
                        next.push(place + common);
                    }
                }
            }
            if next.is_empty() {
                return if begun { MatchResult::Begun } else { MatchResult::Nothing };
            }
            places = next;
        }
        places.into_iter().max().map_or(MatchResult::Nothing, MatchResult::Whole)
    }
}

/// A character as it is, and as it may be written.
fn spellings(character: char, spelled: Escapes) -> Vec<Spelling> {
    let spelling = |text: String, is_number: bool| Spelling { text, is_number };
    let short = match character {
        '"' | '\\' | '/' => Some(character),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        _ => None,
    };
    let mut units = [0; 2];
    let number: String =
        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    let in_json: Vec<Spelling> = short
        .map(|short| spelling(format!("\\{short}"), false))
        .into_iter()
        .chain([spelling(number, true)])
        .collect();
    let mut all = vec![spelling(character.to_string(), false)];
    if spelled == Escapes::Anyhow {
        let again =
            |once: &Spelling| spelling(once.text.replace('\\', "\\\\").replace('"', "\\\""), once.is_number);
        all.extend(in_json.iter().map(again));
        let bytes = character.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02x}")).collect();
        all.push(spelling(bytes, true));
        all.extend((character == ' ').then(|| spelling("+".to_owned(), false)));
    }
    all.extend(in_json);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, looked_for: &str, spelled: Escapes) -> MatchResult {
        let mut alphabet = Alphabet::new(spelled);
        let needle = alphabet.needle(looked_for);
        if let Some(first) = text.bytes().next()
            && alphabet.at_start_of(text, &needle) != MatchResult::Nothing
        {
            assert!(alphabet.first_bytes(&needle).contains(&first));
        }
        alphabet.at_start_of(text, &needle)
    }

    #[test]
    fn a_secret_is_found_as_it_is_and_as_json_writes_it() {
        let found = |text: &str| found(text, "a\"ü/é", Escapes::InJson);
        for text in ["a\"ü/é", r#"a\"ü\/é"#, r"a\u0022\u00FC\u002f\u00e9", r#"a\"\u00fc/é"#] {
            assert_eq!(found(&format!("{text} and more")), MatchResult::Whole(text.len()), "{text}");
            for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
                assert_eq!(found(&text[..end]), MatchResult::Begun, "{}", &text[..end]);
            }
        }
        assert_eq!(found(""), MatchResult::Begun);
        assert_eq!(found("A\"ü/é"), MatchResult::Nothing);
        assert_eq!(found(r#"a\\\"ü/é"#), MatchResult::Nothing);
        assert_eq!(super::tests::found("\\\\", "\\", Escapes::InJson), MatchResult::Whole(2));
    }

    #[test]
    fn a_secret_is_found_in_addresses_and_in_json_within_json() {
        let found = |text: &str| found(text, "a\"ü/ é", Escapes::Anyhow);
        for text in ["a\"ü/ é", r#"a\\\"ü/ é"#, r"a\\u0022ü\\/ é", "a%22%C3%BC%2F+%c3%a9", "%61%22ü/%20é"]
        {
            assert_eq!(found(&format!("{text} and more")), MatchResult::Whole(text.len()), "{text}");
        }
    }
}
