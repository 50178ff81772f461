//! String tokens: one line with escapes, or any number of lines without.

use std::borrow::Cow;

use super::token::Illegal;

/// A string at the beginning of a text.
pub(super) struct StringToken<'a> {
    /// How many bytes it takes, quotes included.
    pub(super) length: usize,
    pub(super) value: Result<Cow<'a, str>, Illegal>,
}

/// Reads the string that `text` begins with. Two quotes and a third are always the beginning of a string of several
/// lines.
pub(super) fn read(text: &str) -> StringToken<'_> {
    if text.starts_with("\"\"\"") { triple(text) } else { single(text) }
}

fn triple(text: &str) -> StringToken<'_> {
    let inner = &text[3..];
    let Some(end) = inner.find("\"\"\"") else {
        return StringToken { length: text.len(), value: Err(Illegal::OpenTripleString) };
    };
    let value = &inner[..end];
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    let value = value.strip_suffix('\n').map_or(value, |value| value.strip_suffix('\r').unwrap_or(value));
    StringToken { length: end + 6, value: Ok(Cow::Borrowed(value)) }
}

fn single(text: &str) -> StringToken<'_> {
    let bytes = text.as_bytes();
    // The value so far, once it differs from what is written; until then it is `text[1..place]`.
    let mut value: Option<String> = None;
    let mut copied = 1;
    let mut place = 1;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => {
                let value = match value {
                    None => Cow::Borrowed(&text[1..place]),
                    Some(value) => Cow::Owned(value + &text[copied..place]),
                };
                return StringToken { length: place + 1, value: Ok(value) };
            }
            b'\n' => break,
            b'\\' => {
                let meant = match bytes.get(place + 1) {
                    Some(b'n') => Some('\n'),
                    Some(b't') => Some('\t'),
                    Some(b'r') => Some('\r'),
                    Some(b'\\') => Some('\\'),
                    Some(b'"') => Some('"'),
                    // Any other stays as it is written, the backslash too; even one before the end of a line.
                    Some(_) => None,
                    None => break,
                };
                if let Some(meant) = meant {
                    let value = value.get_or_insert_default();
                    value.push_str(&text[copied..place]);
                    value.push(meant);
                    copied = place + 2;
                }
                place += 2;
            }
            _ => place += 1,
        }
    }
    // A backslash before a character of several bytes may have led into its middle.
    let mut length = place.min(text.len());
    while !text.is_char_boundary(length) {
        length += 1;
    }
    StringToken { length, value: Err(Illegal::OpenString) }
}
