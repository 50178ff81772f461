//! The outline as a Mermaid chart.

use std::collections::HashMap;

use super::{condition, outputs, shortened, within};
use crate::agentfile::model::{
    Agentfile, Goal, GoalId, Persona, Step, StepKind, Supervision, VariableId, Within,
};

/// The file as a Mermaid flow chart: a box per step with its goals in it, arrows for the order, dotted arrows for values
/// that one goal makes and another uses, in its text or to decide whether and how often it is done.
#[must_use]
pub fn to_mermaid(file: &Agentfile) -> String {
    let mut chart = String::from("flowchart TD\n");
    let mut made = Makers::default();
    for (index, input) in file.inputs.iter().enumerate() {
        let node = format!("input{index}");
        chart.push_str(&format!("  {node}[/\"{}\"/]\n", label(&format!("{}: {}", input.name, input.ty))));
        if let Some(id) = file.variable_named(&input.name) {
            made.only(id, node);
        }
    }
    let mut values: Vec<String> = Vec::new();
    for (index, step) in file.steps.iter().enumerate() {
        let mut title = step.name.clone();
        match step.kind {
            StepKind::Sequence => {}
            StepKind::Parallel => title.push_str(" (in parallel)"),
            StepKind::Loop(times) => title.push_str(&format!(" (repeated within {})", within(file, times))),
        }
        if let Some(when) = &step.when {
            title.push_str(&format!(" when {}", condition(file, when)));
        }
        chart.push_str(&format!("  subgraph step{index}[\"{}\"]\n", label(&title)));
        let decides = step.when.iter().flat_map(|when| when.variables());
        values.extend(made.arrows(file, decides.chain(repeated(step)), &format!("step{index}")));
        let before = made.clone();
        let mut previous: Option<String> = None;
        for (place, goal) in step.goals.iter().enumerate() {
            let node = format!("step{index}goal{place}");
            let (open, close) = if file.goal(*goal).converge.is_some() { ("([", "])") } else { ("[", "]") };
            chart.push_str(&format!("    {node}{open}\"{}\"{close}\n", goal_label(file, *goal)));
            let known = if step.kind == StepKind::Parallel { &before } else { &made };
            values.extend(known.arrows(file, used_by(file, file.goal(*goal)), &node));
            if step.kind != StepKind::Parallel {
                if let Some(previous) = previous {
                    chart.push_str(&format!("    {previous} --> {node}\n"));
                }
                previous = Some(node.clone());
            }
            let maker = file.goal(*goal);
            // One that may be skipped leaves what another made before it; those of a parallel step are beside each other.
            let is_one_of_several =
                maker.when.is_some() || step.when.is_some() || step.kind == StepKind::Parallel;
            let names = maker.outputs.iter().map(|output| output.name.as_str());
            for id in names.chain([maker.name.as_str()]).filter_map(|name| file.variable_named(name)) {
                if is_one_of_several {
                    made.also(id, node.clone());
                } else {
                    made.only(id, node.clone());
                }
            }
        }
        chart.push_str("  end\n");
        if index > 0 {
            chart.push_str(&format!("  step{} --> step{index}\n", index - 1));
        }
    }
    for value in values {
        chart.push_str(&value);
    }
    chart
}

/// The nodes that a variable may have its value from.
#[derive(Clone, Default)]
struct Makers(HashMap<VariableId, Vec<String>>);

impl Makers {
    /// A node that makes it in any case.
    fn only(&mut self, id: VariableId, node: String) {
        self.0.insert(id, vec![node]);
    }

    /// A node that may make it.
    fn also(&mut self, id: VariableId, node: String) {
        self.0.entry(id).or_default().push(node);
    }

    /// Dotted arrows to a node from what makes the values it uses.
    fn arrows<'f>(
        &self,
        file: &'f Agentfile,
        used: impl Iterator<Item = &'f VariableId>,
        node: &str,
    ) -> Vec<String> {
        let mut arrows: Vec<String> = Vec::new();
        for id in used {
            let from = self.0.get(id).into_iter().flatten().filter(|from| *from != node);
            let name = label(&file.variable(*id).name);
            for arrow in from.map(|from| format!("  {from} -.->|\"{name}\"| {node}\n")) {
                if !arrows.contains(&arrow) {
                    arrows.push(arrow);
                }
            }
        }
        arrows
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

fn goal_label(file: &Agentfile, id: GoalId) -> String {
    let goal = file.goal(id);
    let mut lines = vec![label(&goal.name)];
    if !goal.outputs.is_empty() {
        lines.push(label(&format!("-> {}", outputs(&goal.outputs))));
    }
    let agents: Vec<&str> = goal.agents.iter().map(|agent| file.agent(*agent).name.as_str()).collect();
    if !agents.is_empty() {
        lines.push(label(&format!("by {}", agents.join(", "))));
    }
    if let Some(times) = goal.converge {
        lines.push(label(&format!("improved within {}", within(file, times))));
    }
    if let Some(when) = &goal.when {
        lines.push(label(&format!("when {}", condition(file, when))));
    }
    match goal.supervision.within(file.supervision) {
        Supervision::Llm => lines.push("supervised".to_owned()),
        Supervision::Human => lines.push("a person approves".to_owned()),
        _ => {}
    }
    lines.join("<br/>")
}

/// A text as a label: no character in it means anything to Mermaid.
fn label(text: &str) -> String {
    let mut label = String::new();
    for character in shortened(text, 80).chars() {
        match character {
            '"' => label.push_str("#quot;"),
            '#' => label.push_str("#35;"),
            '<' => label.push_str("#lt;"),
            '>' => label.push_str("#gt;"),
            '&' => label.push_str("#amp;"),
            '`' | '\\' | '$' | '[' | ']' | '{' | '}' | '|' => {
                label.push_str(&format!("#{};", u32::from(character)))
            }
            other => label.push(other),
        }
    }
    label
}
