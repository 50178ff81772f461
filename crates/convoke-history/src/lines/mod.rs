//! Runs as lines of text, for terminals, logs and files.
//!
//! | to show | use |
//! |---|---|
//! | a stored run: its header, its tree | [`header`], [`tree`] |
//! | everything that happened in it | [`RecordLines`] |
//! | a run under way, as a picture or line by line | [`draw`], [`LogLines`] |
//! | lists of runs, and sums over them | [`runs_table`], [`stats_lines`] |
//! | texts with a label, tables, any line in tones | [`BlockLines`], [`Table`], [`Rich`] |
//!
//! How wide lines may be, and the time, are passed in; what tones look like is up to whoever [paints](Paint) them. Nothing here
//! knows a terminal or writes to one. What others wrote is made [safe](crate::text) when a line is painted.

mod block;
mod header;
mod progress;
mod record;
mod rich;
mod runs;
mod stats;
mod summary;
mod table;
mod tree;

pub use block::BlockLines;
pub use header::header;
pub use progress::{Canvas, LogLines, LogOptions, draw};
pub use record::RecordLines;
pub use rich::{Paint, Rich};
pub use runs::runs_table;
pub use stats::stats_lines;
pub use table::{Align, Column, Table};
pub use tree::tree;
