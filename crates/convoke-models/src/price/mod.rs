//! Prices: what models cost, as data with a date.
//!
//! **What it is for.** Budgets and reports need money, and providers tell tokens. A [`PriceTable`] says what a million
//! tokens of a model cost. One is [built in](PriceTable::builtin); others are read from TOML and laid over it. Every
//! price comes with the date as of which it is known.
//!
//! **What it must never do.** Guess: a model that is not in the table has no price, which is something else than
//! costing nothing. A name stands for itself and its dated versions only, so a new model never gets an old one's price.
//!
//! ```
//! use convoke_core::Money;
//! use convoke_models::PriceTable;
//!
//! let ours = PriceTable::parse(r#"
//! as_of = 2026-11-01
//!
//! [prices]
//! "openai/gpt-5" = { input = 1, output = 8, cached_input = 0.1 }  # dollars per million tokens
//! "compatible/*" = "free"
//! "openai/o3" = "unknown"
//! "#)?;
//! let prices = PriceTable::builtin().overridden_by(ours);
//! assert_eq!(prices.price("openai/gpt-5-2025-08-07").unwrap().input, Money::from_dollars(1));
//! assert_eq!(prices.price("openai/o3"), None);
//! assert_eq!(prices.price("openai/a-model-of-tomorrow"), None);
//! assert_eq!(prices.quote("openai/gpt-5").unwrap().as_of.as_deref(), Some("2026-11-01"));
//! # Ok::<(), convoke_models::price::PriceError>(())
//! ```

pub(crate) mod dollars;
mod error;
mod file;
mod pattern;
mod table;

pub use error::PriceError;
pub use table::{PriceTable, Quote};
