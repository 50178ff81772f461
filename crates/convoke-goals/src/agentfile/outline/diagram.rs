//! The outline as a diagram.

use std::collections::HashMap;

use convoke_core::Path;
use convoke_diagram::{Arrow, Diagram, Item, ItemId, Shape};

use super::{condition, outputs, within};
use crate::agentfile::model::{
    Agentfile, Goal, GoalId, Persona, Step, StepKind, Supervision, VariableId, Within,
};

/// The file as a diagram: a group per step with its goals in it, arrows for the order, dashed arrows for values that one goal
/// makes and another uses, in its text or to decide whether and how often it is done. An arrow for the order has the values as
/// well that go the same way.
#[must_use]
pub fn to_diagram(file: &Agentfile) -> Diagram {
    let mut diagram = Diagram::new(&*file.name);
    let mut made = Makers::default();
    for input in &file.inputs {
        let item = diagram.add(Item::new(format!("{}: {}", input.name, input.ty)).shape(Shape::Input));
        made.inputs.push(item);
        if let Some(id) = file.variable_named(&input.name) {
            made.only(id, item);
        }
    }
    let workflow = Path::join(&Path::from(""), &file.name, 1);
    let mut values: Vec<Arrow> = Vec::new();
    let mut order: Vec<Arrow> = Vec::new();
    let mut last_step: Option<ItemId> = None;
    for step in &file.steps {
        let path = Path::join(&workflow, &step.name, 1);
        let group = diagram.add(title(file, step).at(path.as_str()));
        let decides = step.when.iter().flat_map(|when| when.variables());
        values.extend(made.arrows(file, decides.chain(repeated(step)), group));
        let before = made.clone();
        let mut previous: Option<ItemId> = None;
        for id in &step.goals {
            let goal = file.goal(*id);
            let path = Path::join(&path, &goal.name, 1);
            let item = diagram.add(goal_item(file, *id).within(group).at(path.as_str()));
            let known = if step.kind == StepKind::Parallel { &before } else { &made };
            values.extend(known.arrows(file, used_by(file, goal), item));
            if step.kind != StepKind::Parallel {
                if let Some(previous) = previous {
                    order.push(Arrow::new(previous, item));
                }
                previous = Some(item);
            }
            // One that may be skipped leaves what another made before it; those of a parallel step are beside each other.
            let is_one_of_several =
                goal.when.is_some() || step.when.is_some() || step.kind == StepKind::Parallel;
            let names = goal.outputs.iter().map(|output| output.name.as_str());
            for id in names.chain([goal.name.as_str()]).filter_map(|name| file.variable_named(name)) {
                if is_one_of_several {
                    made.also(id, item);
                } else {
                    made.only(id, item);
                }
            }
        }
        if let Some(last) = last_step.replace(group) {
            order.push(Arrow::new(last, group));
        }
    }
    joined(order, values).into_iter().for_each(|arrow| diagram.connect(arrow));
    diagram
}

/// One arrow for everything that goes from one item to another, with all their labels.
fn joined(order: Vec<Arrow>, values: Vec<Arrow>) -> Vec<Arrow> {
    let mut arrows = order;
    for value in values {
        let known = arrows.iter_mut().find(|known| (known.from, known.to) == (value.from, value.to));
        match known {
            None => arrows.push(value),
            Some(known) if known.label.split(", ").any(|label| label == value.label) => {}
            Some(known) if known.label.is_empty() => known.label = value.label,
            Some(known) => known.label = format!("{}, {}", known.label, value.label),
        }
    }
    arrows
}

fn title(file: &Agentfile, step: &Step) -> Item {
    let mut item = Item::new(&step.name);
    match step.kind {
        StepKind::Sequence => {}
        StepKind::Parallel => item = item.line("in parallel"),
        StepKind::Loop(times) => item = item.line(format!("↻ repeated within {}", within(file, times))),
    }
    match &step.when {
        Some(when) => item.line(format!("when {}", condition(file, when))),
        None => item,
    }
}

/// The items that a variable may have its value from.
#[derive(Clone, Default)]
struct Makers {
    items: HashMap<VariableId, Vec<ItemId>>,
    /// Those that are inputs, whose boxes say already what they give.
    inputs: Vec<ItemId>,
}

impl Makers {
    /// An item that makes it in any case.
    fn only(&mut self, id: VariableId, item: ItemId) {
        self.items.insert(id, vec![item]);
    }

    /// An item that may make it.
    fn also(&mut self, id: VariableId, item: ItemId) {
        self.items.entry(id).or_default().push(item);
    }

    /// Dashed arrows to an item from what makes the values it uses.
    fn arrows<'f>(
        &self,
        file: &'f Agentfile,
        used: impl Iterator<Item = &'f VariableId>,
        item: ItemId,
    ) -> Vec<Arrow> {
        let arrows = used.flat_map(|id| {
            let from = self.items.get(id).into_iter().flatten().filter(|from| **from != item);
            from.map(|from| {
                let arrow = Arrow::new(*from, item).dashed();
                if self.inputs.contains(from) { arrow } else { arrow.label(&file.variable(*id).name) }
            })
        });
        arrows.collect()
    }
}

/// The variables that a goal uses, and those who pursue it.
fn used_by<'f>(file: &'f Agentfile, goal: &'f Goal) -> impl Iterator<Item = &'f VariableId> {
    let decides = goal.when.iter().flat_map(|when| when.variables());
    let within = goal.converge.as_ref().and_then(variable);
    let personas = goal.agents.iter().filter_map(|id| match &file.agent(*id).persona {
        Persona::Prompt(text) | Persona::Skill { text, .. } => Some(text.template.variables()),
        Persona::Workflow { .. } => None,
    });
    goal.text.template.variables().chain(decides).chain(within).chain(personas.flatten())
}

/// The variable that says how often a step is repeated.
fn repeated(step: &Step) -> Option<&VariableId> {
    match &step.kind {
        StepKind::Loop(within) => variable(within),
        StepKind::Sequence | StepKind::Parallel => None,
    }
}

fn variable(within: &Within) -> Option<&VariableId> {
    match within {
        Within::Variable(id) => Some(id),
        Within::Times(_) => None,
    }
}

fn goal_item(file: &Agentfile, id: GoalId) -> Item {
    let goal = file.goal(id);
    let mut item = Item::new(&goal.name);
    if !goal.outputs.is_empty() {
        item = item.line(format!("-> {}", outputs(&goal.outputs)));
    }
    let agents: Vec<&str> = goal.agents.iter().map(|agent| file.agent(*agent).name.as_str()).collect();
    if !agents.is_empty() {
        item = item.line(format!("by {}", agents.join(", ")));
    }
    if let Some(times) = goal.converge {
        item = item.shape(Shape::Rounded).line(format!("↻ improved within {}", within(file, times)));
    }
    if let Some(when) = &goal.when {
        item = item.line(format!("when {}", condition(file, when)));
    }
    match goal.supervision.within(file.supervision) {
        Supervision::Llm => item.line("supervised"),
        Supervision::Human => item.line("a person approves"),
        _ => item,
    }
}
