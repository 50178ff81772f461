//! What is wrong with YAML, in words for those who write files: the library's are for those who call it.

use std::ops::Range;

use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::{DEEPEST, SyntaxError};

/// What the library's scanner says, by words of it that occur in no other of its messages, what that means, and what to do.
const SCANNED: [(&[&str], &str, &str); 11] = [
    (
        &["tabs disallowed", "tab cannot be", "found a tab", "start with a tab"],
        "there is a tab here, and YAML is indented with blanks only",
        "write blanks instead",
    ),
    (
        &["escape", "surrogate", "hexadecimal"],
        "this text has a `\\` with something after it that YAML does not know",
        "write `\\\\` for the sign itself, or put the text in single quotes",
    ),
    (
        &["-quoted scalar"],
        "something follows the quotes in which this text ends",
        "write `\\\"` for quotes within double quotes, and `''` for one within single quotes",
    ),
    (
        &["unclosed quote", "multiline quoted scalar", "document indicator"],
        "a text in quotes does not end before this line",
        "close its quotes; if it goes on over lines, indent them further than its name",
    ),
    (
        &["bracket", "illegal placement of ':'", "',' or", "flow"],
        "a `[` or `{` does not end as it begins",
        "close every bracket with its own kind, write `,` between what is in it, and put texts with brackets in quotes",
    ),
    (
        &["mapping values", "':' must be"],
        "a `:` cannot stand here",
        "put a text that has `: ` in it in quotes, write a blank after the `:` of a name, and indent names that belong together alike",
    ),
    (&["unknown anchor"], "there is no anchor of this name", "put a text that begins with `*` in quotes"),
    (&["anchor"], "a `&` or `*` needs a name after it", "put a text that begins so in quotes"),
    (&["comment"], "a comment cannot stand here", "write a blank before `#`, or put the text in quotes"),
    (
        &[
            "simple key",
            "indent",
            "document start",
            "block",
            "mapping key",
            "node content",
            "document end",
            "eof",
        ],
        "this line fits nothing that stands before it",
        "indent what belongs together alike, write `:` after every name, and begin every item of a list with `- `",
    ),
    (
        &["directive", "version", "TAG", "tag", "handle"],
        "YAML has no such sign here",
        "leave out lines that begin with `%`, and put texts that begin with `!` or `%` in quotes",
    ),
];

/// What keeps a text from being read, in our words.
pub(super) fn said(error: &Error, text: &str, place: Range<usize>) -> SyntaxError {
    let at =
        |message: String, help: &'static str| SyntaxError { message, help: Some(help), place: place.clone() };
    let written = text.get(place.clone()).filter(|written| !written.is_empty());
    let shown = written.or_else(|| text[place.start..].split('\n').next()).unwrap_or_default();
    let shown = crate::one_line_of(shown.trim(), 40);
    let too_much = "write what is meant in fewer words, and without aliases of what has aliases in it";
    match error.without_snippet() {
        Error::AliasError { error, .. } => said(error, text, place),
        Error::DuplicateMappingKey { .. } => at(format!("`{shown}` is here twice"), "remove one of them"),
        Error::UnknownAnchor { .. } => {
            at("there is no anchor of this name".to_owned(), "put a text that begins with `*` in quotes")
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            at(format!("`{shown}` stands for something that it is in"), "write what is meant instead")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => too_deep(place),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => at(
            "with all that its aliases (`*name`) stand for, this comes to more than is read".to_owned(),
            too_much,
        ),
        Error::NonFiniteFloat { .. } => at(
            format!("`{shown}` is no number that can be written in JSON"),
            "write a number, or put the text in quotes",
        ),
        Error::NullIntoString { .. } | Error::Unexpected { .. } => {
            at("a name is a text".to_owned(), "put it in quotes: `\"null\": …`")
        }
        Error::MergeValueNotMapOrSeqOfMaps { .. } => at(
            "`<<` takes names and values from an object, or from a list of objects".to_owned(),
            "write `<<: *name`",
        ),
        Error::Message { msg, .. } | Error::ExternalMessage { msg, .. } => match msg.as_str() {
            msg if msg.starts_with("unexpected character") => {
                at("a text cannot begin with this sign".to_owned(), "put the text in quotes")
            }
            msg if msg.contains("recursion limit") => too_deep(place),
            msg if msg.contains("tab") => scanned(msg, tab(text, place)),
            msg => scanned(msg, place),
        },
        _ => at(format!("`{shown}` cannot be what its tag (`!!…`) says it is"), "leave the tag out"),
    }
}

/// The first tab from a line on.
fn tab(text: &str, place: Range<usize>) -> Range<usize> {
    let line = text[..place.start].rfind('\n').map_or(0, |end| end + 1);
    text[line..].find('\t').map_or(place, |tab| line + tab..line + tab + 1)
}

fn too_deep(place: Range<usize>) -> SyntaxError {
    SyntaxError { message: format!("expected at most {DEEPEST} values in each other"), help: None, place }
}

fn scanned(message: &str, place: Range<usize>) -> SyntaxError {
    let known = SCANNED.iter().find(|(words, ..)| words.iter().any(|word| message.contains(word)));
    let (_, message, help) = known.unwrap_or(&(
        &[],
        "this is not valid YAML",
        "look at the indentation, the quotes and the brackets of this line and of those before it",
    ));
    SyntaxError { message: (*message).to_owned(), help: Some(help), place }
}
