//! Marks that stand for secrets, and the way from one to the other.

use serde_json::Value;

use super::find::{Found, Needle};

/// The shortest secret, in characters. Anything shorter occurs by chance.
pub(crate) const SHORTEST: usize = 4;

/// The mark that stands for a secret in the state and the journal of a run. The nonce is the run's: nobody who writes a
/// text that a run reads can know it, so nobody can have a secret put into it.
pub(crate) fn mark(input: &str, nonce: &str) -> String {
    format!("⟦secret:{input}:{nonce}⟧")
}

/// A nonce that nobody can guess.
pub(crate) fn nonce() -> String {
    let mut random = [0_u8; 12];
    // Without a random source there is no mark that nobody can guess; the operating system is broken beyond our help.
    getrandom::fill(&mut random).expect("the operating system provides randomness");
    random.iter().map(|byte| format!("{byte:02x}")).collect()
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
    entries: Vec<Seal>,
}

struct Seal {
    mark: String,
    secret: secrecy::SecretString,
    needle: Needle,
}

impl Seals {
    pub(crate) fn new<'a>(marks: impl IntoIterator<Item = (String, &'a str)>) -> Self {
        let entries = marks.into_iter().map(|(mark, secret)| Seal {
            mark,
            secret: secret.into(),
            needle: Needle::new(secret),
        });
        Self { entries: entries.collect() }
    }

    /// What a text has at its beginning: of several secrets the longest, and whether a longer one may follow.
    pub(super) fn find(&self, text: &str) -> (Option<(usize, &str)>, bool) {
        let mut longest: Option<(usize, &str)> = None;
        let mut begun = false;
        for seal in &self.entries {
            match seal.needle.at_start_of(text) {
                Found::Whole(length) if longest.is_none_or(|(known, _)| known < length) => {
                    longest = Some((length, &seal.mark));
                }
                Found::Begun => begun = true,
                Found::Whole(_) | Found::Nothing => {}
            }
        }
        (longest, begun)
    }

    /// A text with every secret replaced by its mark.
    pub(crate) fn seal(&self, text: &str) -> String {
        let mut sealed = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match self.find(rest).0 {
                Some((length, mark)) => {
                    sealed.push_str(mark);
                    length
                }
                None => {
                    sealed.push(first);
                    first.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        sealed
    }

    /// A text with every mark replaced by its secret.
    pub(crate) fn unseal(&self, text: &str) -> String {
        use secrecy::ExposeSecret;

        let mut open = String::with_capacity(text.len());
        let mut rest = text;
        // One pass: what a secret has in it is not looked at.
        while let Some(place) = rest.find('⟦') {
            open.push_str(&rest[..place]);
            rest = &rest[place..];
            match self.entries.iter().find(|seal| rest.starts_with(&seal.mark)) {
                Some(seal) => {
                    open.push_str(seal.secret.expose_secret());
                    rest = &rest[seal.mark.len()..];
                }
                None => {
                    open.push('⟦');
                    rest = &rest['⟦'.len_utf8()..];
                }
            }
        }
        open.push_str(rest);
        open
    }

    /// A value with every secret in it replaced by its mark, in names of fields too. A number that has one in its digits
    /// becomes a text.
    pub(crate) fn seal_value(&self, value: &Value) -> Value {
        changed(value, &|text| self.seal(text), true)
    }

    /// A value with every mark in it replaced by its secret.
    pub(crate) fn unseal_value(&self, value: &Value) -> Value {
        changed(value, &|text| self.unseal(text), false)
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
