//! The picture of a pack: its states and where events lead, and its compositions step by step.

use convoke_core::Path;
use convoke_diagram::{Arrow, Diagram, Item, ItemId, Mark, Shape};
use indexmap::IndexMap;

use super::CompiledPack;
use super::composition::{Action, Composition, Step, said, waits};
use super::outline::does;
use crate::conversation::Way;
use crate::workflow::{Spec, StateSpec};

/// A pack as a diagram: a box for each state, and a group for each composition with its steps in it; nothing if the pack has neither. With
/// the way that a conversation took, it says how often each state was entered and each arrow was taken, and where the conversation is.
#[must_use]
pub fn to_diagram(pack: &CompiledPack, way: Option<&Way>) -> Option<Diagram> {
    let model = pack.model();
    if model.workflow.is_none() && model.compositions.is_empty() {
        return None;
    }
    let at = Path::join(&Path::from(""), &model.id, 1);
    let mut diagram = Diagram::new(&model.name);
    let states = model.workflow.as_ref().map(|workflow| (workflow, states(&mut diagram, workflow, &at, way)));
    for (name, composition) in &model.compositions {
        let group = draw(&mut diagram, name, composition, &at);
        let runs = states.iter().flat_map(|(workflow, items)| workflow.states.values().zip(items));
        for (_, item) in runs.filter(|(state, _)| state.composition == *name) {
            diagram.connect(Arrow::new(*item, group).dashed());
        }
    }
    Some(diagram)
}

/// The boxes of the states, in declared order.
fn states(diagram: &mut Diagram, workflow: &Spec, at: &Path, way: Option<&Way>) -> Vec<ItemId> {
    let start = diagram.add(Item::start());
    let items: Vec<ItemId> =
        workflow.states.iter().map(|(name, state)| diagram.add(item(name, state, at, way))).collect();
    let item = |name: &str| items[workflow.states.get_index_of(name).unwrap_or_default()];
    let end = workflow.states.values().any(StateSpec::ends).then(|| diagram.add(Item::end()));
    let mut connect = |mut arrow: Arrow, taken: &dyn Fn(&Way) -> u64| {
        arrow.taken = way.map(taken);
        diagram.connect(arrow);
    };
    connect(Arrow::new(start, item(&workflow.entry)), &|way| u64::from(way.visits(&workflow.entry) > 0));
    for (name, state) in &workflow.states {
        for (event, target) in &state.on_event {
            let arrow = Arrow::new(item(name), item(target)).label(event);
            connect(arrow, &|way| way.taken(name, event));
        }
        if !state.on_max_visits.is_empty() {
            let redirect = Arrow::new(item(name), item(&state.on_max_visits));
            let redirect = redirect.label(format!("after {} visits", state.max_visits)).dashed();
            connect(redirect, &|way| way.redirected(name));
        }
        if let Some(end) = end.filter(|_| state.ends()) {
            connect(Arrow::new(item(name), end), &|way| u64::from(way.current == *name));
        }
    }
    items
}

fn item(name: &str, state: &StateSpec, at: &Path, way: Option<&Way>) -> Item {
    let mut item = Item::new(name).shape(Shape::Rounded);
    if !state.composition.is_empty() {
        item = item.line(format!("runs {}", state.composition));
    } else if ["external", "hybrid"].contains(&state.orchestration.as_str()) {
        item = item.line(&state.orchestration);
    }
    item = item.at(Path::join(at, name, 1).as_str());
    if let Some(way) = way {
        item.visits = Some(way.visits(name));
        item.mark = if way.current == name { Mark::Active } else { Mark::None };
    }
    item
}

/// A composition as a group, its steps in the order in which they wait for each other.
fn draw(diagram: &mut Diagram, name: &str, composition: &Composition, at: &Path) -> ItemId {
    let at = Path::join(at, name, 1);
    let group = diagram.add(Item::new(name).line("composition").at(at.as_str()));
    let items: IndexMap<&str, ItemId> =
        composition.steps.iter().map(|step| (&*step.id, draw_step(diagram, step, group, &at))).collect();
    let waits = waits(&composition.steps);
    for (to, &end) in &items {
        let before = composition.steps.iter().filter(|step| waits[to].contains(&*step.id));
        before.for_each(|from| {
            diagram.connect(Arrow::new(items[&*from.id], end).label(leads(from, to).unwrap_or_default()));
        });
    }
    group
}

fn draw_step(diagram: &mut Diagram, step: &Step, group: ItemId, at: &Path) -> ItemId {
    let at = Path::join(at, &step.id, 1);
    let item = Item::new(&step.id).at(at.as_str()).within(group);
    match &step.action {
        Action::Branch { .. } => diagram.add(item.line("branch").shape(Shape::Decision).without_trace()),
        Action::Parallel { branches, .. } => {
            let item = diagram.add(item.line("parallel"));
            let items: IndexMap<&str, ItemId> =
                branches.iter().map(|branch| (&*branch.id, draw_step(diagram, branch, item, &at))).collect();
            for (to, before) in said(branches) {
                let before = before.iter().filter_map(|from| items.get(from));
                before.for_each(|from| diagram.connect(Arrow::new(*from, items[to])));
            }
            item
        }
        action => diagram.add(item.line(does(action))),
    }
}

/// The answer with which a branch leads to a step.
fn leads(step: &Step, to: &str) -> Option<&'static str> {
    match &step.action {
        Action::Branch { then, .. } if then == to => Some("yes"),
        Action::Branch { otherwise, .. } if otherwise.as_deref() == Some(to) => Some("no"),
        _ => None,
    }
}
