//! Filters for the items of an account.

use convoke_core::Path;

use super::{ItemKind, RecordItem};

/// A filter for items. The default keeps everything.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    path: Option<String>,
    kinds: Vec<ItemKind>,
    text: Option<String>,
}

impl Filter {
    /// A filter for items at this path or below it, about one of these kinds, and with this text in it.
    #[must_use]
    pub fn new(path: Option<&str>, kinds: &[ItemKind], text: Option<&str>) -> Self {
        Self {
            path: path.map(|path| path.trim_end_matches('/').to_owned()),
            kinds: kinds.to_vec(),
            text: text.map(str::to_lowercase),
        }
    }

    /// Returns whether anything may be left out.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.path.is_some() || self.text.is_some() || !self.kinds.is_empty()
    }

    /// The path that is wanted, if nothing that is told is there.
    #[must_use]
    pub fn path_to_nothing(&self, items: &[RecordItem<'_>]) -> Option<&str> {
        let wanted = self.path.as_deref()?;
        let is_there =
            |item: &RecordItem<'_>| item.moment().is_some_and(|moment| is_below(&moment.effect.path, wanted));
        (!items.iter().any(is_there)).then_some(wanted)
    }

    /// Returns whether the filter keeps this item.
    #[must_use]
    pub fn keeps(&self, item: &RecordItem<'_>) -> bool {
        let path = item.moment().map(|moment| &moment.effect.path);
        self.kinds_fit(item)
            && self.path.as_ref().is_none_or(|wanted| path.is_some_and(|path| is_below(path, wanted)))
            && self.text.as_ref().is_none_or(|wanted| has_text(item, path, wanted))
    }

    fn kinds_fit(&self, item: &RecordItem<'_>) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| item.is_about(*kind))
    }
}

/// Whether a path is the wanted one or lies below it, also without the workflow's name, which every path begins with. Of a
/// step without a number, all repetitions are wanted.
fn is_below(path: &Path, wanted: &str) -> bool {
    let begins = |path: &str| {
        let rest = path.strip_prefix(wanted);
        wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']))
    };
    begins(path.as_str()) || path.as_str().split_once('/').is_some_and(|(_, inner)| begins(inner))
}

fn has_text(item: &RecordItem<'_>, path: Option<&Path>, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&item.title)
        || path.is_some_and(|path| has(path.as_str()))
        || item.facts.iter().any(|(_, fact)| has(fact))
        || item.blocks.iter().any(|block| has(block.text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_wanted_with_all_below_it_and_all_its_repetitions() {
        let below = |path: &str, wanted: &str| is_below(&Path::from(path), wanted);
        assert!(below("main/draft", "main/draft") && below("main/draft/search", "main/draft"));
        assert!(below("main/draft#2/search", "main/draft") && !below("main/draft#2", "main/draft#1"));
        assert!(!below("main/drafts", "main/draft") && below("main", ""));
        assert!(below("letter/main/draft#2/search", "main/draft") && !below("letter/main/draft", "draft"));
    }
}
