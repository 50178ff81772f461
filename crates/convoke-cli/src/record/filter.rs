//! What somebody wants to see of a run.

use convoke_core::Path;

use super::{Kind, Told};

/// What somebody wants to see. Without any wish, everything.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    path: Option<String>,
    kinds: Vec<Kind>,
    text: Option<String>,
}

impl Filter {
    pub(crate) fn new(path: Option<&str>, kinds: &[Kind], text: Option<&str>) -> Self {
        Self {
            path: path.map(|path| path.trim_end_matches('/').to_owned()),
            kinds: kinds.to_vec(),
            text: text.map(str::to_lowercase),
        }
    }

    /// Whether anything may be left out.
    pub(crate) fn is_choosy(&self) -> bool {
        self.path.is_some() || self.text.is_some() || !self.kinds.is_empty()
    }

    /// The path that is wanted, if nothing that is told is there.
    pub(crate) fn path_to_nothing(&self, account: &[Told<'_>]) -> Option<&str> {
        let wanted = self.path.as_deref()?;
        let is_there =
            |told: &Told<'_>| told.moment().is_some_and(|moment| is_below(&moment.effect.path, wanted));
        (!account.iter().any(is_there)).then_some(wanted)
    }

    /// Whether this is to be seen.
    pub(crate) fn keeps(&self, told: &Told<'_>) -> bool {
        let path = told.moment().map(|moment| &moment.effect.path);
        self.kinds_fit(told)
            && self.path.as_ref().is_none_or(|wanted| path.is_some_and(|path| is_below(path, wanted)))
            && self.text.as_ref().is_none_or(|wanted| has_text(told, path, wanted))
    }

    fn kinds_fit(&self, told: &Told<'_>) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| told.is_about(*kind))
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

fn has_text(told: &Told<'_>, path: Option<&Path>, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&told.title)
        || path.is_some_and(|path| has(path.as_str()))
        || told.facts.iter().any(|(_, fact)| has(fact))
        || told.blocks.iter().any(|block| has(block.text()))
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
