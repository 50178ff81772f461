#![doc = include_str!("../README.md")]
//!
//! This crate knows nothing of runs or models; everything that reads or shows text may use it.

mod bounded;
pub mod columns;
pub mod date;
pub mod diagnostic;
pub mod document;
pub mod duration;
pub mod finding;
mod hex;
pub mod human;
mod invisible;
pub mod keyed;
pub mod redaction;
pub mod secret_fragments;
mod shell;
mod shorten;
mod suggest;
pub mod template;
pub mod xdg;

pub use bounded::read_bounded;
pub use hex::{hex, unhex};
pub use invisible::is_invisible;
pub use shell::{shell_argument, shell_quoted};
pub use shorten::one_line_of;
pub use suggest::nearest;
