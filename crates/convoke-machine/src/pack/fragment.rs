//! Fragments: pieces of prompts, with each other in them, put together once.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::document::LONGEST;
use super::template::{Part, Path, Template};
use crate::finding::{Finding, child};

/// So many fragments may be in each other.
const DEEPEST: usize = 32;

/// All fragments of a pack, put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Fragments {
    whole: BTreeMap<String, Template>,
    /// Names that mean a variable, even where there is a fragment of that name.
    variables: BTreeSet<String>,
}

impl Fragments {
    /// Puts fragments together. Circles, and names that no fragment has, are found.
    pub(super) fn new(
        fragments: &IndexMap<String, String>,
        variables: BTreeSet<String>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let mut all = Self { whole: BTreeMap::new(), variables };
        let parsed = fragments.iter().map(|(name, text)| (name.clone(), Template::parse(text))).collect();
        for name in fragments.keys() {
            all.put_together(name, &parsed, &mut Vec::new(), findings);
        }
        all
    }

    /// Whether there is a fragment of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.whole.contains_key(name)
    }

    /// A template with its fragments in it.
    pub(super) fn expand(&self, text: &str, path: &str, findings: &mut Vec<Finding>) -> Template {
        let template = Template::parse(text);
        for place in template.paths() {
            if let Some(name) = place.under("fragments").filter(|name| !self.has(name)) {
                findings.push(unknown(name, path, self.whole.keys()));
            }
        }
        template.expanded(&mut |place| self.whole.get(self.named(place)?).cloned())
    }

    /// The name of the fragment that a place in a template may stand for.
    fn named<'a>(&self, place: &'a Path) -> Option<&'a str> {
        match place.under("fragments") {
            Some(name) => Some(name),
            None => Some(place.written()).filter(|name| !self.variables.contains(*name)),
        }
    }

    fn put_together(
        &mut self,
        name: &str,
        parsed: &BTreeMap<String, Template>,
        within: &mut Vec<String>,
        findings: &mut Vec<Finding>,
    ) {
        let Some(template) = parsed.get(name).filter(|_| !self.has(name)) else { return };
        let path = child("/fragments", name);
        let is_circle = within.iter().any(|outer| outer == name);
        if is_circle || within.len() >= DEEPEST {
            let (code, what) = match is_circle {
                true => ("fragment-cycle", "fragments are in each other without end"),
                false => ("fragment-too-deep", "more than 32 fragments are in each other"),
            };
            findings.push(Finding::error(code, path, format!("{what}: {}", within.join(" > "))));
            // As good as any: the pack cannot be run.
            self.whole.insert(name.to_owned(), Template::default());
            return;
        }
        within.push(name.to_owned());
        for place in template.paths() {
            let explicit = place.under("fragments");
            match self.named(place).filter(|inner| parsed.contains_key(*inner)) {
                Some(inner) => self.put_together(inner, parsed, within, findings),
                None => findings.extend(explicit.map(|name| unknown(name, &path, parsed.keys()))),
            }
        }
        within.pop();
        let whole = template.expanded(&mut |place| self.whole.get(self.named(place)?).cloned());
        let length: usize = whole.parts().iter().map(length).sum();
        if length > LONGEST {
            let message = format!("this fragment is longer than {} MiB with those in it", LONGEST >> 20);
            findings.push(Finding::error("fragment-too-long", path, message));
            self.whole.insert(name.to_owned(), Template::default());
        } else {
            self.whole.entry(name.to_owned()).or_insert(whole);
        }
    }
}

/// An empty part takes room as well.
fn length(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Unknown(text) => text.len() + 64,
        Part::Value(path) => path.written().len() + 64,
    }
}

fn unknown<'a>(name: &str, path: &str, known: impl Iterator<Item = &'a String>) -> Finding {
    let finding = Finding::error("unknown-fragment", path, format!("there is no fragment `{name}`"));
    finding.suggest(name, known.map(String::as_str)).sought_in("/fragments")
}
