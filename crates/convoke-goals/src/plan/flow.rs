//! Checks that every value is available when it is used.
//!
//! The sequences are gone through in the order they are run. Of every value it is known whether it is there by then: in
//! any case, or under the conditions of the nodes that make it.

use std::collections::HashMap;

use super::prepare::{NodeLocation, ProblemList, Symbols};
use super::problem::{Availability, ProblemKind};
use super::{Plan, PlannedNode, PlannedPersona};
use crate::agentfile::model::{Condition, Type, Within};
use crate::coverage::{Coverage, Facts};
use crate::tree::{GoalNodeKind, Name, Order};

impl Facts<Name> for &Symbols {
    fn ty(&self, variable: &Name) -> Option<&Type> {
        self.get(variable).map(|symbol| &symbol.ty)
    }

    fn changes(&self, variable: &Name) -> bool {
        self.get(variable).is_some_and(|symbol| symbol.times > 1)
    }
}

/// Conditions that all hold.
type Guards<'p> = Vec<&'p Condition<Name>>;

/// What is known of a value.
#[derive(Default)]
struct KnownValue<'p> {
    /// It is there in any case.
    always: bool,
    /// It is there if all of one of these hold.
    under: Vec<Guards<'p>>,
}

struct Flow<'p> {
    symbols: &'p Symbols,
    cover: Coverage<&'p Symbols>,
    known: HashMap<&'p Name, KnownValue<'p>>,
    /// What the other nodes of a parallel sequence make.
    beside: Vec<&'p Name>,
    problems: &'p mut ProblemList,
}

pub(super) fn check<'p>(
    plan: &'p Plan,
    symbols: &'p Symbols,
    place: &NodeLocation,
    problems: &'p mut ProblemList,
) {
    let always =
        |input: &'p crate::tree::Input| (&input.name, KnownValue { always: true, under: Vec::new() });
    let known = plan.inputs.iter().map(always).collect();
    let mut flow = Flow { symbols, cover: Coverage::new(symbols), known, beside: Vec::new(), problems };
    flow.plan(plan, place);
}

impl<'p> Flow<'p> {
    fn plan(&mut self, plan: &'p Plan, place: &NodeLocation) {
        for sequence in &plan.sequences {
            let place = place.below(&sequence.name, GoalNodeKind::Sequence);
            let mut guards = Guards::new();
            self.condition(sequence.when.as_ref(), &mut guards, &place, None);
            if let Order::Loop(Within::Variable(name)) = &sequence.order {
                self.wanted(name, &guards, &place, None);
            }
            let parallel = sequence.order == Order::Parallel;
            if parallel {
                self.beside = sequence.nodes.iter().flat_map(makes).collect();
            }
            let mut made: Vec<(&'p PlannedNode, Guards<'p>)> = Vec::new();
            for node in &sequence.nodes {
                let mut guards = guards.clone();
                self.node(node, &mut guards, &place, node);
                if parallel {
                    made.push((node, guards));
                } else {
                    self.make(node, &guards);
                }
            }
            self.beside.clear();
            for (node, guards) in made {
                self.make(node, &guards);
            }
        }
    }

    /// A node and everything below it; `top` is the one that stands in the sequence.
    fn node(
        &mut self,
        node: &'p PlannedNode,
        guards: &mut Guards<'p>,
        place: &NodeLocation,
        top: &'p PlannedNode,
    ) {
        let place = place.below(node.name(), node.kind());
        self.condition(node.when(), guards, &place, Some(top));
        match node {
            PlannedNode::Goal(goal) => {
                let limit = goal.converge.as_ref().and_then(|within| match within {
                    Within::Variable(name) => Some(name),
                    Within::Times(_) => None,
                });
                for name in goal.text.variables().chain(limit) {
                    self.wanted(name, guards, &place, Some(top));
                }
                for inner in &goal.using {
                    self.node(inner, &mut guards.clone(), &place, top);
                }
            }
            PlannedNode::Agent(agent) => {
                let persona = match &agent.persona {
                    PlannedPersona::Prompt(text) => Some(text),
                    // Its own values were checked when it was prepared.
                    PlannedPersona::Workflow { .. } => None,
                };
                for name in persona.into_iter().chain(&agent.task).flat_map(|text| text.variables()) {
                    self.wanted(name, guards, &place, Some(top));
                }
            }
        }
    }

    /// Checks a condition, each test of which may rely on what holds before it, and makes it hold from here on.
    fn condition(
        &mut self,
        condition: Option<&'p Condition<Name>>,
        guards: &mut Guards<'p>,
        place: &NodeLocation,
        top: Option<&'p PlannedNode>,
    ) {
        let Some(condition) = condition else { return };
        let outer = guards.len();
        condition.each_test(&mut |test, before| {
            guards.extend(before);
            self.wanted(&test.variable, guards, place, top);
            guards.truncate(outer);
        });
        guards.push(condition);
    }

    fn wanted(
        &mut self,
        name: &Name,
        guards: &Guards<'p>,
        place: &NodeLocation,
        top: Option<&'p PlannedNode>,
    ) {
        let known = self.known.get(name);
        if !known.is_some_and(|known| known.always || self.cover.is_sure(&known.under, guards)) {
            self.report(name, place, top);
        }
    }

    /// A node is run, if its conditions hold.
    fn make(&mut self, node: &'p PlannedNode, guards: &Guards<'p>) {
        for name in makes(node) {
            let known = self.known.entry(name).or_default();
            if guards.is_empty() {
                known.always = true;
            } else if !known.always {
                known.under.push(guards.clone());
            }
        }
    }

    fn report(&mut self, name: &Name, place: &NodeLocation, top: Option<&'p PlannedNode>) {
        // What is no value at all has been reported.
        let Some(symbol) = self.symbols.get(name) else { return };
        let made = if self.known.contains_key(name) {
            Availability::Sometimes
        } else if top.is_some_and(|top| makes(top).any(|made| made == name)) {
            Availability::ByItself
        } else if self.beside.contains(&name) {
            Availability::AtTheSameTime
        } else {
            Availability::Later
        };
        let problem =
            ProblemKind::TooEarly { variable: name.clone(), maker: symbol.maker().to_owned(), made };
        self.problems.add(place, problem);
    }
}

/// The values that a node of a sequence makes.
fn makes(node: &PlannedNode) -> impl Iterator<Item = &Name> {
    node.outputs().iter().map(|output| &output.name).chain([node.name()])
}
