//! Finding a secret in a text, however JSON may have written it.

/// What a text has at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The whole secret, so many bytes long.
    Whole(usize),
    /// The beginning of the secret, and then the text ends.
    Begun,
    /// Neither.
    Nothing,
}

/// A secret, and how each of its characters may be written.
pub(super) struct Needle {
    characters: Vec<Vec<String>>,
}

impl Needle {
    pub(super) fn new(secret: &str) -> Self {
        Self { characters: secret.chars().map(spellings).collect() }
    }

    /// Whether a text begins with the secret. The same secret may be written in several ways at once: the longest counts.
    pub(super) fn at_start_of(&self, text: &str) -> Found {
        // Where the next character may begin. One character of the secret has one or two spellings that fit, so this
        // never holds more than a few places.
        let mut places = vec![0];
        let mut begun = false;
        for spellings in &self.characters {
            let mut next: Vec<usize> = Vec::new();
            for place in places {
                let rest = &text.as_bytes()[place..];
                for spelling in spellings {
                    let spelling = spelling.as_bytes();
                    let common = rest.len().min(spelling.len());
                    if !rest[..common].eq_ignore_ascii_case(&spelling[..common])
                        || (spelling.len() < 6 && rest[..common] != spelling[..common])
                    {
                        continue;
                    }
                    if common < spelling.len() {
                        begun = true;
                    } else if !next.contains(&(place + common)) {
                        next.push(place + common);
                    }
                }
            }
            if next.is_empty() {
                return if begun { Found::Begun } else { Found::Nothing };
            }
            places = next;
        }
        places.into_iter().max().map_or(Found::Nothing, Found::Whole)
    }
}

/// A character as it is, and as JSON may write it. Spellings with `\u` have six bytes or more, and only those are the same
/// in capitals.
fn spellings(character: char) -> Vec<String> {
    let mut spellings = vec![character.to_string()];
    let short = match character {
        '"' | '\\' | '/' => Some(character),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        _ => None,
    };
    spellings.extend(short.map(|short| format!("\\{short}")));
    let mut units = [0; 2];
    let escaped = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
    spellings.push(escaped.collect());
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_it_is_and_as_json_writes_it() {
        let needle = Needle::new("a\"ü/é");
        for text in ["a\"ü/é", r#"a\"ü\/é"#, r"a\u0022\u00FC\u002f\u00e9", r#"a\"\u00fc/é"#] {
            assert_eq!(needle.at_start_of(&format!("{text} and more")), Found::Whole(text.len()), "{text}");
            for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
                assert_eq!(needle.at_start_of(&text[..end]), Found::Begun, "{}", &text[..end]);
            }
        }
        assert_eq!(needle.at_start_of(""), Found::Begun);
        assert_eq!(needle.at_start_of("A\"ü/é"), Found::Nothing);
        assert_eq!(Needle::new("\\").at_start_of("\\\\"), Found::Whole(2));
    }
}
