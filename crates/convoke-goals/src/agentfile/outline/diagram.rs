//! The outline as a diagram.

use std::collections::HashMap;

use convoke_diagram::{Arrow, Diagram, Item, ItemId, Shape};

use super::{condition, outputs, within};
use crate::agentfile::model::{
    Agentfile, Goal, GoalId, Persona, Step, StepKind, Supervision, VariableId, Within,
};

/// The file as a diagram: a group per step with its goals in it, arrows for the order, dashed arrows for values that one goal
/// makes and another uses, in its text or to decide whether and how often it is done.
#[must_use]
pub fn to_diagram(file: &Agentfile) -> Diagram {
    let mut diagram = Diagram::new();
    let mut made = Makers::default();
    for input in &file.inputs {
        let item = diagram.add(Item::new(format!("{}: {}", input.name, input.ty)).shape(Shape::Input));
        if let Some(id) = file.variable_named(&input.name) {
            made.only(id, item);
        }
    }
    let mut values: Vec<Arrow> = Vec::new();
    let mut last_step: Option<ItemId> = None;
    for step in &file.steps {
        let group = diagram.add(Item::new(title(file, step)).at(step.name.clone()));
        let decides = step.when.iter().flat_map(|when| when.variables());
        values.extend(made.arrows(file, decides.chain(repeated(step)), group));
        let before = made.clone();
        let mut previous: Option<ItemId> = None;
        for id in &step.goals {
            let goal = file.goal(*id);
            let path = format!("{}/{}", step.name, goal.name);
            let item = diagram.add(goal_item(file, *id).within(group).at(path));
            let known = if step.kind == StepKind::Parallel { &before } else { &made };
            values.extend(known.arrows(file, used_by(file, goal), item));
            if step.kind != StepKind::Parallel {
                if let Some(previous) = previous {
                    diagram.connect(Arrow::new(previous, item));
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
            diagram.connect(Arrow::new(last, group));
        }
    }
    values.into_iter().for_each(|value| diagram.connect(value));
    diagram
}

fn title(file: &Agentfile, step: &Step) -> String {
    let mut title = step.name.clone();
    match step.kind {
        StepKind::Sequence => {}
        StepKind::Parallel => title.push_str(" (in parallel)"),
        StepKind::Loop(times) => title.push_str(&format!(" (repeated within {})", within(file, times))),
    }
    if let Some(when) = &step.when {
        title.push_str(&format!(" when {}", condition(file, when)));
    }
    title
}

/// The items that a variable may have its value from.
#[derive(Clone, Default)]
struct Makers(HashMap<VariableId, Vec<ItemId>>);

impl Makers {
    /// An item that makes it in any case.
    fn only(&mut self, id: VariableId, item: ItemId) {
        self.0.insert(id, vec![item]);
    }

    /// An item that may make it.
    fn also(&mut self, id: VariableId, item: ItemId) {
        self.0.entry(id).or_default().push(item);
    }

    /// Dashed arrows to an item from what makes the values it uses.
    fn arrows<'f>(
        &self,
        file: &'f Agentfile,
        used: impl Iterator<Item = &'f VariableId>,
        item: ItemId,
    ) -> Vec<Arrow> {
        let arrows = used.flat_map(|id| {
            let from = self.0.get(id).into_iter().flatten().filter(|from| **from != item);
            from.map(|from| Arrow::new(*from, item).label(&file.variable(*id).name).dashed())
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
        item = item.shape(Shape::Rounded).line(format!("improved within {}", within(file, times)));
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
