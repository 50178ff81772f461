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

/// Whether a reader would not see it. Elements whose end need not be written are not looked at: nobody could say where
/// they end.
fn is_hidden(tag: &Tag) -> bool {
    let must_be_ended = matches!(
        &*tag.name,
        "a" | "article"
            | "aside"
            | "b"
            | "blockquote"
            | "button"
            | "code"
            | "details"
            | "dialog"
            | "div"
            | "em"
            | "figure"
            | "font"
            | "form"
            | "header"
            | "i"
            | "label"
            | "main"
            | "ol"
            | "pre"
            | "section"
            | "small"
            | "span"
            | "strong"
            | "table"
            | "ul"
    );
    must_be_ended
        && tag.attrs.iter().any(|attribute| match &*attribute.name.local {
            "hidden" => true,
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
