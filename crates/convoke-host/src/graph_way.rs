//! The way that a stored run took through its graph, read off the notes that its nodes left on record.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use convoke_core::{Path, RunStatus, StepNote};
use convoke_graph::{CompiledGraph, GraphWay, NodeTrace};
use convoke_history::{Detail, EffectStatus, History};

/// The way that a run took; `None` of one that began with a version which kept no notes.
pub(crate) fn of(graph: &CompiledGraph, history: &History) -> Option<GraphWay> {
    let root = Path::join(&Path::from(""), &graph.definition().name, 1);
    let failed = history.ending.iter().flat_map(|ending| &ending.failed_at);
    let failed: Vec<&Path> = failed.filter(|_| history.record.status != RunStatus::Suspended).collect();
    let mut traces: HashMap<&Path, NodeTrace> = HashMap::new();
    let current = history.notes.iter().filter(|note| {
        note.generation == history.record.generation.number && note.status() == EffectStatus::Finished
    });
    for note in current {
        let Detail::Decision { choice: Some(choice) } = &note.current().detail else { continue };
        let trace = match note.ordinal {
            ordinal if ordinal == StepNote::LeftOut.ordinal() => NodeTrace::LeftOut,
            ordinal if ordinal == StepNote::Route.ordinal() => {
                NodeTrace::Routed(serde_json::from_value(choice.clone()).ok()?)
            }
            _ => continue,
        };
        traces.insert(&note.path, trace);
    }
    let came_to = RefCell::new(HashSet::new());
    let way = graph.way(&|node, time| {
        let path = Path::join(&root, node, u32::try_from(time).unwrap_or(u32::MAX));
        let trace = match traces.get(&path) {
            _ if failed.iter().any(|failed| failed.is_within(&path)) => NodeTrace::Failed,
            Some(trace) => trace.clone(),
            None => NodeTrace::Nothing,
        };
        came_to.borrow_mut().insert(path);
        trace
    });
    let came_to = came_to.into_inner();
    let known = history.effects.iter().map(|effect| &effect.path).filter(|path| path.is_within(&root));
    let is_whole =
        known.into_iter().all(|path| path == &root || came_to.iter().any(|node| path.is_within(node)));
    (is_whole && !(way.is_under_way() && history.record.status == RunStatus::Completed)).then_some(way)
}
