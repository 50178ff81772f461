//! YAML, with the place of every value.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::{Content, DEEPEST, Entry, Node, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! { max_depth: DEEPEST },
    };
    serde_saphyr::from_str_with_options::<Spanned<Bare>>(text, options).map(node).map_err(|error| {
        let place = error.location().map_or(0..0, |location| mistake(text, &location));
        let said = error.without_snippet().to_string();
        SyntaxError { message: format!("not valid YAML: {}", said.lines().next().unwrap_or_default()), place }
    })
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

    fn visit_unit<E: Error>(self) -> Result<Bare, E> {
        Ok(Bare(Content::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Bare, E> {
        Ok(Bare(Content::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Bare, E> {
        Ok(Bare(Content::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Bare, E> {
        Ok(Bare(Content::Number(value.into())))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Bare, E> {
        Ok(Bare(Content::Number(value.into())))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Bare, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("numbers must be finite"))?;
        Ok(Bare(Content::Number(number)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Bare, E> {
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
