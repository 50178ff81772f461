//! Terminal output: colours, widths, tables, and standard output itself.

mod mode;
mod output;
mod palette;
mod rich;
mod screen;
mod spinner;
mod table;
pub(crate) mod text;

pub(crate) use mode::{TerminalMode, forget_typed};
pub(crate) use output::{Documents, Output};
pub(crate) use palette::{Palette, Tone};
pub(crate) use rich::Rich;
pub(crate) use screen::Screen;
pub(crate) use spinner::Spinner;
pub(crate) use table::{Align, Column, Table};
