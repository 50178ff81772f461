//! Converts HTML to readable text: paragraphs, headings, lists, tables, and links with numbers.
//!
//! The document is read tag by tag and never becomes a tree: the work grows with its length and with nothing else, however
//! it is nested, and whatever stands in one tag. Left out is what nobody would see: scripts, styles, elements that are hidden, characters without a
//! width; and what is on every page of a site: navigation and footers.

mod elements;
mod writer;

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

use self::elements::{ElementRole, ImpliedEnd, implied_end, raw};
use self::writer::Writer;
use super::WebError;
use crate::blocking::CancelFlag;

/// A page as text.
#[derive(Debug, Default)]
pub(super) struct ReadablePage {
    pub(super) title: String,
    pub(super) text: String,
    /// Where links lead, in the order of their numbers, which begin with 1.
    pub(super) links: Vec<String>,
    /// Where in the text, in bytes, a link's number stands.
    pub(super) marks: Vec<(usize, usize)>,
    /// Whether there was more text than is kept.
    pub(super) cut: bool,
}

/// The longest text of a page that is kept, in bytes.
pub(super) const LONGEST: usize = 4 << 20;
/// So much is read at a time, between two looks at whether it is still wanted.
const PIECE: usize = 64 << 10;
/// A tag that goes on over several pieces has at most this many words. Each is compared with those before it.
const WORDS_OF_TAG: usize = 20_000;
/// A page with less text than this is shown with its navigation.
const LITTLE: usize = 100;

/// The text of a document at this address, of which no more is kept than `longest` bytes.
pub(super) fn readable(
    html: &str,
    base: &Url,
    longest: usize,
    cancel: &CancelFlag,
) -> Result<ReadablePage, WebError> {
    let pass = |leave| pass(html, Writer::new(base, longest), cancel, leave);
    let (mut readable, mut missing) = pass(SkipLevel::Surroundings)?;
    if missing.surroundings && readable.text.len() < LITTLE {
        (readable, missing) = pass(SkipLevel::Hidden)?;
    }
    // If something that was left out never ended, the rest of the page is missing.
    Ok(if missing.rest { pass(SkipLevel::Unreadable)?.0 } else { readable })
}

/// The parts that are left out: this, and those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SkipLevel {
    Unreadable,
    Hidden,
    Surroundings,
}

/// The parts that the text lacks.
struct OmittedText {
    surroundings: bool,
    rest: bool,
}

fn pass(
    html: &str,
    writer: Writer,
    cancel: &CancelFlag,
    leave: SkipLevel,
) -> Result<(ReadablePage, OmittedText), WebError> {
    let state = State { writer, leave, skipping: None, surroundings: false };
    let sink = Sink { state: RefCell::new(state), heard: Cell::new(Heard::Nothing) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let feed = |text: &str| {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(text));
        let _ = tokenizer.feed(&input);
        tokenizer.sink.heard.take()
    };
    let (mut rest, mut words, mut is_cut) = (html, 0, false);
    while !rest.is_empty() {
        if cancel.is_cancelled() {
            return Err(WebError::GivenUp);
        }
        let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        rest = later;
        let is_within = feed(piece) == Heard::Nothing;
        words = if is_within { words + piece.split(is_between_attributes).count() } else { 0 };
        if words > WORDS_OF_TAG {
            // It is a tag or a comment, and only the end of a comment tells which. A comment may be as long as it likes.
            words = 0;
            is_cut = feed("-->") != Heard::Comment;
            if is_cut {
                break;
            }
            feed("<!--");
        }
    }
    tokenizer.end();
    let mut state = tokenizer.sink.state.into_inner();
    state.writer.readable.cut |= is_cut;
    // A paragraph may end with the page.
    let is_over = |skipping: &Skipping| skipping.part == ElementRole::Unreadable || &*skipping.name == "p";
    let rest = state.skipping.is_some_and(|skipping| !is_over(&skipping));
    let missing = OmittedText { surroundings: state.surroundings, rest };
    Ok((state.writer.finish(), missing))
}

/// What parts two attributes of a tag.
fn is_between_attributes(letter: char) -> bool {
    letter.is_ascii_whitespace() || matches!(letter, '/' | '"' | '\'')
}

struct Sink {
    state: RefCell<State>,
    heard: Cell<Heard>,
}

/// What came of a piece of a document.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Heard {
    #[default]
    Nothing,
    Comment,
    Else,
}

struct State {
    writer: Writer,
    leave: SkipLevel,
    skipping: Option<Skipping>,
    surroundings: bool,
}

/// An element that is left out, until it ends.
struct Skipping {
    name: html5ever::LocalName,
    depth: usize,
    part: ElementRole,
    /// What ends it besides its end.
    implied_end: Option<ImpliedEnd>,
}

/// Where a tag stands to an element that is left out.
enum TagPlace {
    Within,
    Last,
    Behind,
}

impl Skipping {
    fn place(&mut self, tag: &Tag) -> TagPlace {
        let is_among = |names: &[&str]| names.contains(&&*tag.name);
        let (is_start, is_outermost) = (tag.kind == TagKind::StartTag, self.depth == 1);
        match self.implied_end {
            Some(_) if is_outermost && !is_start && tag.name == self.name => self.depth = 0,
            Some(end) if is_outermost && is_among(if is_start { end.next } else { end.outer }) => {
                return TagPlace::Behind;
            }
            Some(end) if is_among(end.containers) => {
                self.depth = if is_start { self.depth + 1 } else { self.depth - 1 };
                return if self.depth == 0 { TagPlace::Behind } else { TagPlace::Within };
            }
            None if tag.name == self.name && !is_start => self.depth -= 1,
            None if tag.name == self.name && !tag.self_closing => self.depth += 1,
            _ => {}
        }
        if self.depth == 0 { TagPlace::Last } else { TagPlace::Within }
    }
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            // A mistake in a tag is told before the tag.
            Token::ParseError(_) => {}
            Token::CommentToken(_) => self.heard.set(Heard::Comment),
            _ => self.heard.set(Heard::Else),
        }
        let mut state = self.state.borrow_mut();
        match token {
            Token::TagToken(tag) => state.tag(&tag),
            Token::CharacterTokens(text) if state.skipping.is_none() => {
                state.writer.text(&text);
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

impl State {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let place = self.skipping.as_mut().map(|skipping| skipping.place(tag));
        if let Some(TagPlace::Last | TagPlace::Behind) = place {
            self.skipping = None;
        }
        if let Some(TagPlace::Within | TagPlace::Last) = place {
            // Scripts within what is left out may have end tags in them.
            return if tag.kind == TagKind::StartTag && !tag.self_closing && !is_drawing(&self.skipping) {
                raw_text(&tag.name)
            } else {
                TokenSinkResult::Continue
            };
        }
        if tag.kind == TagKind::EndTag {
            self.writer.end(&tag.name);
            return TokenSinkResult::Continue;
        }
        let part = ElementRole::of(tag);
        let skipped = match part {
            ElementRole::Content => false,
            ElementRole::Unreadable => true,
            ElementRole::Hidden => self.leave >= SkipLevel::Hidden,
            ElementRole::Surroundings => self.leave >= SkipLevel::Surroundings,
        };
        if skipped {
            self.surroundings |= part == ElementRole::Surroundings;
            if !tag.self_closing || raw(&tag.name).is_some() {
                self.skipping = Some(Skipping {
                    name: tag.name.clone(),
                    depth: 1,
                    part,
                    implied_end: implied_end(&tag.name),
                });
            }
        } else {
            self.writer.start(tag);
        }
        raw_text(&tag.name)
    }
}

/// In drawings and formulas, `title` and `style` are elements like any other.
fn is_drawing(skipping: &Option<Skipping>) -> bool {
    skipping.as_ref().is_some_and(|skipping| matches!(&*skipping.name, "svg" | "math"))
}

fn raw_text(name: &str) -> TokenSinkResult<()> {
    raw(name).map_or(TokenSinkResult::Continue, TokenSinkResult::<()>::RawData as fn(RawKind) -> _)
}
