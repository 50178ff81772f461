//! A stored run as a diagram, and the way that it took. As with its gist, nothing has to be configured for that.

use std::sync::Arc;

use convoke_core::store::RunRecord;
use convoke_diagram::Diagram;
use convoke_goals::agentfile::Source;
use convoke_history::History;
use convoke_machine::conversation::Way;

use crate::host::own_kinds;
use crate::{Definition, Manifest};

/// A stored run as a diagram of its file, with what became of everything in it. Of a run that was started by a program, what is
/// drawn are the steps that it is made of; nothing is, if that is not known either.
#[must_use]
pub fn diagram_of(history: &History) -> Option<Diagram> {
    let of_file = definition(&history.record).and_then(|file| file.diagram_of(history));
    of_file.or_else(|| history.diagram())
}

/// The way that a stored run took through the states of its file, if it has such.
#[must_use]
pub fn way_of(history: &History) -> Option<Way> {
    definition(&history.record)?.way(history)
}

/// The file of ours that a run was started from, as it was then.
pub(crate) fn definition(record: &RunRecord) -> Option<Arc<dyn Definition>> {
    let kinds = own_kinds();
    let (name, manifest) = Manifest::of_kinds(record, kinds.iter().map(|kind| kind.name()))?;
    let kind = kinds.iter().find(|kind| kind.name() == name)?;
    kind.read(&Source::new(&*manifest.path, &*manifest.text), &manifest.beside).0
}
