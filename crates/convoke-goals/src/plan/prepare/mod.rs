//! Prepares a tree: checks every node once, notes every problem, and makes the plan.

mod depth;
mod layer;
mod location;
mod symbols;
mod text;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::problem::{InvalidWorkflow, ProblemKind};
use super::{
    Plan, PlannedAgent, PlannedEmbedded, PlannedGoal, PlannedNode, PlannedPersona, PlannedSequence,
    PreparedWorkflow, SupervisedBy, WorkerSettings, flow,
};
use crate::agentfile::model::{LONGEST_NAME, SecurityMode, Supervision, Type};
use crate::agentfile::template::is_value_name;
use crate::embedded::EmbeddedWorkflow;
use crate::equipment::Equipment;
use crate::tree::{
    Agent, Goal, GoalNodeKind, Input, Name, Node, NodeRef, Order, Output, Persona, Sequence, Workflow,
};
use layer::{Layer, bounds};
pub(super) use location::{NodeLocation, ProblemList};
pub(super) use symbols::Symbols;
pub(super) use text::{times, times_in_words};

impl Workflow {
    /// Checks the whole tree and makes it ready to be run with this equipment.
    ///
    /// No model at all is not a mistake: the runtime may have one.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn prepare(self, equipment: &Equipment) -> Result<PreparedWorkflow, InvalidWorkflow> {
        let mut problems = ProblemList::default();
        let place = NodeLocation::root(&self.name);
        if let Err(problem) = depth::check(&self) {
            return Err(InvalidWorkflow { problems: vec![problem] });
        }
        let plan = plan(&self, &Layer::outermost(equipment), place, equipment, &mut problems);
        let warnings = problems.warnings().map_err(|problems| InvalidWorkflow { problems })?;
        Ok(PreparedWorkflow::new(plan, equipment.clone(), warnings))
    }
}

fn plan(
    workflow: &Workflow,
    outer: &Layer,
    place: NodeLocation,
    equipment: &Equipment,
    problems: &mut ProblemList,
) -> Plan {
    let symbols = Symbols::collect(workflow, &place, problems);
    let mut preparer =
        Preparer { equipment, symbols, inputs: &workflow.inputs, known: HashMap::new(), problems };
    let plan = preparer.workflow(workflow, outer, &place);
    flow::check(&plan, &preparer.symbols, &place, preparer.problems);
    plan
}

struct Preparer<'w> {
    equipment: &'w Equipment,
    symbols: Symbols,
    inputs: &'w [Input],
    /// The first goal and the first agent of each name, and where it is.
    known: HashMap<(bool, &'w str), (&'w Node, String)>,
    problems: &'w mut ProblemList,
}

impl<'w> Preparer<'w> {
    fn workflow(&mut self, workflow: &'w Workflow, outer: &Layer, place: &NodeLocation) -> Plan {
        self.name(&workflow.name, place);
        self.inputs(place);
        if matches!(&workflow.security, Some(SecurityMode::Research { scope }) if scope.trim().is_empty()) {
            self.problems.add(place, ProblemKind::NoScope);
        }
        if workflow.sequences.is_empty() {
            self.problems.add(place, ProblemKind::Empty);
        }
        let layer = self.layer(outer, &workflow.overrides, workflow.supervision, place);
        let mut sequences: Vec<PlannedSequence> = Vec::new();
        let mut names = HashSet::new();
        for sequence in &workflow.sequences {
            let place = place.below(&sequence.name, GoalNodeKind::Sequence);
            if !names.insert(&sequence.name) {
                self.problems.add(&place, ProblemKind::DuplicateName { first: place.way() });
            }
            sequences.push(self.sequence(sequence, &layer, &place));
        }
        Plan {
            name: workflow.name.clone(),
            inputs: workflow.inputs.clone(),
            sequences,
            security: workflow.security.clone(),
            bounds: bounds(&workflow.overrides),
        }
    }

    fn inputs(&mut self, place: &NodeLocation) {
        for input in self.inputs {
            let name = &input.name;
            if input.secret && input.default.is_some() {
                let why = "has a default, which everybody sees; give it when the workflow is run";
                self.problems.add(place, ProblemKind::SecretShown { input: name.clone(), why });
            } else if input.secret && input.ty != Type::String {
                let why = "has a type; a secret is a text";
                self.problems.add(place, ProblemKind::SecretShown { input: name.clone(), why });
            } else if input.default.as_ref().is_some_and(|default| !input.ty.admits(default)) {
                let problem = ProblemKind::BadDefault { input: name.clone(), ty: input.ty.clone() };
                self.problems.add(place, problem);
            }
        }
    }

    fn sequence(&mut self, sequence: &'w Sequence, outer: &Layer, place: &NodeLocation) -> PlannedSequence {
        self.name(&sequence.name, place);
        if sequence.nodes.is_empty() {
            self.problems.add(place, ProblemKind::Empty);
        }
        self.watched(sequence.supervision, outer, None, place);
        let layer = self.layer(outer, &sequence.overrides, sequence.supervision, place);
        let order = match &sequence.order {
            Order::Loop(within) => Order::Loop(self.within(within, place)),
            other => other.clone(),
        };
        let whole = (sequence.supervision == Supervision::Human).then(|| place.label());
        let when = self.condition(sequence.when.as_ref(), place);
        let nodes = sequence.nodes.iter().map(|node| {
            if let Node::Agent(Agent { task: None, .. }) = node {
                let place = place.below(&node_name(node), GoalNodeKind::Agent);
                self.problems.add(&place, ProblemKind::NoTask);
            }
            self.node(node, &layer, whole.as_deref(), place, false)
        });
        let nodes = nodes.collect();
        PlannedSequence {
            name: sequence.name.clone(),
            order,
            nodes,
            when,
            bounds: bounds(&sequence.overrides),
        }
    }

    /// A node; `whole` is what a person watches over of which it is a part, and `inner` says whether a goal uses it.
    fn node(
        &mut self,
        node: &'w Node,
        outer: &Layer,
        whole: Option<&str>,
        place: &NodeLocation,
        inner: bool,
    ) -> PlannedNode {
        let place = place.below(&node_name(node), NodeRef::from(node).kind());
        self.unique(node, &place);
        match node {
            Node::Goal(goal) => PlannedNode::Goal(self.goal(goal, outer, whole, &place)),
            Node::Agent(agent) => PlannedNode::Agent(self.agent(agent, outer, whole, &place, inner)),
        }
    }

    /// Two nodes of one name are the same node.
    fn unique(&mut self, node: &'w Node, place: &NodeLocation) {
        let key = match node {
            Node::Goal(goal) => (true, &*goal.name),
            Node::Agent(agent) => (false, &*agent.name),
        };
        match self.known.get(&key) {
            None => {
                self.known.insert(key, (node, place.way()));
            }
            Some((known, _)) if *known == node => {}
            Some((_, first)) => {
                let problem = ProblemKind::DuplicateName { first: first.clone() };
                self.problems.add(place, problem);
            }
        }
    }

    /// Those that pursue the same goal are known by their names, whatever they are.
    fn told_apart(&mut self, using: &[Node], place: &NodeLocation) {
        let mut first: HashMap<&str, GoalNodeKind> = HashMap::new();
        for node in using.iter().map(NodeRef::from) {
            let kind = node.kind();
            let other = *first.entry(node.name()).or_insert(kind);
            if (other == GoalNodeKind::Agent) != (kind == GoalNodeKind::Agent) {
                let place = place.below(&node.name().into(), kind);
                self.problems.add(&place, ProblemKind::SharedName { other });
            }
        }
    }

    fn goal(
        &mut self,
        goal: &'w Goal,
        outer: &Layer,
        whole: Option<&str>,
        place: &NodeLocation,
    ) -> PlannedGoal {
        self.name(&goal.name, place);
        self.outputs(&goal.outputs, place);
        self.watched(goal.supervision, outer, whole, place);
        let layer = self.layer(outer, &goal.overrides, goal.supervision, place);
        let whole = match goal.supervision {
            Supervision::Human => Some(place.label()),
            _ => whole.map(str::to_owned),
        };
        let text = self.text(&goal.text, place, "description");
        let converge = goal.converge.as_ref().map(|within| self.within(within, place));
        let when = self.condition(goal.when.as_ref(), place);
        self.told_apart(&goal.using, place);
        let inside = layer.inside();
        let using = goal.using.iter().map(|node| self.node(node, &inside, whole.as_deref(), place, true));
        let using = using.collect();
        let settings = layer.settings();
        PlannedGoal {
            name: goal.name.clone(),
            text,
            embedded: goal.embedded.as_ref().and_then(|workflow| self.embedded(workflow, &settings, place)),
            outputs: goal.outputs.clone(),
            using,
            converge,
            when,
            supervised_by: layer.supervised_by(),
            settings,
            bounds: bounds(&goal.overrides),
            retry: layer.retry,
            memory: layer.memory,
        }
    }

    /// A workflow of another kind, with the model and the tools of its goal.
    fn embedded(
        &mut self,
        workflow: &EmbeddedWorkflow,
        settings: &WorkerSettings,
        place: &NodeLocation,
    ) -> Option<PlannedEmbedded> {
        let mut equipment = self.equipment.clone();
        equipment.model = settings.model.clone().or(equipment.model);
        equipment.tools = settings.tools.clone();
        match workflow.equip(&equipment) {
            Ok(equipped) => Some(PlannedEmbedded { declared: workflow.clone(), equipped }),
            Err(problems) => {
                for why in problems {
                    let kind = workflow.kind().to_owned();
                    self.problems.add(place, ProblemKind::CannotEmbed { kind, why });
                }
                None
            }
        }
    }

    fn agent(
        &mut self,
        agent: &'w Agent,
        outer: &Layer,
        whole: Option<&str>,
        place: &NodeLocation,
        inner: bool,
    ) -> PlannedAgent {
        self.name(&agent.name, place);
        self.outputs(&agent.outputs, place);
        self.watched(agent.supervision, outer, whole, place);
        let layer = self.layer(outer, &agent.overrides, agent.supervision, place);
        let persona = match &agent.persona {
            Persona::Prompt(text) => PlannedPersona::Prompt(self.text(text, place, "prompt")),
            Persona::Workflow { workflow, task } => {
                self.task_input(workflow, task, place);
                let place = place.below(&workflow.name, GoalNodeKind::Workflow);
                let plan = plan(workflow, &layer.inside().unwatched(), place, self.equipment, self.problems);
                PlannedPersona::Workflow { plan: Arc::new(plan), task: task.clone() }
            }
        };
        // Whoever watches a goal watches what its agents bring; they are watched themselves only if they say so.
        let supervised_by =
            if inner && !agent.supervision.is_on() { SupervisedBy::Nobody } else { layer.supervised_by() };
        PlannedAgent {
            name: agent.name.clone(),
            persona,
            task: agent.task.as_ref().map(|task| self.text(task, place, "task")),
            outputs: agent.outputs.clone(),
            supervised_by,
            settings: layer.settings(),
            bounds: bounds(&agent.overrides),
            retry: layer.retry,
        }
    }

    fn task_input(&mut self, workflow: &Workflow, task: &Name, place: &NodeLocation) {
        let found = workflow.inputs.iter().find(|input| input.name == *task);
        let others = workflow.inputs.iter().find(|input| input.name != *task && input.is_required());
        let why = match (found, others) {
            (None, _) => {
                format!("the workflow `{}` has no such input; add it, or name another", workflow.name)
            }
            (Some(input), _) if input.secret => "it is a secret, and a task is none".to_owned(),
            (Some(input), _) if !matches!(input.ty, Type::String | Type::Json) => {
                format!("that is {}, and a task is a text", input.ty.in_words())
            }
            (Some(_), Some(other)) => {
                format!("the workflow `{}` needs `{}` too; give that a default", workflow.name, other.name)
            }
            (Some(_), None) => return,
        };
        self.problems.add(place, ProblemKind::BadTaskInput { input: task.clone(), why });
    }

    /// What a person watches over is not left to nobody.
    fn watched(&mut self, own: Supervision, outer: &Layer, whole: Option<&str>, place: &NodeLocation) {
        if own != Supervision::Off || !outer.is_watched_by_person() {
            return;
        }
        let problem = match whole {
            Some(whole) => ProblemKind::WatchedAllTheSame { whole: whole.to_owned() },
            None => ProblemKind::Unwatched,
        };
        self.problems.add(place, problem);
    }

    fn name(&mut self, name: &Name, place: &NodeLocation) {
        if name.trim().is_empty() {
            self.problems.add(place, ProblemKind::NoName);
        } else if let Some(why) = why_no_name(name) {
            self.problems.add(place, ProblemKind::BadName { why });
        }
    }

    fn outputs(&mut self, outputs: &[Output], place: &NodeLocation) {
        for (index, output) in outputs.iter().enumerate() {
            let name = output.name.clone();
            if !is_value_name(&name) {
                self.problems.add(place, ProblemKind::BadValueName { what: "output", name });
            } else if outputs[..index].iter().any(|before| before.name == name) {
                self.problems.add(place, ProblemKind::DuplicateOutput { output: name });
            }
        }
    }
}

fn node_name(node: &Node) -> Name {
    match node {
        Node::Goal(goal) => goal.name.clone(),
        Node::Agent(agent) => agent.name.clone(),
    }
}

/// Names are parts of paths, of events and of lines on a screen.
fn why_no_name(name: &str) -> Option<String> {
    if name.len() > LONGEST_NAME {
        return Some(format!("it has {} bytes, and {LONGEST_NAME} are the most", name.len()));
    }
    if name.chars().any(char::is_control) {
        return Some("there are line breaks or other control characters in it".to_owned());
    }
    (name.trim() != name).then(|| "it begins or ends with white space".to_owned())
}
