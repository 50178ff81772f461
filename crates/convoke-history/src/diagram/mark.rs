//! Marks in a diagram what became of its parts.

use std::collections::HashMap;
use std::time::Duration;

use convoke_core::{EffectKind, Path, RunStatus};
use convoke_diagram::{Diagram, Item, ItemId, Mark};

use crate::{EffectStatus, History, human};

/// What is known of a part, all its repetitions together.
#[derive(Default)]
struct Part {
    visits: u64,
    /// How long all of them took, if that is known of each.
    took: Option<Duration>,
    /// How many of its effects failed, also those it coped with.
    failures: u64,
    waits: bool,
    is_at_work: bool,
    failed: bool,
}

impl History {
    /// Marks in a diagram what became of its parts in this run: of every item that says [where](Item::at) a run does it whether
    /// the run came there, how often, how long that took, and whether it failed, waits or is at work there.
    ///
    /// What whoever made the diagram knows already stays: how often an item was [visited](Item::visits) and an arrow
    /// [taken](convoke_diagram::Arrow::taken). An item that is marked [active](Mark::Active) is where the run is, or where it
    /// ended, and one that is [cancelled](Mark::Cancelled) stays so, with its note. Of other arrows it is said that they were taken if the run came to both of their ends.
    pub fn mark(&self, diagram: &mut Diagram) {
        let is_located = diagram.items().any(|(_, item)| item.mark == Mark::Active);
        let parts = self.parts(is_located);
        let nothing = Part::default();
        let mut visits: HashMap<ItemId, u64> = HashMap::new();
        for (id, item) in diagram.items_mut() {
            let Some(path) = &item.path else { continue };
            let known = parts.get(&**path);
            if known.is_none() && item.leaves_no_trace && item.visits.is_none() {
                continue;
            }
            let part = known.unwrap_or(&nothing);
            let count = item.visits.unwrap_or(part.visits);
            visits.insert(id, count);
            if item.mark == Mark::Cancelled && !part.failed {
                continue;
            }
            item.mark = self.mark_of(item, part, count);
            item.note = note(self.record.status, item.mark, count, part);
        }
        for arrow in diagram.arrows_mut().filter(|arrow| arrow.taken.is_none()) {
            let ends = [arrow.from, arrow.to].map(|end| visits.get(&end).copied());
            arrow.taken = match (ends, arrow.is_dashed()) {
                ([Some(0), _] | [_, Some(0)], _) => Some(0),
                // That a value was used is not a way that was taken.
                (_, true) => None,
                ([Some(from), Some(to)], false) => Some(from.min(to)),
                _ => None,
            };
        }
    }

    fn mark_of(&self, item: &Item, part: &Part, visits: u64) -> Mark {
        let is_here = item.mark == Mark::Active || part.is_at_work;
        match self.record.status {
            _ if part.failed => Mark::Failed,
            RunStatus::Suspended if is_here || part.waits => Mark::Waiting,
            RunStatus::Running if part.waits => Mark::Waiting,
            RunStatus::Running if is_here => Mark::Active,
            RunStatus::Running | RunStatus::Suspended | RunStatus::Completed => done(visits),
            // It ended there, and not well. Of what failed it is known where that was.
            _ if item.mark == Mark::Active || (is_here && !self.knows_where_it_failed()) => Mark::Failed,
            _ => done(visits),
        }
    }

    fn knows_where_it_failed(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| !ending.failed_at.is_empty())
    }

    /// What is known of every part, by its path without repetitions. Where the run is may be known from elsewhere.
    fn parts(&self, is_located: bool) -> HashMap<String, Part> {
        let mut parts: HashMap<String, Part> = HashMap::new();
        for node in self.tree.nodes() {
            let part = parts.entry(node.path.without_repetitions().as_str().to_owned()).or_default();
            part.took = match part.visits {
                0 => node.duration,
                _ => part.took.zip(node.duration).map(|(sum, more)| sum + more),
            };
            part.failures += node.spent.failures;
            part.visits += 1;
        }
        let ended = self.ending.iter().filter(|_| self.record.status != RunStatus::Suspended);
        for path in ended.flat_map(|ending| &ending.failed_at) {
            // It may have failed before anything of it was on record.
            parts.entry(path.without_repetitions().as_str().to_owned()).or_default();
            around(&mut parts, path, |part| part.failed = true);
        }
        let current = self.effects.iter().filter(|effect| effect.generation == self.record.generation.number);
        let open: Vec<_> = current.filter(|effect| effect.status() == EffectStatus::Begun).collect();
        for effect in &open {
            let waits = matches!(effect.kind, EffectKind::Ask | EffectKind::Receive | EffectKind::Sleep);
            around(
                &mut parts,
                &effect.path,
                |part| if waits { part.waits = true } else { part.is_at_work = true },
            );
        }
        // Between two effects it is where the last one was.
        if let Some(last) = self.effects.last().filter(|_| open.is_empty() && !is_located) {
            around(&mut parts, &last.path, |part| part.is_at_work = true);
        }
        parts
    }
}

/// Does something to the part at a path and to those it is in.
fn around(parts: &mut HashMap<String, Part>, path: &Path, change: impl Fn(&mut Part)) {
    let plain = path.without_repetitions();
    let mut within = plain.as_str();
    loop {
        if let Some(part) = parts.get_mut(within) {
            change(part);
        }
        match within.rsplit_once('/') {
            Some((outer, _)) => within = outer,
            None => return,
        }
    }
}

fn done(visits: u64) -> Mark {
    if visits > 0 { Mark::Done } else { Mark::Untouched }
}

fn note(status: RunStatus, mark: Mark, visits: u64, part: &Part) -> String {
    let ended = format!("✗ {}", status.name().replace('_', " "));
    let word = match mark {
        Mark::Done => "✓",
        Mark::Active => "under way",
        Mark::Waiting => "waits",
        Mark::Failed => &ended,
        _ => return String::new(),
    };
    let times = (visits > 1).then(|| format!("{visits} times"));
    let took = part.took.map(human::duration);
    let failures = (part.failures > 0).then(|| human::count(part.failures, "failure"));
    let facts: Vec<String> = times.into_iter().chain(took).chain(failures).collect();
    match (mark, facts.is_empty()) {
        (_, true) => word.to_owned(),
        (Mark::Done, false) => format!("{word} {}", facts.join(", ")),
        (_, false) => format!("{word}, {}", facts.join(", ")),
    }
}
