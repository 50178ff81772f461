//! A page that has been read, and the parts of it a model is shown.

use std::fmt::Write;

use url::Url;

use super::WebError;
use super::charset::decode;
use super::content_kind::{self, ContentKind};
use super::readable::{LONGEST, ReadablePage, readable};
use crate::blocking::CancelFlag;

/// Characters of one part.
pub(super) const PART: usize = 20_000;
/// Links told with one part.
const LINKS: usize = 100;

/// A page as text.
#[derive(Debug)]
pub struct Page {
    /// Where it was in the end.
    pub url: Url,
    /// What sent there, first to last; empty if nothing did.
    pub redirected_from: Vec<Url>,
    readable: ReadablePage,
    notes: Vec<String>,
}

/// A reply that has been read whole.
pub(super) struct Content {
    pub(super) url: Url,
    pub(super) redirected_from: Vec<Url>,
    pub(super) content_type: Option<String>,
    pub(super) bytes: Vec<u8>,
}

impl Content {
    /// Makes text of it. Takes a while, if it is long.
    pub(super) fn page(self, cancel: &CancelFlag) -> Result<Page, WebError> {
        let said = self.content_type.as_deref();
        let kind = match content_kind::kind_of(said) {
            Some(ContentKind::Html) => Some(ContentKind::Html),
            Some(ContentKind::Text | ContentKind::Unknown) if content_kind::guess(&self.bytes).is_none() => {
                None
            }
            Some(ContentKind::Unknown) => content_kind::guess(&self.bytes),
            known => known,
        };
        let Some(kind) = kind else {
            let kind = said.map_or_else(|| "data of unknown kind".to_owned(), content_kind::essence);
            return Err(WebError::NotText {
                url: Box::new(self.url),
                kind,
                bytes: Some(self.bytes.len() as u64),
            });
        };
        let decoded = decode(&self.bytes, said.and_then(content_kind::charset));
        let readable = match kind {
            ContentKind::Html => readable(&decoded.text, &self.url, LONGEST, cancel)?,
            _ => ReadablePage { text: decoded.text, ..ReadablePage::default() },
        };
        let mut notes: Vec<String> = decoded.note.into_iter().collect();
        if readable.cut {
            notes.push("the page is longer than what is kept of it".to_owned());
        }
        Ok(Page { url: self.url, redirected_from: self.redirected_from, readable, notes })
    }
}

/// The text of an HTML document that is at hand: paragraphs, headings behind `#`, lists and tables, without scripts, what is hidden,
/// and where links lead. None, if it cannot be read to its end: it is more than 64 MiB of text, or one of its tags goes on and on.
///
/// ```
/// let text = convoke_tools::web::html_text(b"<h1>Cats</h1><script>x()</script><p>They <a href='/z'>sleep</a>.");
/// assert_eq!(text.unwrap_or_default().trim(), "# Cats\n\nThey sleep.");
/// ```
#[must_use]
pub fn html_text(html: &[u8]) -> Option<String> {
    let nowhere = Url::parse("about:blank").ok()?;
    let whole = decode(html, None).text;
    let ReadablePage { text, marks, cut, .. } =
        readable(&whole, &nowhere, 64 << 20, &CancelFlag::default()).ok()?;
    let mut unmarked = String::with_capacity(text.len());
    let mut done = 0;
    for (place, number) in marks {
        unmarked.push_str(&text[done..place]);
        done = place + number.to_string().len() + 2;
    }
    unmarked.push_str(&text[done..]);
    (!cut).then_some(unmarked)
}

impl Page {
    /// Returns the title; empty if there is none.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.readable.title
    }

    /// Returns all of its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.readable.text
    }

    /// The part that begins with this character, counted from 1: where it is from, the text, the links in it, and how to
    /// go on.
    #[must_use]
    pub fn part(&self, offset: usize) -> String {
        let mut shown = self.head();
        let text = &self.readable.text;
        let all = text.chars().count();
        let Some((start, _)) = text.char_indices().nth(offset.saturating_sub(1)) else {
            let problem = if all == 0 {
                "there is no text on this page".to_owned()
            } else {
                format!("there is no character {offset}: the page has {all}")
            };
            // Writing to a string cannot fail, here and below.
            let _ = write!(shown, "\n[{problem}]");
            return shown;
        };
        let end = end_of_part(text, start);
        let part = &text[start..end];
        let _ = write!(shown, "\n{part}");
        self.links(start..end, &mut shown);
        for note in &self.notes {
            let _ = write!(shown, "\n[{note}]");
        }
        if end < text.len() || start > 0 {
            let last = offset + part.chars().count() - 1;
            let _ = write!(shown, "\n[characters {offset} to {last} of {all}");
            let _ = if end < text.len() {
                write!(shown, "; go on with offset {}]", last + 1)
            } else {
                write!(shown, "]")
            };
        }
        shown
    }

    fn head(&self) -> String {
        let mut head = format!("Page: {}\n", self.url);
        if !self.redirected_from.is_empty() {
            let from: Vec<_> = self.redirected_from.iter().map(Url::as_str).collect();
            let _ = writeln!(head, "Redirected from: {}", from.join(" -> "));
        }
        if !self.title().is_empty() {
            let _ = writeln!(head, "Title: {}", self.title());
        }
        head
    }

    fn links(&self, part: std::ops::Range<usize>, shown: &mut String) {
        let here = self.readable.marks.iter().filter(|(at, _)| part.contains(at));
        let mut numbers: Vec<usize> = here.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return;
        }
        shown.push_str("\n\nLinks:");
        for number in numbers.iter().take(LINKS) {
            let _ = write!(shown, "\n[{number}] {}", self.readable.links[number - 1]);
        }
        if numbers.len() > LINKS {
            let _ = write!(shown, "\n[{} more links are not told]", numbers.len() - LINKS);
        }
    }
}

/// Where a part ends: after a line or a word, if one ends near the limit.
fn end_of_part(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let Some((limit, _)) = rest.char_indices().nth(PART) else { return text.len() };
    let near = rest[..limit].char_indices().rev().take(PART / 10);
    let mut last_word = None;
    for (at, letter) in near {
        if letter == '\n' {
            return start + at + 1;
        }
        if letter == ' ' && last_word.is_none() {
            last_word = Some(at + 1);
        }
    }
    start + last_word.unwrap_or(limit)
}
