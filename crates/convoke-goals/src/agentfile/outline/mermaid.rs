//! For a chart.

use std::collections::HashMap;

use super::{condition, outputs, shortened, within};
use crate::agentfile::model::{Agentfile, GoalId, StepKind, Supervision, VariableId};

/// The file as a Mermaid flow chart: a box per step with its goals in it, arrows for the order, dotted arrows for values
/// that one goal makes and another uses.
#[must_use]
pub fn to_mermaid(file: &Agentfile) -> String {
    let mut chart = String::from("flowchart TD\n");
    // The goal that made each variable last, by the id of its node.
    let mut made: HashMap<VariableId, String> = HashMap::new();
    for (index, input) in file.inputs.iter().enumerate() {
        let node = format!("input{index}");
        chart.push_str(&format!("  {node}[/\"{}\"/]\n", label(&format!("{}: {}", input.name, input.ty))));
        if let Some(id) = file.variable_named(&input.name) {
            made.insert(id, node);
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
        let before = made.clone();
        let mut previous: Option<String> = None;
        for (place, goal) in step.goals.iter().enumerate() {
            let node = format!("step{index}goal{place}");
            let (open, close) = if file.goal(*goal).converge.is_some() { ("([", "])") } else { ("[", "]") };
            chart.push_str(&format!("    {node}{open}\"{}\"{close}\n", goal_label(file, *goal)));
            let known = if step.kind == StepKind::Parallel { &before } else { &made };
            values.extend(arrows(file, *goal, &node, known));
            if step.kind != StepKind::Parallel {
                if let Some(previous) = previous {
                    chart.push_str(&format!("    {previous} --> {node}\n"));
                }
                previous = Some(node.clone());
            }
            let names = file.goal(*goal).outputs.iter().map(|output| output.name.as_str());
            for name in names.chain([file.goal(*goal).name.as_str()]) {
                made.extend(file.variable_named(name).map(|id| (id, node.clone())));
            }
        }
        chart.push_str("  end\n");
        if index > 0 {
            chart.push_str(&format!("  step{} --> step{index}\n", index - 1));
        }
    }
    values.dedup();
    for value in values {
        chart.push_str(&value);
    }
    chart
}

/// Dotted arrows to a goal from what makes the values it uses.
fn arrows(file: &Agentfile, goal: GoalId, node: &str, made: &HashMap<VariableId, String>) -> Vec<String> {
    let mut seen: Vec<VariableId> = Vec::new();
    for &id in file.goal(goal).text.template.variables() {
        if !seen.contains(&id) {
            seen.push(id);
        }
    }
    let arrow = |id: &VariableId| {
        let from = made.get(id).filter(|from| *from != node)?;
        Some(format!("  {from} -.->|\"{}\"| {node}\n", label(&file.variable(*id).name)))
    };
    seen.iter().filter_map(arrow).collect()
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
