//! Text that others wrote, made safe and fitting for a terminal.

pub(crate) use convoke_history::text::{clean, one_line, visible, visible_json};
pub(crate) use convoke_text::columns::{cut, wrap, wrap_sentence};
