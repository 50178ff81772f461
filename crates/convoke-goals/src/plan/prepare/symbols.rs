//! The symbol table: everything a text can refer to.

use std::collections::HashMap;

use super::location::{NodeLocation, ProblemList};
use crate::agentfile::model::Type;
use crate::agentfile::template::is_value_name;
use crate::plan::problem::ProblemKind;
use crate::tree::{GoalNodeKind, Input, Name, Node, NodeRef, Order, Output, Workflow};
use convoke_text::nearest;

/// The values of a workflow.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    values: HashMap<Name, Symbol>,
    /// Names that are not values, and what they are.
    others: HashMap<Name, String>,
    /// What those who pursue goals are to give: the output, where it is declared, and the node of a sequence it is for.
    inner: Vec<(Name, NodeLocation, String)>,
}

#[derive(Debug)]
pub(crate) struct Symbol {
    pub(crate) ty: Type,
    pub(crate) secret: bool,
    pub(crate) input: bool,
    /// How often it gets a value.
    pub(crate) times: usize,
    makers: Vec<ValueMaker>,
}

#[derive(Debug)]
struct ValueMaker {
    label: String,
    /// The number of its sequence.
    sequence: usize,
    /// It has a condition of its own, or its sequence has one.
    conditional: (bool, bool),
}

impl Symbols {
    pub(crate) fn collect(workflow: &Workflow, place: &NodeLocation, problems: &mut ProblemList) -> Self {
        let mut symbols = Self::default();
        for input in &workflow.inputs {
            symbols.input(input, place, problems);
        }
        let mut seen: HashMap<&str, Vec<&Node>> = HashMap::new();
        for (index, sequence) in workflow.sequences.iter().enumerate() {
            let place = place.below(&sequence.name, GoalNodeKind::Sequence);
            let parallel = sequence.order == Order::Parallel;
            for node in &sequence.nodes {
                symbols.node(node, &place, (index, parallel, sequence.when.is_some()), &mut seen, problems);
            }
            symbols
                .others
                .entry(sequence.name.clone())
                .or_insert_with(|| "it is a sequence; name one of its goals".into());
        }
        symbols.inner_outputs(problems);
        symbols
    }

    fn input(&mut self, input: &Input, place: &NodeLocation, problems: &mut ProblemList) {
        if !is_value_name(&input.name) {
            problems.add(place, ProblemKind::BadValueName { what: "input", name: input.name.clone() });
        }
        if self.values.contains_key(&input.name) {
            problems.add(place, ProblemKind::DuplicateInput { input: input.name.clone() });
            return;
        }
        let symbol =
            Symbol { ty: input.ty.clone(), secret: input.secret, input: true, times: 1, makers: Vec::new() };
        self.values.insert(input.name.clone(), symbol);
    }

    /// What a node of a sequence makes.
    fn node<'w>(
        &mut self,
        node: &'w Node,
        place: &NodeLocation,
        (sequence, parallel, guarded): (usize, bool, bool),
        seen: &mut HashMap<&'w str, Vec<&'w Node>>,
        problems: &mut ProblemList,
    ) {
        let (outputs, using, when) = match node {
            Node::Goal(goal) => (&goal.outputs, &goal.using[..], goal.when.is_some()),
            Node::Agent(agent) => (&agent.outputs, &[][..], false),
        };
        let reference = NodeRef::from(node);
        let name: Name = reference.name().into();
        let place = place.below(&name, reference.kind());
        // The same node in another place makes the same values again.
        let of_that_name = seen.entry(reference.name()).or_default();
        let again = of_that_name.contains(&node);
        of_that_name.push(node);
        let result = Output::new(name.clone());
        let own = outputs.iter().all(|output| output.name != name).then_some(&result);
        for output in own.into_iter().chain(outputs) {
            let maker = ValueMaker { label: place.label(), sequence, conditional: (when, guarded) };
            self.define(output, maker, (parallel, again), &place, problems);
        }
        for inner in using {
            self.inner(inner, &place.label(), &place);
        }
    }

    /// What stands below a goal makes nothing that others see.
    fn inner(&mut self, node: &Node, top: &str, place: &NodeLocation) {
        let (outputs, using) = match node {
            Node::Goal(goal) => (&goal.outputs, &goal.using[..]),
            Node::Agent(agent) => (&agent.outputs, &[][..]),
        };
        let reference = NodeRef::from(node);
        let (user, place) = (place.label(), place.below(&reference.name().into(), reference.kind()));
        let label = place.label();
        for output in outputs {
            self.inner.push((output.name.clone(), place.clone(), top.to_owned()));
            self.others.entry(output.name.clone()).or_insert_with(|| {
                format!(
                    "it is an output of {label}, which only {user} sees; give that an output of this name"
                )
            });
        }
        self.others
            .entry(reference.name().into())
            .or_insert_with(|| format!("it is {label}, whose result only {user} sees; name that"));
        for inner in using {
            self.inner(inner, top, &place);
        }
    }

    /// What an agent gives is kept under its name, so it takes the place of a value that another node made.
    fn inner_outputs(&mut self, problems: &mut ProblemList) {
        for (output, place, top) in std::mem::take(&mut self.inner) {
            let Some(known) = self.values.get(&output) else { continue };
            if known.input || known.makers.iter().all(|maker| maker.label != top) {
                let other = if known.input { "the input of this name" } else { known.maker() }.to_owned();
                problems.add(&place, ProblemKind::Overwritten { value: output, other });
            }
        }
    }

    fn define(
        &mut self,
        output: &Output,
        maker: ValueMaker,
        (parallel, again): (bool, bool),
        place: &NodeLocation,
        problems: &mut ProblemList,
    ) {
        let value = output.name.clone();
        let Some(known) = self.values.get_mut(&value) else {
            let symbol =
                Symbol { ty: output.ty.clone(), secret: false, input: false, times: 1, makers: vec![maker] };
            self.values.insert(value, symbol);
            return;
        };
        known.times += 1;
        let last = known.makers.last();
        let other = last.map_or_else(|| "the input of this name".to_owned(), |maker| maker.label.clone());
        let may_skip = |maker: &ValueMaker| maker.conditional.0 || maker.conditional.1;
        // Nodes with conditions may be alternatives.
        let exclusive = !known.input && may_skip(&maker) && known.makers.iter().all(may_skip);
        let beside = |other: &&ValueMaker| {
            other.sequence == maker.sequence && (again || !(other.conditional.0 && maker.conditional.0))
        };
        let conflict = known.makers.iter().rev().find(beside).filter(|_| parallel);
        if known.secret {
            let why = "is given another value here, and texts would show it; give the output another name";
            problems.add(place, ProblemKind::SecretShown { input: value, why });
        } else if known.ty != output.ty {
            let one = (known.ty.clone(), other);
            problems.add(place, ProblemKind::TwoTypes { value, one, other: output.ty.clone() });
        } else if let Some(conflict) = conflict {
            problems.add(place, ProblemKind::Conflict { value, other: conflict.label.clone() });
        } else if !again && !exclusive {
            problems.add(place, ProblemKind::Overwritten { value, other });
        }
        known.makers.push(maker);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Symbol> {
        self.values.get(name)
    }

    /// The name itself, if it is a value's.
    pub(crate) fn name(&self, name: &str) -> Option<&Name> {
        self.values.get_key_value(name).map(|(name, _)| name)
    }

    /// Why a name is no value.
    pub(crate) fn unknown(&self, name: &str) -> ProblemKind {
        let variable: Name = name.into();
        if let Some(what) = self.others.get(name) {
            return ProblemKind::NotAValue { variable, what: what.clone() };
        }
        let mut names: Vec<&str> = self.values.keys().map(|name| &**name).collect();
        // Sorted, so that of two names that are equally near it is always the same one that is suggested.
        names.sort_unstable();
        let meant = nearest(name, names).map(Name::from);
        ProblemKind::Undeclared { variable, meant }
    }
}

impl Symbol {
    /// Who makes it first.
    pub(crate) fn maker(&self) -> &str {
        self.makers.first().map_or("", |maker| &maker.label)
    }
}
