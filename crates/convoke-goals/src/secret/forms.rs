//! The forms by which a secret is known: as it is, without what is around it, line by line, and as others encode it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The shortest line that is hidden by itself, in characters. Anything shorter occurs by chance.
const SHORTEST_LINE: usize = 8;

/// The shortest encoding from the middle of something else, in characters.
const SHORTEST_WITHIN: usize = 8;

/// A larger secret is looked for as it is, and in no other form: looking for all of them would take too long.
const LARGEST: usize = 64 * 1024;

/// A text by which a secret is known.
pub(super) struct Form {
    /// What it is called in its mark; nothing for the secret as it is. A name must never come to mean another text: marks
    /// are in journals.
    pub(super) name: String,
    pub(super) text: String,
}

/// All texts by which a secret is known, the secret itself first, each of them once.
pub(super) fn of(secret: &str) -> Vec<Form> {
    let mut forms = Forms(Vec::new());
    forms.add(String::new(), secret.to_owned());
    let trimmed = secret.trim();
    forms.add("trimmed".to_owned(), trimmed.to_owned());
    if secret.len() > LARGEST {
        return forms.0;
    }
    for (name, text) in [("", secret), ("trimmed-", trimmed)] {
        let in_json = in_json(text);
        forms.add(format!("{name}json-json"), self::in_json(&in_json));
        forms.add(format!("{name}json"), in_json);
        let in_address = in_address(text);
        forms.add(format!("{name}form"), in_address.replace("%20", "+"));
        forms.add(format!("{name}url"), in_address);
        for before in 0..3 {
            forms.add(format!("{name}base64-{before}"), in_base64(&STANDARD_NO_PAD, text, before));
            forms.add(format!("{name}base64url-{before}"), in_base64(&URL_SAFE_NO_PAD, text, before));
        }
    }
    if trimmed.contains('\n') {
        for (number, line) in trimmed.lines().enumerate() {
            let line = line.trim();
            if line.chars().count() >= SHORTEST_LINE {
                forms.add(format!("line-{}", number + 1), line.to_owned());
            }
        }
    }
    forms.0
}

struct Forms(Vec<Form>);

impl Forms {
    fn add(&mut self, name: String, text: String) {
        if !text.is_empty() && !self.0.iter().any(|known| known.text == text) {
            self.0.push(Form { name, text });
        }
    }
}

/// As JSON writes it within a text.
fn in_json(text: &str) -> String {
    let written = serde_json::Value::from(text).to_string();
    written[1..written.len() - 1].to_owned()
}

/// As it stands in an address.
fn in_address(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// What the base64 of anything has in it that has the text in it, with so many bytes before it (and whole groups of three).
/// At both ends are characters that also say what is beside the text: those are left.
fn in_base64(alphabet: &impl Engine, text: &str, before: usize) -> String {
    let bytes = [&[0; 3][..before], text.as_bytes()].concat();
    let encoded = alphabet.encode(&bytes);
    let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    match encoded.get(start..end) {
        Some(own) if before == 0 || own.len() >= SHORTEST_WITHIN => own.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(secret: &str) -> Vec<String> {
        of(secret).into_iter().map(|form| format!("{}={}", form.name, form.text)).collect()
    }

    #[test]
    fn an_ordinary_secret_has_few_forms() {
        // With nothing, one and two bytes before it.
        let forms = ["=hunter22", "base64-0=aHVudGVyMj", "base64-1=h1bnRlcjIy", "base64-2=odW50ZXIyM"];
        assert_eq!(texts("hunter22"), forms);
    }

    #[test]
    fn a_text_is_found_in_the_base64_of_whatever_it_is_part_of() {
        let secret = "p@ss wörd?>";
        let forms = of(secret);
        for before in ["", "u", "us", "usr", "user:"] {
            for after in ["", "\n", "!!", "..."] {
                for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                    let encoded = alphabet.encode(format!("{before}{secret}{after}"));
                    let of_it = forms.iter().any(|form| encoded.contains(&form.text));
                    assert!(of_it, "{before}{secret}{after}: {encoded}");
                }
            }
        }
    }

    #[test]
    fn lines_are_known_without_what_is_around_them_unless_they_are_short() {
        let forms = texts(" first line\r\n  short\n\n second line\nfirst line\n");
        let lines: Vec<&String> = forms.iter().filter(|form| form.starts_with("line")).collect();
        assert_eq!(lines, ["line-1=first line", "line-4=second line"]);
        assert!(forms.contains(&"trimmed=first line\r\n  short\n\n second line\nfirst line".to_owned()));
        assert!(texts("one line\n").iter().all(|form| !form.starts_with("line")));
    }
}
