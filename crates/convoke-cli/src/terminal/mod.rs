//! What a terminal needs: colours, widths, tables, and standard output itself.

mod ink;
mod mode;
mod output;
mod rich;
mod screen;
mod table;
pub(crate) mod text;
mod waiting;

pub(crate) use ink::{Ink, Palette};
pub(crate) use mode::TerminalMode;
pub(crate) use output::{Documents, Output};
pub(crate) use rich::Rich;
pub(crate) use screen::Screen;
pub(crate) use table::{Align, Column, Table};
pub(crate) use waiting::Waiting;
