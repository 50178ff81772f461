//! Decodes bytes to text by their character set.

use std::borrow::Cow;
use std::sync::LazyLock;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use regex::bytes::Regex;

/// Where a document must have said what it is written in.
const BEGINNING: usize = 1_024;

/// The text, and what must be said about it.
pub(super) struct DecodedText {
    pub(super) text: String,
    pub(super) note: Option<String>,
}

/// Decodes by what the bytes begin with, what the server said, what the document says; else UTF-8 if it is that, and the
/// web's old default if not.
pub(super) fn decode(bytes: &[u8], said: Option<&str>) -> DecodedText {
    let (marked, mark) =
        Encoding::for_bom(bytes).map_or((None, 0), |(encoding, mark)| (Some(encoding), mark));
    let by_server = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    let unknown = said.filter(|_| by_server.is_none());
    let encoding = marked
        .or(by_server)
        .or_else(|| in_document(bytes))
        .unwrap_or_else(|| if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 });
    let (text, lost): (Cow<'_, str>, bool) = encoding.decode_without_bom_handling(&bytes[mark..]);
    let note = if lost {
        let count = text.matches('\u{fffd}').count();
        Some(format!("{count} places could not be read as {} and are marked \u{fffd}", encoding.name()))
    } else {
        unknown.map(|label| {
            let label: String = label.chars().take(40).collect();
            format!("the charset {label:?} is unknown; read as {}", encoding.name())
        })
    };
    DecodedText { text: text.into_owned(), note }
}

fn in_document(bytes: &[u8]) -> Option<&'static Encoding> {
    static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i-u)(?:<meta[^>]{1,200}?charset|<\?xml[^>]{1,200}?encoding)\s*=\s*["']?\s*([a-z0-9_:.\-]{1,40})"#)
            .ok()
    });
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    let label = SAID.as_ref()?.captures(beginning)?.get(1)?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // Whoever could read that cannot have been reading UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}
