//! The way that a stored run took through its graph, read off the notes that its nodes left on record.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use convoke_core::{EffectKind, Path, RunStatus, StepNote};
use convoke_graph::{CompiledGraph, GraphWay, NodeTrace};
use convoke_history::History;

/// The way that a run took; `None` of one that began with a version which kept no notes.
pub(crate) fn of(graph: &CompiledGraph, history: &History) -> Option<GraphWay> {
    let root = Path::join(&Path::from(""), &graph.definition().name, 1);
    let failed = history.ending.iter().flat_map(|ending| &ending.failed_at);
    let failed: Vec<&Path> = failed.filter(|_| history.record.status != RunStatus::Suspended).collect();
    let mut traces: HashMap<&Path, NodeTrace> = HashMap::new();
    let notes = history.notes.iter().filter(|note| note.generation == history.record.generation.number);
    for note in notes {
        let trace = match note.ordinal {
            ordinal if ordinal == StepNote::LeftOut.ordinal() => note.choice().map(NodeTrace::LeftOut),
            ordinal if ordinal == StepNote::Route.ordinal() => note.choice().map(NodeTrace::Routed),
            _ => None,
        };
        traces.extend(trace.map(|trace| (&note.path, trace)));
    }
    let came_to = RefCell::new(HashSet::new());
    let mut known: HashSet<&str> = HashSet::new();
    for path in traces.keys().copied().chain(history.effects.iter().map(|effect| &effect.path)) {
        let mut within = Some(path.as_str());
        while let Some(path) = within.filter(|path| known.insert(path)) {
            within = path.rsplit_once('/').map(|(outer, _)| outer);
        }
    }
    // What its graphs keep besides their nodes: by which rules they go.
    let decisions = history.effects.iter().filter(|effect| {
        effect.kind == EffectKind::Decision && effect.generation == history.record.generation.number
    });
    let versions: HashMap<&Path, u32> =
        decisions.filter_map(|effect| Some((&effect.path, effect.choice()?))).collect();
    let way = graph.way(
        &|path| {
            let trace = match traces.get(path) {
                _ if failed.iter().any(|failed| failed.is_within(path)) => NodeTrace::Failed,
                Some(trace) => trace.clone(),
                None => NodeTrace::Nothing,
            };
            came_to.borrow_mut().insert(path.clone());
            trace
        },
        &|path| known.contains(path.as_str()),
        &|path| {
            came_to.borrow_mut().insert(path.clone());
            versions.get(path).copied()
        },
    );
    let came_to = came_to.into_inner();
    let known = history.effects.iter().map(|effect| &effect.path).filter(|path| path.is_within(&root));
    let is_whole =
        known.into_iter().all(|path| path == &root || came_to.iter().any(|node| path.is_within(node)));
    (is_whole && !(way.is_under_way() && history.record.status == RunStatus::Completed)).then_some(way)
}
