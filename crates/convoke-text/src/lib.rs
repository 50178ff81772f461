//! What is done with text that people write, alike wherever they write it.
//!
//! This crate knows nothing of runs, models or files; everything that reads what people write may use it.

mod suggest;

pub use suggest::nearest;
