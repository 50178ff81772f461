//! Knowledge of HTML elements.

use html5ever::tokenizer::Tag;
use html5ever::tokenizer::states::RawKind;

/// The role of an element in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementRole {
    Content,
    /// Nothing a reader would see.
    Unreadable,
    /// What a page does not show.
    Hidden,
    /// What is around the content.
    Surroundings,
}

impl ElementRole {
    pub(super) fn of(tag: &Tag) -> Self {
        match &*tag.name {
            "script" | "style" | "template" | "svg" | "math" | "iframe" | "noembed" | "noframes"
            | "object" | "canvas" | "audio" | "video" | "select" | "datalist" | "textarea" => {
                Self::Unreadable
            }
            "nav" | "footer" => Self::Surroundings,
            _ if is_hidden(tag) => Self::Hidden,
            _ => Self::Content,
        }
    }
}

/// Whether a reader would not see it. What has no content, or ends with the page, is not looked at.
fn is_hidden(tag: &Tag) -> bool {
    let is_looked_at = !matches!(
        &*tag.name,
        "html"
            | "head"
            | "body"
            | "noscript"
            | "rt"
            | "rp"
            | "optgroup"
            | "option"
            | "colgroup"
            | "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    );
    is_looked_at
        && tag.attrs.iter().any(|attribute| match &*attribute.name.local {
            "hidden" => true,
            // Formulas are in such a `span`, as they are drawn.
            "aria-hidden" => &*tag.name != "span" && attribute.value.trim().eq_ignore_ascii_case("true"),
            "style" => {
                let style: String =
                    attribute.value.chars().filter(|letter| !letter.is_whitespace()).take(2_000).collect();
                let style = style.to_ascii_lowercase();
                ["display:none", "visibility:hidden", "font-size:0;", "opacity:0;"]
                    .iter()
                    .any(|way| style.contains(way))
                    || style.ends_with("font-size:0")
                    || style.ends_with("opacity:0")
            }
            _ => false,
        })
}

/// What ends an element whose end need not be written.
#[derive(Clone, Copy)]
pub(super) struct ImpliedEnd {
    /// Elements that begin behind it.
    pub(super) next: &'static [&'static str],
    /// Elements around it that end with it.
    pub(super) outer: &'static [&'static str],
    /// The same; and those that are in it have elements like it of their own.
    pub(super) containers: &'static [&'static str],
}

const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
const ROW_GROUPS: &[&str] = &["tbody", "tfoot", "thead"];

pub(super) fn implied_end(name: &str) -> Option<ImpliedEnd> {
    let end = |next, outer, containers| Some(ImpliedEnd { next, outer, containers });
    match name {
        "p" => end(BLOCKS, BLOCKS, &[]),
        "li" => end(&["li"], &[], &["ul", "ol", "menu"]),
        "dt" | "dd" => end(&["dt", "dd"], &[], &["dl"]),
        "td" | "th" => end(
            &["td", "th", "tr", "tbody", "tfoot", "thead"],
            &["tr", "tbody", "tfoot", "thead"],
            &["table"],
        ),
        "tr" => end(&["tr", "tbody", "tfoot", "thead"], ROW_GROUPS, &["table"]),
        "tbody" | "tfoot" | "thead" => end(ROW_GROUPS, &[], &["table"]),
        _ => None,
    }
}

/// How the content of an element is read, if not as HTML.
pub(super) fn raw(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(RawKind::Rcdata),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        "script" => Some(RawKind::ScriptData),
        _ => None,
    }
}

/// What stands between an element and what is around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Nothing,
    Space,
    Line,
    Paragraph,
}

pub(super) fn gap(name: &str) -> Gap {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "blockquote"
        | "pre" | "figure" | "article" | "section" | "main" | "header" | "aside" | "form" | "fieldset"
        | "details" | "address" | "nav" | "footer" | "hr" | "xmp" => Gap::Paragraph,
        "div" | "li" | "tr" | "dt" | "dd" | "br" | "option" | "summary" | "figcaption" | "caption"
        | "legend" | "body" | "title" => Gap::Line,
        _ => Gap::Nothing,
    }
}

/// Characters that show nothing and can carry words that only a model reads.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
        || (letter.is_control() && !letter.is_whitespace())
}
