//! Conversations that are remembered.

use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, human, text};
use convoke_tools::memory::RememberedConversation;
use serde_json::{Value, json};

use super::View;

impl View for [RememberedConversation] {
    fn document(&self) -> Value {
        json!(self)
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut table = Table::new([
            Column::new("name", Align::Left),
            Column::new("messages", Align::Right),
            Column::new("last", Align::Left),
            Column::new("in short", Align::Left).yielding(20),
        ]);
        for one in self {
            table.row([
                (Tone::Strong, text::one_line(&one.name)),
                (Tone::Plain, one.remarks.to_string()),
                (Tone::Plain, one.last.map_or_else(String::new, human::moment)),
                (Tone::Faint, text::one_line(one.summary.as_deref().unwrap_or_default())),
            ]);
        }
        table.lines(width)
    }

    fn notes(&self) -> Vec<String> {
        let none = "nothing is remembered in this workspace; `convoke chat --memory` remembers";
        if self.is_empty() { vec![none.to_owned()] } else { Vec::new() }
    }
}
