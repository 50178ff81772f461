#![doc = include_str!("../README.md")]
//!
//! - [`Diagram`]: what is shown, in declared order;
//! - `mermaid`: it as a Mermaid chart, for pages that draw such;
//! - `layout`: where everything is put, in layers from top to bottom, each group by itself;
//! - `svg`: it as a picture, by that layout.
//!
//! The same diagram always gives the same text. This crate never opens a file, and knows nothing of runs.

mod diagram;
mod label;
mod layout;
mod mermaid;
mod svg;

pub use diagram::{Arrow, Diagram, Item, ItemId, Line, Mark, Shape};
