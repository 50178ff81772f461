//! Reads a price table from TOML.

use convoke_core::{Money, Price};
use convoke_text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::pattern::Pattern;
use super::table::{Cost, Layer};
use super::{PriceError, dollars};

const KEYS: &[&str] = &["as_of", "prices"];
const PRICE_KEYS: &[&str] = &["input", "output", "cached_input", "cache_write"];

const AS_OF: &str = "a day, such as 2026-11-15";
const PRICES: &str = "a table: [prices]";
const PRICE: &str = "{ input = 3, output = 15 }, \"free\" or \"unknown\"";
const DOLLARS: &str = "dollars per million tokens, such as 3 or 0.25";

pub(super) fn read(text: &str) -> Result<Layer, PriceError> {
    let source = Source { text };
    let document = DeTable::parse(text).map_err(|error| PriceError::Syntax {
        line: source.line(error.span().map_or(0, |span| span.start)),
        message: error.message().trim().to_owned(),
    })?;
    let document = document.into_inner();
    source.check(&document, "", KEYS)?;
    let as_of = document.get("as_of").map(|value| source.day(value)).transpose()?;
    let Some(prices) = document.get("prices") else {
        return Err(PriceError::MissingKey { line: 1, key: "prices".to_owned(), expected: PRICES });
    };
    let DeValue::Table(table) = prices.get_ref() else {
        return Err(source.wrong("prices", prices, PRICES));
    };
    let costs =
        table.iter().map(|(name, value)| Ok((source.pattern(name)?, source.cost(name.get_ref(), value)?)));
    Ok(Layer { as_of, costs: costs.collect::<Result<_, _>>()? })
}

/// The text, to say where in it something is.
struct Source<'a> {
    text: &'a str,
}

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    /// That all keys of a table are known.
    fn check(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        known: &'static [&'static str],
    ) -> Result<(), PriceError> {
        let Some(key) = table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        Err(PriceError::UnknownKey {
            line: self.line(key.span().start),
            key: format!("{prefix}{}", key.get_ref()),
            hint: nearest(key.get_ref(), known.iter().copied()).map(|near| format!("{prefix}{near}")),
            known,
        })
    }

    fn day(&self, value: &Spanned<DeValue<'_>>) -> Result<String, PriceError> {
        match value.get_ref() {
            DeValue::Datetime(time) if time.date.is_some() && time.time.is_none() => Ok(time.to_string()),
            _ => Err(self.wrong("as_of", value, AS_OF)),
        }
    }

    fn pattern(&self, name: &Spanned<std::borrow::Cow<'_, str>>) -> Result<Pattern, PriceError> {
        Pattern::new(name.get_ref()).map_err(|remedy| PriceError::WrongName {
            line: self.line(name.span().start),
            name: name.get_ref().to_string(),
            remedy,
        })
    }

    fn cost(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Cost, PriceError> {
        let key = format!("prices.\"{name}\"");
        match value.get_ref() {
            DeValue::String(word) if word == "free" => Ok(Cost::Known(Price::FREE)),
            DeValue::String(word) if word == "unknown" => Ok(Cost::Unknown),
            DeValue::Table(table) => {
                let prefix = format!("{key}.");
                self.check(table, &prefix, PRICE_KEYS)?;
                let missing = |part: &str| PriceError::MissingKey {
                    line: self.line(value.span().start),
                    key: format!("{prefix}{part}"),
                    expected: DOLLARS,
                };
                let input = self.dollars(table, &prefix, "input")?.ok_or_else(|| missing("input"))?;
                let output = self.dollars(table, &prefix, "output")?.ok_or_else(|| missing("output"))?;
                Ok(Cost::Known(Price {
                    input,
                    output,
                    cached_input: self.dollars(table, &prefix, "cached_input")?.unwrap_or(input),
                    cache_write: self.dollars(table, &prefix, "cache_write")?.unwrap_or(input),
                }))
            }
            _ => Err(self.wrong(&key, value, PRICE)),
        }
    }

    fn dollars(&self, table: &DeTable<'_>, prefix: &str, key: &str) -> Result<Option<Money>, PriceError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            DeValue::Float(number) => number.to_string().parse().ok(),
            _ => None,
        };
        match number.and_then(dollars::of) {
            Some(money) => Ok(Some(money)),
            None => Err(self.wrong(&format!("{prefix}{key}"), value, DOLLARS)),
        }
    }

    fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &'static str) -> PriceError {
        let found = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            _ => self.text.get(value.span()).unwrap_or("something else").to_owned(),
        };
        PriceError::WrongValue { line: self.line(value.span().start), key: key.to_owned(), found, expected }
    }
}
