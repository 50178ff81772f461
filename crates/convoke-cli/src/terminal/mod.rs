//! The terminal: colours, screens, spinners, modes, and standard output itself. Lines and tables are `convoke_history::lines`.

mod mode;
mod output;
mod palette;
mod screen;
mod spinner;
pub(crate) mod text;
mod typed;

pub(crate) use convoke_history::Tone;
pub(crate) use convoke_history::lines::{Rich, Table};
pub(crate) use mode::{TerminalMode, forget_typed};
pub(crate) use output::{Documents, Output};
pub(crate) use palette::Palette;
pub(crate) use screen::Screen;
pub(crate) use spinner::Spinner;
pub(crate) use typed::{Typed, UNREADABLE, read_typed};
