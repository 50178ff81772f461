//! Seals: marks that stand for secrets, and the way from one to the other.

use std::cmp::Reverse;
use std::ops::Range;

use convoke_text::secret_fragments::{SecretFragment, first_fragment};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::find::{Alphabet, Escapes, MatchResult, Needle};
use super::forms;

/// What marks begin and end with.
const OPENING: char = '⟦';
const CLOSING: char = '⟧';

/// The shortest secret, in characters. Anything shorter occurs by chance.
pub(crate) const SHORTEST: usize = 4;

/// The mark that stands for a secret in the state and the journal of a run. The nonce is the run's: nobody who writes a
/// text that a run reads can know it, so nobody can have a secret put into it.
pub(crate) fn mark(input: &str, nonce: &str) -> String {
    format!("⟦secret:{input}:{nonce}⟧")
}

/// The mark of a secret in this form.
fn mark_of_form(mark: &str, form: &str) -> String {
    if form.is_empty() { mark.to_owned() } else { format!("{}:{form}{CLOSING}", open(mark)) }
}

/// The mark of a part of a secret.
fn mark_of_part(mark: &str, part: &Range<usize>) -> String {
    format!("{}:{}-{}{CLOSING}", open(mark), part.start, part.end)
}

/// A mark that is not at its end.
fn open(mark: &str) -> &str {
    mark.trim_end_matches(CLOSING)
}

/// A nonce that nobody can guess.
pub(crate) fn nonce() -> String {
    let mut random = [0_u8; 12];
    // Without a random source there is no mark that nobody can guess; the operating system is broken beyond our help.
    getrandom::fill(&mut random).expect("the operating system provides randomness");
    convoke_text::hex(&random)
}

/// Whether a value is the mark of an input, of whichever run.
pub(crate) fn is_mark(value: &Value, input: &str) -> bool {
    let nonce = value.as_str().and_then(|text| {
        text.strip_prefix("⟦secret:")?.strip_prefix(input)?.strip_prefix(':')?.strip_suffix('⟧')
    });
    nonce.is_some_and(|nonce| nonce.len() == 24 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The secrets of a run, and their marks.
pub(crate) struct Seals {
    /// One for each text by which a secret is known.
    entries: Vec<Seal>,
    alphabet: Alphabet,
    /// The entries that a text may begin with, by its first byte.
    starts: Vec<Vec<usize>>,
}

struct Seal {
    /// Each text has a mark of its own: what was encoded goes out encoded.
    mark: String,
    secret: SecretString,
    needle: Needle,
}

impl Seals {
    /// Seals for the secrets in every form they are known in.
    pub(crate) fn new<'a>(marks: impl IntoIterator<Item = (String, &'a str)>) -> Self {
        let forms = marks.into_iter().flat_map(|(mark, secret)| {
            forms::of(secret).into_iter().map(move |form| (mark_of_form(&mark, &form.name), form.text))
        });
        Self::of_texts(forms, Escapes::Anyhow)
    }

    /// Seals for the secrets as they are, as there were before other forms were known: for what is in prompts of which
    /// journals have a digest.
    pub(super) fn of_whole<'a>(marks: impl IntoIterator<Item = (String, &'a str)>) -> Self {
        let texts = marks.into_iter().map(|(mark, secret)| (mark, secret.to_owned()));
        Self::of_texts(texts, Escapes::InJson)
    }

    fn of_texts(texts: impl Iterator<Item = (String, String)>, spelled: Escapes) -> Self {
        let mut alphabet = Alphabet::new(spelled);
        let seal = |(mark, text): (String, String)| Seal {
            mark,
            needle: alphabet.needle(&text),
            secret: text.into(),
        };
        let entries: Vec<Seal> = texts.map(seal).collect();
        let mut starts = vec![Vec::new(); 256];
        for (number, seal) in entries.iter().enumerate() {
            for byte in alphabet.first_bytes(&seal.needle) {
                starts[usize::from(byte)].push(number);
            }
        }
        Self { entries, alphabet, starts }
    }

    /// What a text has at its beginning: of several secrets the longest, and whether a longer one may follow.
    pub(super) fn find(&self, text: &str) -> (Option<(usize, &str)>, bool) {
        let mut longest: Option<(usize, &Seal)> = None;
        let mut begun = false;
        let possible = text.bytes().next().map_or(&[][..], |first| &self.starts[usize::from(first)]);
        for seal in possible.iter().map(|number| &self.entries[*number]) {
            match self.alphabet.at_start_of(text, &seal.needle) {
                // Of those that fit equally well, the one that is written like this.
                MatchResult::Whole(length)
                    if longest.is_none_or(|(known, _)| {
                        known < length || (known == length && seal.secret.expose_secret() == &text[..length])
                    }) =>
                {
                    longest = Some((length, seal));
                }
                MatchResult::Begun => begun = true,
                MatchResult::Whole(_) | MatchResult::Nothing => {}
            }
        }
        (longest.map(|(length, seal)| (length, &*seal.mark)), begun)
    }

    /// A text with every secret replaced by its mark.
    pub(crate) fn seal(&self, text: &str) -> String {
        self.sealed(text, |between, sealed| sealed.push_str(between))
    }

    /// The same for a text that somebody may have cut, and a secret with it: what is more than half of one is replaced too.
    pub(crate) fn seal_cut(&self, text: &str) -> String {
        self.sealed(text, |between, sealed| self.seal_pieces(between, sealed))
    }

    /// A text with every secret replaced by its mark. What is between them somebody else adds.
    fn sealed(&self, text: &str, between: impl Fn(&str, &mut String)) -> String {
        let mut sealed = String::with_capacity(text.len());
        let (mut from, mut at) = (0, 0);
        while let Some(next) = text[at..].chars().next() {
            match self.find(&text[at..]).0 {
                Some((length, mark)) => {
                    between(&text[from..at], &mut sealed);
                    sealed.push_str(mark);
                    at += length;
                    from = at;
                }
                None => at += next.len_utf8(),
            }
        }
        between(&text[from..], &mut sealed);
        sealed
    }

    /// Adds a text with marks in the place of what is left of secrets in it.
    fn seal_pieces(&self, text: &str, sealed: &mut String) {
        let mut from = 0;
        let piece = |seal: &Seal, from: usize| first_fragment(seal.secret.expose_secret(), text, from);
        let mut next: Vec<Option<SecretFragment>> = self.entries.iter().map(|seal| piece(seal, 0)).collect();
        loop {
            for (next, seal) in next.iter_mut().zip(&self.entries) {
                if next.as_ref().is_some_and(|next| next.place.start < from) {
                    *next = piece(seal, from);
                }
            }
            let pieces =
                self.entries.iter().zip(&next).filter_map(|(seal, piece)| Some((seal, piece.as_ref()?)));
            let first = pieces.min_by_key(|(_, piece)| (piece.place.start, Reverse(piece.place.end)));
            let Some((seal, piece)) = first else { break };
            sealed.push_str(&text[from..piece.place.start]);
            sealed.push_str(&mark_of_part(&seal.mark, &piece.part));
            from = piece.place.end;
        }
        sealed.push_str(&text[from..]);
    }

    /// A text with every mark replaced by its secret.
    pub(crate) fn unseal(&self, text: &str) -> String {
        let mut open = String::with_capacity(text.len());
        let mut rest = text;
        // One pass: what a secret has in it is not looked at.
        while let Some(place) = rest.find(OPENING) {
            open.push_str(&rest[..place]);
            rest = &rest[place..];
            let (length, meant) = match self.entries.iter().find_map(|seal| seal.opened(rest)) {
                Some(opened) => opened,
                None => (OPENING.len_utf8(), &rest[..OPENING.len_utf8()]),
            };
            open.push_str(meant);
            rest = &rest[length..];
        }
        open.push_str(rest);
        open
    }

    /// A value with every secret in it replaced by its mark, in names of fields too. A number that has one in its digits
    /// becomes a text.
    pub(crate) fn seal_value(&self, value: &Value) -> Value {
        changed(value, &|text| self.seal(text), true)
    }

    /// The same for a value whose texts somebody may have cut.
    pub(crate) fn seal_cut_value(&self, value: &Value) -> Value {
        changed(value, &|text| self.seal_cut(text), true)
    }

    /// A value with every mark in it replaced by its secret.
    pub(crate) fn unseal_value(&self, value: &Value) -> Value {
        changed(value, &|text| self.unseal(text), false)
    }
}

impl Seal {
    /// If a text begins with the mark of this secret, or of a part of it: how long the mark is, and what it stands for.
    fn opened(&self, text: &str) -> Option<(usize, &str)> {
        let secret = self.secret.expose_secret();
        if text.starts_with(&self.mark) {
            return Some((self.mark.len(), secret));
        }
        let (part, _) = text.strip_prefix(open(&self.mark))?.strip_prefix(':')?.split_once(CLOSING)?;
        let (start, end) = part.split_once('-')?;
        let meant = secret.get(start.parse().ok()?..end.parse().ok()?)?;
        Some((open(&self.mark).len() + ':'.len_utf8() + part.len() + CLOSING.len_utf8(), meant))
    }
}

/// Names nothing that is secret.
impl std::fmt::Debug for Seals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Seals({})", self.entries.len())
    }
}

fn changed(value: &Value, change: &dyn Fn(&str) -> String, numbers: bool) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| changed(item, change, numbers)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (change(name), changed(field, change, numbers))).collect()
        }
        Value::Number(number) if numbers => {
            let text = number.to_string();
            let sealed = change(&text);
            if sealed == text { value.clone() } else { Value::String(sealed) }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seals(secret: &str) -> Seals {
        Seals::new([(mark("key", &"0".repeat(24)), secret)])
    }

    #[test]
    fn what_was_encoded_has_a_mark_of_its_own_and_goes_out_encoded() {
        let seals = seals("a \"b\"/c+d\n");
        for (text, name) in [
            ("a \"b\"/c+d\n", "⟧"),
            ("a \"b\"/c+d", ":trimmed⟧"),
            (r#"a \"b\"/c+d\n"#, ":json⟧"),
            (r#"a \\\"b\\\"/c+d"#, ":trimmed-json-json⟧"),
            ("a%20%22b%22%2Fc%2Bd%0A", ":url⟧"),
            ("a+%22b%22%2Fc%2Bd", ":trimmed-form⟧"),
            ("YSAiYiIvYytkC", ":base64-0⟧"),
        ] {
            let sealed = seals.seal(&format!("<{text}>"));
            assert!(
                sealed.starts_with("<⟦secret:key:0000") && sealed.ends_with(&format!("{name}>")),
                "{sealed}"
            );
            assert_eq!(seals.unseal(&sealed), format!("<{text}>"));
        }
        // As nobody writes it. What is meant is still clear.
        let sealed = seals.seal(r#"a%20%22b\"/c%2bd"#);
        assert_eq!(seals.unseal(&sealed), "a \"b\"/c+d");
    }

    #[test]
    fn a_mark_of_a_part_that_is_none_is_only_text() {
        let seals = seals("hunter22-ü");
        let open = format!("⟦secret:key:{}", "0".repeat(24));
        assert_eq!(seals.unseal(&format!("{open}:0-8⟧")), "hunter22");
        for none in ["8-0", "0-99", "0-10", "-1", "a-b", "", "0-8"] {
            let text = format!("{open}:{none}");
            assert_eq!(seals.unseal(&text), text);
            let text = format!("{text}{}⟧", if none == "0-8" { ":x" } else { "" });
            assert_eq!(seals.unseal(&text), text);
        }
    }

    /// Parts of a text that are parts of the secret, of this length.
    fn common(secret: &str, text: &str, length: usize) -> Vec<String> {
        let windows = |text: &str| -> Vec<String> {
            let characters: Vec<char> = text.chars().collect();
            characters.windows(length).map(|window| window.iter().collect()).collect()
        };
        let of_secret = windows(secret);
        windows(text).into_iter().filter(|window| of_secret.contains(window)).collect()
    }

    proptest! {
        /// Whatever the secret is, and wherever a text is cut that has it in it, no more than half of it is left, and
        /// nothing is lost.
        #[test]
        fn no_cut_leaves_more_than_half_of_a_secret(
            secret in "[a-c1-3\"/ü \n]{4,40}",
            before in "[a-c1-3\"ü \n]{0,20}",
            after in "[a-c1-3\"ü \n]{0,20}",
            cuts in (0_usize..90, 0_usize..90),
            how in 0..4,
        ) {
            prop_assume!(secret.trim().chars().count() >= SHORTEST);
            let whole: Vec<char> = format!("{before}{secret}{after}{secret}").chars().collect();
            let (from, to) = (cuts.0.min(cuts.1).min(whole.len()), cuts.0.max(cuts.1).min(whole.len()));
            let text = |characters: &[char]| characters.iter().collect::<String>();
            let cut = match how {
                0 => text(&whole[..to]),
                1 => text(&whole[from..]),
                2 => text(&whole[from..to]),
                _ => format!("{}\n[… left out …]\n{}", text(&whole[..from]), text(&whole[to..])),
            };
            let seals = seals(&secret);
            let sealed = seals.seal_cut(&cut);
            let mut bare = String::new();
            for (number, between) in sealed.split(OPENING).enumerate() {
                let left = if number == 0 { between } else { between.split_once(CLOSING).unwrap().1 };
                bare.push_str(left);
                bare.push('\u{1}');
            }
            let length = 8.max(secret.chars().count() / 2 + 1);
            prop_assert_eq!(common(&secret, &bare, length), Vec::<String>::new(), "{} became {}", cut, sealed);
            if !cut.contains(['\\', '%', '+']) {
                prop_assert_eq!(seals.unseal(&sealed), cut);
            }
        }

        /// A line of a secret is hidden by itself.
        #[test]
        fn no_line_of_a_secret_is_left(lines in proptest::collection::vec("[a-zA-Z0-9+/ü]{8,20}", 2..5), which in 0..5_usize) {
            let line = &lines[which % lines.len()];
            let sealed = seals(&format!("{}\n", lines.join("\r\n"))).seal(&format!("it says {line}, twice {line}"));
            prop_assert!(!sealed.contains(line.as_str()), "{}", sealed);
        }
    }
}
