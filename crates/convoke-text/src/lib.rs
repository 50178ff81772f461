#![doc = include_str!("../README.md")]
//!
//! This crate knows nothing of runs or models; everything that reads or shows text may use it.

pub mod date;
pub mod diagnostic;
pub mod duration;
mod hex;
pub mod human;
pub mod keyed;
pub mod pieces;
pub mod redaction;
pub mod secret_fragments;
mod shorten;
mod suggest;
pub mod template;
mod unseen;
pub mod xdg;

pub use hex::hex;
pub use shorten::one_line_of;
pub use suggest::nearest;
