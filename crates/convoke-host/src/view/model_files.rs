//! Model files: those on this machine, and those that can be fetched.

use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, human};
use convoke_weights::{CatalogueEntry, InstalledModel, Library, ModelInfo, ModelKind, WeightsError};
use serde_json::{Value, json};

use super::View;

/// The models that are here, and those that can be pulled by name.
#[derive(Debug)]
pub struct ModelFiles {
    catalogue: Vec<CatalogueEntry>,
    installed: Vec<InstalledModel>,
}

impl ModelFiles {
    /// Those of a library.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(library: &Library) -> Result<Self, WeightsError> {
        Ok(Self { catalogue: library.catalogue().entries().to_vec(), installed: library.list()? })
    }
}

impl View for ModelFiles {
    fn document(&self) -> Value {
        let installed: Vec<Value> = self.installed.iter().map(View::document).collect();
        json!({"catalogue": self.catalogue.iter().map(entry).collect::<Vec<_>>(), "installed": installed})
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        let left = |title| Column::new(title, Align::Left);
        let size = Column::new("size", Align::Right);
        let mut table = Table::new([left("name"), left("kind"), size, left("licence"), left("here")]);
        let mut row = |name: String, kind: ModelKind, bytes: u64, licence: &str, is_here: bool| {
            let kind = match kind {
                ModelKind::Chat => "chat",
                ModelKind::Embedding => "embedding",
                _ => human::UNKNOWN,
            };
            table.row([
                (Tone::Strong, name),
                (Tone::Plain, kind.to_owned()),
                (Tone::Plain, human::bytes(bytes)),
                (Tone::Plain, licence.to_owned()),
                if is_here { (Tone::Good, "yes".to_owned()) } else { (Tone::Faint, "no".to_owned()) },
            ]);
        };
        for entry in &self.catalogue {
            let is_here = self.installed.iter().any(|model| model.name == entry.name);
            let default = if entry.is_default { " (default)" } else { "" };
            row(format!("{}{default}", entry.name), entry.kind, entry.bytes(), &entry.licence, is_here);
        }
        let is_known = |model: &&InstalledModel| self.catalogue.iter().any(|entry| entry.name == model.name);
        for model in self.installed.iter().filter(|model| !is_known(model)) {
            let licence = model.licence.as_deref().unwrap_or(human::UNKNOWN);
            row(model.name.clone(), model.kind, model.bytes(), licence, true);
        }
        table.lines(width)
    }
}

fn entry(entry: &CatalogueEntry) -> Value {
    json!({
        "name": entry.name,
        "aliases": entry.aliases,
        "title": entry.title,
        "kind": entry.kind,
        "default": entry.is_default,
        "licence": entry.licence,
        "context_tokens": entry.context_tokens,
        "bytes": entry.bytes(),
    })
}

impl View for InstalledModel {
    fn document(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "licence": self.licence,
            "context_tokens": self.context_tokens,
            "origin": self.origin,
            "bytes": self.bytes(),
            "path": self.path(),
        })
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        vec![format!("{}  {}", self.name, self.path().display()).into()]
    }
}

impl View for ModelInfo {
    fn document(&self) -> Value {
        let installed = self.installed.as_ref().map(View::document);
        json!({"catalogue": self.entry.as_ref().map(entry), "installed": installed})
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let mut rows: Vec<(&str, String)> = Vec::new();
        match (&self.entry, &self.installed) {
            (Some(entry), _) => rows.extend([
                ("name", entry.name.clone()),
                ("what", entry.title.clone()),
                ("licence", entry.licence.clone()),
                ("context", format!("{} tokens", entry.context_tokens)),
                ("size", human::bytes(entry.bytes())),
            ]),
            (None, Some(installed)) => {
                rows.extend([("name", installed.name.clone()), ("size", human::bytes(installed.bytes()))]);
            }
            (None, None) => {}
        }
        match &self.installed {
            Some(installed) => {
                rows.push(("file", installed.path().display().to_string()));
                rows.push(("from", installed.origin.clone()));
                let digests = installed.files.iter();
                rows.extend(digests.map(|file| ("sha256", format!("{}  {}", file.sha256, file.name))));
            }
            None => {
                let name = self.entry.as_ref().map_or("", |entry| &*entry.name);
                rows.push(("file", format!("not here; `convoke model pull {name}` fetches it")));
            }
        }
        let line = |(label, value)| Rich::new(Tone::Faint, format!("{label:9}")).with(Tone::Plain, value);
        rows.into_iter().map(line).collect()
    }
}
