//! The price table.

use std::sync::LazyLock;

use convoke_core::Price;

use super::pattern::Pattern;
use super::{PriceError, file};

/// A table of model prices. [The module](super) shows how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceTable {
    /// The uppermost first.
    layers: Vec<Layer>,
}

/// One table as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) as_of: Option<String>,
    pub(super) costs: Vec<(Pattern, Cost)>,
}

/// The cost of a model, as far as a table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    Known(Price),
    /// It says that it does not know.
    Unknown,
}

/// A price and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quote {
    /// The price.
    pub price: Price,
    /// The name in the table that fits the model's.
    pub pattern: String,
    /// As of which day the price is known, as in `2026-11-15`, if its table says so.
    pub as_of: Option<String>,
}

impl PriceTable {
    /// List prices of well-known models as of a day this library was made. They change; see
    /// [`overridden_by`](Self::overridden_by).
    ///
    /// ```
    /// use convoke_core::Price;
    /// use convoke_models::PriceTable;
    ///
    /// let prices = PriceTable::builtin();
    /// assert_eq!(prices.price("anthropic/claude-sonnet-4-5-20250929"), prices.price("anthropic/claude-sonnet-4-5"));
    /// assert_eq!(prices.price("ollama/qwen3"), Some(Price::FREE));
    /// ```
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test reads the table that is built in")]
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<PriceTable> = LazyLock::new(|| {
            PriceTable::parse(include_str!("prices.toml"))
                .expect("the price table that is built in can be read")
        });
        BUILTIN.clone()
    }

    /// A table from TOML.
    ///
    /// # Errors
    /// [`PriceError`], which names the line, the key and the remedy.
    pub fn parse(toml: &str) -> Result<Self, PriceError> {
        Ok(Self { layers: vec![file::read(toml)?] })
    }

    /// Returns both tables; `other` takes precedence over this one.
    #[must_use]
    pub fn overridden_by(self, other: Self) -> Self {
        Self { layers: other.layers.into_iter().chain(self.layers).collect() }
    }

    /// Returns the price of the model of this name, such as `anthropic/claude-opus-5`. `None` if that is not known.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<Price> {
        self.find(model).map(|(_, _, price)| price)
    }

    /// Returns the price, with where it comes from.
    #[must_use]
    pub fn quote(&self, model: &str) -> Option<Quote> {
        let (layer, pattern, price) = self.find(model)?;
        Some(Quote { price, pattern: pattern.as_str().to_owned(), as_of: layer.as_of.clone() })
    }

    fn find(&self, model: &str) -> Option<(&Layer, &Pattern, Price)> {
        let (layer, pattern, cost) = self.layers.iter().find_map(|layer| {
            let fitting = layer.costs.iter().filter_map(|row| Some((row.0.fit(model)?, row)));
            let (_, (pattern, cost)) = fitting.max_by_key(|(fit, _)| *fit)?;
            Some((layer, pattern, *cost))
        })?;
        match cost {
            Cost::Known(price) => Some((layer, pattern, price)),
            Cost::Unknown => None,
        }
    }
}
