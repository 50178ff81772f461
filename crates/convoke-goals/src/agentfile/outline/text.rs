//! The outline as text.

use convoke_text::duration;

use super::{condition, limits, outputs, shortened, template, within};
use crate::agentfile::model::{
    Agent, Agentfile, Goal, GoalId, Overrides, Persona, SecurityMode, Step, StepKind, Supervision, Tools,
};

/// A line, and the lines below it.
struct Node {
    line: String,
    below: Vec<Node>,
}

impl Node {
    fn new(line: impl Into<String>, below: Vec<Node>) -> Self {
        Self { line: line.into(), below }
    }

    fn write(&self, indent: &str, text: &mut String) {
        for (index, node) in self.below.iter().enumerate() {
            let last = index + 1 == self.below.len();
            text.push_str(&format!("{indent}{} {}\n", if last { "└─" } else { "├─" }, node.line));
            node.write(&format!("{indent}{}", if last { "   " } else { "│  " }), text);
        }
    }
}

/// The file as a tree: what it is given, who is there, and what is done in which order.
#[must_use]
pub fn to_text(file: &Agentfile) -> String {
    let mut below = Vec::new();
    match &file.security {
        None => {}
        Some(SecurityMode::Research { scope }) => {
            below.push(Node::new(format!("security research: {scope}"), vec![]))
        }
        Some(mode) => below.push(Node::new(format!("security {}", mode.name()), vec![])),
    }
    if file.supervision.is_on() {
        below.extend(
            file.supervision.written().map(|written| Node::new(format!("everything is {written}"), vec![])),
        );
    }
    below.extend(overrides(&file.overrides).into_iter().map(|line| Node::new(line, vec![])));
    let inputs = file.inputs.iter().map(|input| {
        let mut line = format!("{}: {}", input.name, input.ty);
        match &input.default {
            None => line.push_str(", required"),
            Some(serde_json::Value::String(text)) => {
                line.push_str(&format!(" = \"{}\"", shortened(text, 40)))
            }
            Some(value) => line.push_str(&format!(" = {value}")),
        }
        if input.secret {
            line.push_str(", secret");
        }
        Node::new(line, vec![])
    });
    let agents = file.agents.iter().map(|one| agent(file, one));
    let steps = file.steps.iter().map(|one| step(file, one));
    for (title, nodes) in
        [("inputs", inputs.collect::<Vec<_>>()), ("agents", agents.collect()), ("steps", steps.collect())]
    {
        if !nodes.is_empty() {
            below.push(Node::new(title, nodes));
        }
    }
    let root = Node::new(&file.name, below);
    let mut text = format!("{}\n", root.line);
    root.write("", &mut text);
    text
}

fn agent(file: &Agentfile, agent: &Agent) -> Node {
    let who = match &agent.persona {
        Persona::Prompt(text) => match &text.path {
            Some(path) => format!("from {path}"),
            None => format!("\"{}\"", shortened(&template(file, &text.template), 50)),
        },
        Persona::Skill { skill, .. } => format!("skill {}", skill.name),
        Persona::Workflow { path, file, task } => {
            format!("workflow {} from {path}, given as ${task}", file.name)
        }
    };
    let mut details = Vec::new();
    if !agent.outputs.is_empty() {
        details.push(format!("-> {}", outputs(&agent.outputs)));
    }
    details.extend(agent.requires.as_ref().map(|profile| format!("requires {profile}")));
    details.extend(overrides(&agent.overrides));
    details.extend(agent.supervision.written().map(str::to_owned));
    Node::new(
        format!("{}: {who}", agent.name),
        details.into_iter().map(|line| Node::new(line, vec![])).collect(),
    )
}

fn step(file: &Agentfile, step: &Step) -> Node {
    let how = match step.kind {
        StepKind::Sequence => String::new(),
        StepKind::Parallel => ", in parallel".to_owned(),
        StepKind::Loop(times) => format!(", repeated within {}", within(file, times)),
    };
    let mut line = format!("{}{how}", step.name);
    if let Some(when) = &step.when {
        line.push_str(&format!(", when {}", condition(file, when)));
    }
    for detail in overrides(&step.overrides).into_iter().chain(supervision(step.supervision)) {
        line.push_str(&format!(", {detail}"));
    }
    Node::new(line, step.goals.iter().map(|id| goal(file, *id)).collect())
}

fn goal(file: &Agentfile, id: GoalId) -> Node {
    let goal: &Goal = file.goal(id);
    let mut line = goal.name.clone();
    if !goal.outputs.is_empty() {
        line.push_str(&format!(" -> {}", outputs(&goal.outputs)));
    }
    let mut details = Vec::new();
    let agents: Vec<&str> = goal.agents.iter().map(|agent| file.agent(*agent).name.as_str()).collect();
    if !agents.is_empty() {
        details.push(format!("by {}", agents.join(", ")));
    }
    details.extend(goal.converge.map(|times| format!("improved within {}", within(file, times))));
    details.extend(goal.when.as_ref().map(|when| format!("when {}", condition(file, when))));
    details.extend(overrides(&goal.overrides));
    details.extend(supervision(goal.supervision));
    let what = match (&goal.text.path, &goal.embedded) {
        (Some(path), Some(workflow)) => format!("{} {} from {path}", workflow.kind(), workflow.name()),
        (Some(path), None) => format!("from {path}"),
        (None, _) => format!("\"{}\"", shortened(&template(file, &goal.text.template), 70)),
    };
    let mut below = vec![Node::new(what, vec![])];
    if !details.is_empty() {
        below.push(Node::new(details.join(", "), vec![]));
    }
    Node::new(line, below)
}

fn supervision(supervision: Supervision) -> Option<String> {
    supervision.written().map(str::to_owned)
}

fn overrides(overrides: &Overrides) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(overrides.model.as_ref().map(|model| format!("model {model}")));
    lines.extend(overrides.tools.as_ref().map(|tools| match tools {
        Tools::None => "no tools".to_owned(),
        Tools::Named(names) => format!("tools {}", names.join(" ")),
    }));
    lines.extend(overrides.timeout.map(|timeout| format!("timeout {}", duration::exact(timeout))));
    lines.extend(overrides.retry.map(|retry| match retry.after {
        None => format!("retry {}", retry.times),
        Some(after) => format!("retry {} after {}", retry.times, duration::exact(after)),
    }));
    lines.extend(overrides.budget.as_ref().map(|budget| format!("budget {}", limits(budget))));
    lines.extend(overrides.memory.as_ref().map(|memory| format!("memory {memory}")));
    lines
}
