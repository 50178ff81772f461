//! What a terminal needs: colours, widths, tables, and standard output itself.

mod ink;
mod output;
mod rich;
mod screen;
mod table;
pub(crate) mod text;

pub(crate) use ink::{Ink, Palette};
pub(crate) use output::{Documents, Output};
pub(crate) use rich::Rich;
pub(crate) use screen::Screen;
pub(crate) use table::{Align, Column, Table};
