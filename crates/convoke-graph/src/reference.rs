//! References in the configuration of nodes: `${board.path}`, `${board.path:default}`, and `\${` for the signs themselves.
//!
//! They are resolved anew for every call of a node, in texts, lists and objects alike. A text that is one reference and nothing else
//! becomes the value it refers to, with its type. What a value says is never read as a reference again.

use std::cell::Cell;

use convoke_core::json_text;
use serde_json::{Map, Value};

use crate::board::{LARGEST, size};
use crate::{Board, BoardError};

/// The reason why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{reference}` in `{field}` cannot be resolved: {problem}")]
#[non_exhaustive]
pub struct ReferenceError {
    /// The field of the configuration, as a JSON pointer.
    pub field: String,
    /// The reference, as it is written.
    pub reference: String,
    /// Why.
    pub problem: String,
    pub(crate) kind: Unresolved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unresolved {
    Malformed,
    UnknownScope,
    Missing,
}

impl From<ReferenceError> for convoke_core::Error {
    fn from(error: ReferenceError) -> Self {
        Self::permanent(error)
    }
}

/// A piece of a text.
enum Piece<'a> {
    Text(&'a str),
    Reference(Reference<'a>),
}

struct Reference<'a> {
    written: &'a str,
    path: &'a str,
    default: Option<&'a str>,
}

/// The value with its references resolved.
///
/// # Errors
/// The first that cannot be, or with which all of them come to more than a board holds.
pub(crate) fn resolved(value: &Value, board: &Board) -> Result<Value, ReferenceError> {
    let copied = Cell::new(0);
    walk(value, "", &|field, reference| {
        copied.set(copied.get() + at(board, reference.path).map_or(0, size));
        if copied.get() > LARGEST {
            let problem =
                format!("with it, the references of this node come to more than {} MiB", LARGEST >> 20);
            return Err(malformed(field, reference.written, &problem));
        }
        reference.value(field, board)
    })
}

/// Finds what is wrong with the references of a value whatever is on the board.
pub(crate) fn check(value: &Value) -> Result<(), ReferenceError> {
    walk(value, "", &|_, _| Ok(Value::Null)).map(drop)
}

/// The variables that a text refers to without a default.
pub(crate) fn needed(text: &str) -> Vec<&str> {
    let pieces = pieces(text, "").unwrap_or_default();
    let needed = pieces.iter().filter_map(|piece| match piece {
        Piece::Reference(Reference { path, default: None, .. }) => path.split('.').next(),
        _ => None,
    });
    needed.collect()
}

/// The variable that a text is the value of, all of it and nothing else.
pub(crate) fn whole_variable(text: &str) -> Option<&str> {
    match &pieces(text, "").ok()?[..] {
        [Piece::Reference(only)] if !only.path.contains('.') => Some(only.path),
        _ => None,
    }
}

/// A text as it is if it refers to nothing.
pub(crate) fn literal(text: &str) -> Option<String> {
    let pieces = pieces(text, "").ok()?;
    let written =
        |piece: &Piece<'_>| if let Piece::Text(text) = piece { Some((*text).to_owned()) } else { None };
    pieces.iter().map(written).collect()
}

/// Whether there is a reference in a value.
pub(crate) fn has_references(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(has_references),
        Value::Object(entries) => entries.values().any(has_references),
        _ => false,
    }
}

type Resolve<'f> = &'f dyn Fn(&str, &Reference<'_>) -> Result<Value, ReferenceError>;

fn walk(value: &Value, field: &str, resolve: Resolve<'_>) -> Result<Value, ReferenceError> {
    Ok(match value {
        Value::String(text) => text_of(text, field, resolve)?,
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| walk(item, &format!("{field}/{index}"), resolve))
                .collect::<Result<_, _>>()?
        }
        Value::Object(entries) => {
            let mut all = Map::new();
            for (name, value) in entries {
                if name.contains("${") {
                    return Err(malformed(field, name, "names of fields cannot be references"));
                }
                all.insert(name.clone(), walk(value, &format!("{field}/{name}"), resolve)?);
            }
            Value::Object(all)
        }
        other => other.clone(),
    })
}

fn text_of(text: &str, field: &str, resolve: Resolve<'_>) -> Result<Value, ReferenceError> {
    if !text.contains("${") {
        return Ok(Value::String(text.to_owned()));
    }
    let pieces = pieces(text, field)?;
    if let [Piece::Reference(only)] = &pieces[..] {
        return resolve(field, only);
    }
    let mut written = String::new();
    for piece in &pieces {
        match piece {
            Piece::Text(text) => written.push_str(text),
            Piece::Reference(reference) => written.push_str(&shown(&resolve(field, reference)?)),
        }
    }
    Ok(Value::String(written))
}

/// A value within a text: texts as they are, null as nothing, everything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => json_text(other),
    }
}

fn pieces<'a>(text: &'a str, field: &str) -> Result<Vec<Piece<'a>>, ReferenceError> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find("${") {
        if rest[..start].ends_with('\\') {
            pieces.push(Piece::Text(&rest[..start - 1]));
            pieces.push(Piece::Text("${"));
            rest = &rest[start + 2..];
            continue;
        }
        let Some(end) = rest[start..].find('}').map(|end| start + end) else {
            return Err(malformed(
                field,
                &rest[start..],
                "it has no `}`; write `\\${` for the signs themselves",
            ));
        };
        let inner = &rest[start + 2..end];
        if inner.contains("${") {
            return Err(malformed(field, &rest[start..=end], "a reference cannot be within another"));
        }
        let (path, default) = match inner.split_once(':') {
            Some((path, default)) => (path.trim(), Some(default.trim())),
            None => (inner.trim(), None),
        };
        if start > 0 {
            pieces.push(Piece::Text(&rest[..start]));
        }
        let written = &rest[start..=end];
        let path = match path.split_once('.') {
            Some(("board", path)) if !path.is_empty() && path.split('.').all(|part| !part.is_empty()) => path,
            Some((scope, path)) if !scope.is_empty() && !path.is_empty() && scope != "board" => {
                let problem = format!("there is no `{scope}`: write `${{board.{path}}}`");
                let kind = Unresolved::UnknownScope;
                return Err(ReferenceError { kind, ..malformed(field, written, &problem) });
            }
            _ => return Err(malformed(field, written, "write `${board.name}`")),
        };
        pieces.push(Piece::Reference(Reference { written, path, default }));
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

impl Reference<'_> {
    fn value(&self, field: &str, board: &Board) -> Result<Value, ReferenceError> {
        match at(board, self.path).filter(|value| !value.is_null()) {
            Some(value) => Ok(value.clone()),
            None => match self.default {
                Some(default) => {
                    Ok(serde_json::from_str(default).unwrap_or_else(|_| Value::String(default.to_owned())))
                }
                None => {
                    let path = self.path;
                    // A field that may be left out would be left out, and nobody would know.
                    let problem = match at(board, path) {
                        Some(_) => format!(
                            "`{path}` is null; write `${{board.{path}:null}}` if it may be, or another default"
                        ),
                        None => format!(
                            "there is no `{path}` on the board; write `${{board.{path}:default}}` if there may be none"
                        ),
                    };
                    Err(ReferenceError {
                        kind: Unresolved::Missing,
                        ..malformed(field, self.written, &problem)
                    })
                }
            },
        }
    }
}

/// What a dotted path leads to.
pub(crate) fn at<'b>(board: &'b Board, path: &str) -> Option<&'b Value> {
    let mut parts = path.split('.');
    let first = board.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Object(entries) => entries.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

fn malformed(field: &str, reference: &str, problem: &str) -> ReferenceError {
    ReferenceError {
        field: field.to_owned(),
        reference: reference.to_owned(),
        problem: problem.to_owned(),
        kind: Unresolved::Malformed,
    }
}

/// A piece of a template.
enum TemplatePiece<'a> {
    Text(&'a str),
    /// `{{.a.b}}`, blanks around the path or none: as it is written, and the path.
    Variable(&'a str, &'a str),
}

fn template_pieces(template: &str) -> Vec<TemplatePiece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), template);
    while let Some(start) = rest.find("{{") {
        let Some(end) = rest[start..].find("}}").map(|end| start + end) else { break };
        // `{{{` and `{{ {{.name}}` begin with the last two.
        let start = rest[..end].rfind("{{").unwrap_or(start);
        pieces.push(TemplatePiece::Text(&rest[..start]));
        let (written, inner) = (&rest[start..end + 2], rest[start + 2..end].trim());
        let is_path = |path: &&str| !path.is_empty() && path.split('.').all(|part| !part.trim().is_empty());
        pieces.push(match inner.strip_prefix('.').map(str::trim).filter(is_path) {
            Some(path) => TemplatePiece::Variable(written, path),
            None => TemplatePiece::Text(written),
        });
        rest = &rest[end + 2..];
    }
    pieces.push(TemplatePiece::Text(rest));
    pieces
}

/// What a template asks for: as it is written, and the path.
pub(crate) fn asked(template: &str) -> Vec<(&str, &str)> {
    let variables = template_pieces(template).into_iter().filter_map(|piece| match piece {
        TemplatePiece::Variable(written, path) => Some((written, path)),
        TemplatePiece::Text(_) => None,
    });
    variables.collect()
}

/// What of a template stays as it is on a board.
pub(crate) fn unfilled<'t>(template: &'t str, board: &Board) -> Vec<&'t str> {
    let asked = asked(template).into_iter();
    asked.filter(|(_, path)| at(board, path).is_none()).map(|(written, _)| written).collect()
}

/// A template with `{{.name}}` filled in once; what is unknown stays. `key` is the variable that it is for.
///
/// # Errors
/// If it comes to more than a board holds.
pub(crate) fn filled(template: &str, board: &Board, key: &str) -> Result<String, BoardError> {
    let mut text = String::new();
    for piece in template_pieces(template) {
        match piece {
            TemplatePiece::Text(piece) => text.push_str(piece),
            TemplatePiece::Variable(written, path) => match at(board, path) {
                Some(value) => text.push_str(&shown(value)),
                None => text.push_str(written),
            },
        }
        if text.len() > LARGEST {
            return Err(BoardError::TooLarge { key: key.to_owned() });
        }
    }
    Ok(text)
}
