//! Lists of things, as tables with a row for each.

use convoke_core::Repeat;
use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, human, text};
use convoke_knowledge::{Collection, StoredDocument};
use convoke_mcp::ToolInfo;
use convoke_package::InstalledVersion;
use convoke_tools::memory::RememberedConversation;
use serde_json::{Value, json};

use super::{View, path_from_here};

/// Things that are listed in a table, a row for each.
pub trait Listed {
    /// What is said where there are none, if anything is.
    const NONE: Option<&'static str> = None;

    /// The columns of the table.
    fn columns() -> Vec<Column>;

    /// The row of this one: a text per column.
    fn row(&self) -> Vec<(Tone, String)>;

    /// The document of this one.
    fn document(&self) -> Value;
}

impl<T: Listed> View for [T] {
    fn document(&self) -> Value {
        self.iter().map(Listed::document).collect()
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut table = Table::new(T::columns());
        self.iter().for_each(|one| table.row(one.row()));
        table.lines(width)
    }

    fn notes(&self) -> Vec<String> {
        T::NONE.filter(|_| self.is_empty()).map(str::to_owned).into_iter().collect()
    }
}

impl Listed for Collection {
    const NONE: Option<&'static str> =
        Some("this project has no knowledge yet; `convoke knowledge add NAME PATH` makes some");

    fn columns() -> Vec<Column> {
        vec![
            Column::new("name", Align::Left),
            Column::new("documents", Align::Right),
            Column::new("passages", Align::Right),
            Column::new("found by", Align::Left),
            Column::new("from", Align::Left).yielding(20),
        ]
    }

    fn row(&self) -> Vec<(Tone, String)> {
        let by = match self.embedded {
            0 => "words".to_owned(),
            all if all == self.documents => "words and meaning".to_owned(),
            some => format!("words, {some} by meaning"),
        };
        let roots: Vec<String> = self.roots.iter().map(|root| path_from_here(root)).collect();
        vec![
            (Tone::Strong, self.name.clone()),
            (Tone::Plain, self.documents.to_string()),
            (Tone::Plain, self.passages.to_string()),
            (Tone::Plain, by),
            (Tone::Faint, text::one_line(&roots.join(", "))),
        ]
    }

    fn document(&self) -> Value {
        json!(self)
    }
}

impl Listed for StoredDocument {
    const NONE: Option<&'static str> = Some("it has no documents");

    fn columns() -> Vec<Column> {
        vec![
            Column::new("document", Align::Left).yielding(30),
            Column::new("size", Align::Right),
            Column::new("passages", Align::Right),
            Column::new("read", Align::Left),
        ]
    }

    fn row(&self) -> Vec<(Tone, String)> {
        vec![
            (Tone::Strong, text::one_line(&path_from_here(&self.path))),
            (Tone::Plain, human::bytes(self.bytes)),
            (Tone::Plain, self.passages.to_string()),
            (Tone::Faint, human::moment(self.read_at)),
        ]
    }

    fn document(&self) -> Value {
        let mut document = json!(self);
        document["read_at"] = self.read_at.to_string().into();
        document
    }
}

impl Listed for RememberedConversation {
    const NONE: Option<&'static str> =
        Some("nothing is remembered in this project; `convoke chat --memory` remembers");

    fn columns() -> Vec<Column> {
        vec![
            Column::new("name", Align::Left),
            Column::new("messages", Align::Right),
            Column::new("last", Align::Left),
            Column::new("in short", Align::Left).yielding(20),
        ]
    }

    fn row(&self) -> Vec<(Tone, String)> {
        vec![
            (Tone::Strong, text::one_line(&self.name)),
            (Tone::Plain, self.remarks.to_string()),
            (Tone::Plain, self.last.map_or_else(String::new, human::moment)),
            (Tone::Faint, text::one_line(self.summary.as_deref().unwrap_or_default())),
        ]
    }

    fn document(&self) -> Value {
        let mut document = json!(self);
        document["last"] = self.last.map(|last| last.to_string()).into();
        document
    }
}

impl Listed for ToolInfo {
    fn columns() -> Vec<Column> {
        let left = |title| Column::new(title, Align::Left);
        vec![left("TOOL"), left("EFFECTS"), left("WHAT IT IS FOR").yielding(20)]
    }

    fn row(&self) -> Vec<(Tone, String)> {
        let effects = json!(self.spec.effects);
        let effects: Vec<&str> = effects.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        vec![
            (Tone::Strong, text::clean(&self.exposed)),
            (Tone::Plain, effects.join(", ")),
            (Tone::Plain, text::one_line(&self.description)),
        ]
    }

    fn document(&self) -> Value {
        json!({
            "name": self.exposed,
            "server": self.server,
            "tool": self.tool,
            "description": self.description,
            "effects": self.spec.effects,
            "repeatable": self.spec.repeat == Repeat::Safe,
            "parameters": self.spec.definition.parameters,
        })
    }
}

impl Listed for InstalledVersion {
    fn columns() -> Vec<Column> {
        ["PACKAGE", "VERSION", "FOLDER"].map(|title| Column::new(title, Align::Left)).into()
    }

    fn row(&self) -> Vec<(Tone, String)> {
        vec![
            (Tone::Strong, text::one_line(&self.name)),
            (Tone::Plain, text::one_line(&self.version)),
            (Tone::Faint, text::one_line(&self.path.display().to_string())),
        ]
    }

    fn document(&self) -> Value {
        json!(self)
    }
}
