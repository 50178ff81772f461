//! A file as passages, by its kind.

use std::path::Path;

use convoke_tools::web::html_text;

use crate::chunk::{Markup, NewPassage, passages};
use crate::pdf::PdfReader;

/// The largest file that is read, in bytes.
pub(crate) const LARGEST: u64 = 32 << 20;

/// The most passages that a document may have.
const MOST_PASSAGES: usize = 50_000;

/// Changes when files are read or parted in another way, so that they are read again.
pub(crate) const READING: &[u8] = b"3";

enum Kind {
    Text,
    Markdown,
    Html,
    Pdf,
}

/// The passages of a file with this in it, or why there are none.
pub(crate) fn read(path: &Path, bytes: &[u8], pdf: &PdfReader) -> Result<Vec<NewPassage>, String> {
    let found = match kind(path, bytes) {
        Kind::Text => passages(text(bytes)?, Markup::None),
        Kind::Markdown => passages(text(bytes)?, Markup::Markdown),
        Kind::Html => {
            let text = html_text(bytes).ok_or("its text is too long, or one of its tags goes on and on")?;
            let mut found = passages(&text, Markup::Headings);
            // They are the lines of the text, which nobody has.
            found.iter_mut().for_each(|passage| passage.lines = None);
            found
        }
        Kind::Pdf => {
            let pages = pdf.read(bytes)?;
            let on_page = |(page, text): (u32, &String)| {
                let found = passages(text, Markup::None).into_iter();
                found.map(move |passage| NewPassage { page: Some(page), lines: None, ..passage })
            };
            (1..).zip(&pages).flat_map(on_page).collect()
        }
    };
    if found.is_empty() {
        return Err("it has no text".to_owned());
    }
    if found.len() > MOST_PASSAGES {
        return Err(format!(
            "it is too long: it has {} passages, and the most is {MOST_PASSAGES}",
            found.len()
        ));
    }
    Ok(found)
}

fn kind(path: &Path, bytes: &[u8]) -> Kind {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match &*extension {
        _ if bytes.starts_with(b"%PDF-") => Kind::Pdf,
        "md" | "markdown" | "mdx" => Kind::Markdown,
        "html" | "htm" | "xhtml" => Kind::Html,
        "pdf" => Kind::Pdf,
        _ => Kind::Text,
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| "it is not text in UTF-8".to_owned())?;
    // Some editors put a mark before the first letter.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
