//! YAML, with the place of every value.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as Refused, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Location, Spanned};

use super::yaml_errors::said;
use super::{Content, DEEPEST, Entry, Node, SyntaxError};
use crate::finding::Finding;

/// Reads a text. Names that stand twice are all in the tree: whoever knows their paths finds them.
pub(super) fn parse(text: &str, findings: &mut Vec<Finding>) -> Result<Node, SyntaxError> {
    let first = read(text, DuplicateKeyPolicy::Error);
    let tree = match &first {
        // In the order of the text, so that all of them are seen.
        Err(error) if matches!(error.without_snippet(), Error::DuplicateMappingKey { .. }) => {
            read(text, DuplicateKeyPolicy::LastWins)
        }
        _ => return first.map(node).or_else(|error| without_others(&error, text, findings)),
    };
    match tree.map(node) {
        // Numbers are names too, and are compared as numbers: of these the library gives one only.
        Ok(tree) if tree.has_duplicates() => Ok(tree),
        Ok(_) => first.map(node).map_err(|error| said(&error, text, place_of(&error, text))),
        Err(error) => without_others(&error, text, findings),
    }
}

/// The first document of several. All others are a mistake.
fn without_others(error: &Error, text: &str, findings: &mut Vec<Finding>) -> Result<Node, SyntaxError> {
    let place = place_of(error, text);
    if !matches!(error.without_snippet(), Error::MultipleDocuments { .. }) {
        return Err(said(error, text, place));
    }
    let before = &text[..place.start];
    let end = before.rfind("\n---").max(before.rfind("\n...")).unwrap_or_default();
    let mut finding =
        Finding::error("several-documents", "", "another document begins here, and only one is read")
            .help("leave out `---` and what follows, or make it a file of its own");
    finding.place = Some(end + 1..end + 4);
    findings.push(finding);
    parse(&text[..end], findings)
}

fn read(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Spanned<Bare>, Error> {
    // What the text itself holds counts for nothing; what its aliases add has the library's limits.
    let limits = serde_saphyr::Budget::default();
    let options = serde_saphyr::options! {
        strict_booleans: true,
        duplicate_keys: duplicate_keys,
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            max_nodes: limits.max_nodes + text.len(),
            max_events: limits.max_events + 2 * text.len(),
        },
    };
    serde_saphyr::from_str_with_options::<Spanned<Bare>>(text, options)
}

fn place_of(error: &Error, text: &str) -> Range<usize> {
    error.location().map_or(0..0, |location| mistake(text, &location))
}

/// A value, without its own place.
struct Bare(Content);

fn node(spanned: Spanned<Bare>) -> Node {
    Node { content: spanned.value.0, place: place(&spanned.referenced) }
}

fn place(location: &Location) -> Range<usize> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset().unwrap_or_default()).unwrap_or_default();
    let length = usize::try_from(span.byte_len().unwrap_or_default()).unwrap_or_default();
    start..start.saturating_add(length)
}

/// The place of a mistake, of which sometimes only the line and the column are known.
fn mistake(text: &str, location: &Location) -> Range<usize> {
    if location.span().byte_offset().is_some() {
        return place(location);
    }
    let count = |number: u64| usize::try_from(number).unwrap_or_default().saturating_sub(1);
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.by_ref().take(count(location.line())).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let column = line.char_indices().nth(count(location.column())).map_or(line.len(), |(byte, _)| byte);
    start + column..start + column
}

impl<'de> Deserialize<'de> for Bare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BareVisitor)
    }
}

struct BareVisitor;

impl<'de> Visitor<'de> for BareVisitor {
    type Value = Bare;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Refused>(self) -> Result<Bare, E> {
        Ok(Bare(Content::Null))
    }

    fn visit_none<E: Refused>(self) -> Result<Bare, E> {
        Ok(Bare(Content::Null))
    }

    fn visit_bool<E: Refused>(self, value: bool) -> Result<Bare, E> {
        Ok(Bare(Content::Bool(value)))
    }

    fn visit_i64<E: Refused>(self, value: i64) -> Result<Bare, E> {
        Ok(Bare(Content::Number(value.into())))
    }

    fn visit_u64<E: Refused>(self, value: u64) -> Result<Bare, E> {
        Ok(Bare(Content::Number(value.into())))
    }

    fn visit_f64<E: Refused>(self, value: f64) -> Result<Bare, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("numbers must be finite"))?;
        Ok(Bare(Content::Number(number)))
    }

    fn visit_str<E: Refused>(self, value: &str) -> Result<Bare, E> {
        Ok(Bare(Content::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bare, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Bare>>()? {
            list.push(node(item));
        }
        Ok(Bare(Content::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Bare, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = entries.next_key::<Spanned<String>>()? {
            let place = place(&name.referenced);
            map.push(Entry { name: name.value, place, node: node(entries.next_value()?) });
        }
        Ok(Bare(Content::Map(map)))
    }
}
