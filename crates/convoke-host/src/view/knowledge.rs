//! Documents that agents look things up in.

use std::path::Path;

use convoke_history::human;
use convoke_history::lines::Rich;
use convoke_knowledge::Added;
use serde_json::{Value, json};

use super::View;

/// So many of the files that were left out are listed.
const MOST_LISTED: usize = 20;

/// The results of adding documents.
#[derive(Debug)]
pub struct AddedDocuments<'a> {
    /// The name of the knowledge.
    pub name: &'a str,
    /// What became of them.
    pub added: &'a Added,
    /// Why they are found by words alone, if they are.
    pub words_alone: Option<String>,
}

impl View for AddedDocuments<'_> {
    fn document(&self) -> Value {
        let mut document = json!(self.added);
        document["name"] = self.name.into();
        document["by_meaning"] = self.words_alone.is_none().into();
        document
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let Added { read, passages, unchanged, removed, .. } = self.added;
        let (read, passages) = (human::count(*read, "document"), human::count(*passages, "passage"));
        let name = self.name;
        vec![format!("{name}: {read} read ({passages}), {unchanged} unchanged, {removed} removed").into()]
    }

    fn notes(&self) -> Vec<String> {
        let left_out = &self.added.left_out;
        let listed = left_out.iter().take(MOST_LISTED);
        let listed = listed.map(|left| format!("left out: {}: {}", path_from_here(&left.path), left.reason));
        let more = left_out.len().saturating_sub(MOST_LISTED);
        let more = (more > 0).then(|| format!("left out: {more} more; --json lists all of them"));
        let words_alone = self.words_alone.iter().map(|why| format!("by words alone: {why}"));
        listed.chain(more).chain(words_alone).collect()
    }
}

/// A path as it is written from the folder of this process.
#[must_use]
pub fn path_from_here(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.display().to_string(),
        None => path.display().to_string(),
    }
}
