//! The DAG step: steps that begin as soon as those they wait for are over.

use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Outline, Scope, SharedStep, Step};

use crate::fan::{Branch, BranchOutcome, fan_out};
use crate::{BuildError, Join, RemainingBranches};

/// Runs steps as soon as those they wait for have succeeded, so many at once as allowed.
///
/// A step works on a clone of the state that has what the steps before it did, directly or through others, and nothing else: what it
/// sees does not depend on timing. All steps must succeed; what comes after a step that failed is not run, and the rest is cancelled
/// or finishes.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Dag, RemainingBranches, func};
///
/// #[derive(Clone, Default)]
/// struct Report { left: u32, right: u32, sum: u32 }
///
/// let dag = Dag::builder("sum", RemainingBranches::Cancel)
///     .step(func("left", |r: &mut Report| { r.left = 1; Ok::<_, Error>(()) }), &[], |r, done| r.left = done.left)
///     .step(func("right", |r: &mut Report| { r.right = 2; Ok::<_, Error>(()) }), &[], |r, done| r.right = done.right)
///     .step(
///         func("add", |r: &mut Report| { r.sum = r.left + r.right; Ok::<_, Error>(()) }),
///         &["left", "right"],
///         |r, done| r.sum = done.sum,
///     )
///     .build()?;
/// # Ok::<(), convoke_steps::BuildError>(())
/// ```
pub struct Dag<S> {
    name: String,
    kind: &'static str,
    rest: RemainingBranches,
    limit: Option<NonZeroUsize>,
    nodes: Vec<DagNode<S>>,
}

struct DagNode<S> {
    step: SharedStep<S>,
    waits_for: Vec<String>,
    /// The numbers of all steps before it, directly or through others, in declared order.
    before: Vec<usize>,
    join: TakeOver<S>,
    condition: Option<Condition<S>>,
}

type TakeOver<S> = Arc<dyn Fn(&mut S, &S) + Send + Sync>;
type Condition<S> = Arc<dyn Fn(&S) -> bool + Send + Sync>;

/// Puts a [`Dag`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct DagBuilder<S>(Dag<S>);

impl<S: Clone + Send + Sync + 'static> Dag<S> {
    /// Steps that wait for each other; `rest` says what becomes of those that still run when one fails.
    pub fn builder(name: impl Into<String>, rest: RemainingBranches) -> DagBuilder<S> {
        DagBuilder(Self { name: name.into(), kind: "dag", rest, limit: None, nodes: Vec::new() })
    }

    /// The same, of a kind of its own for those who watch.
    #[must_use]
    pub fn of_kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// The branches, each with what it makes of what those before it gave.
    fn branches(&self, scope: &Scope, state: &S) -> Vec<Branch<S>> {
        let initial = Arc::new(state.clone());
        let joins: Arc<[TakeOver<S>]> = self.nodes.iter().map(|node| Arc::clone(&node.join)).collect();
        let branch = |node: &DagNode<S>| {
            let (initial, joins) = (Arc::clone(&initial), Arc::clone(&joins));
            let (before, condition) = (node.before.clone(), node.condition.clone());
            let enter = move |gave: &dyn Fn(usize) -> Option<S>| {
                let mut state = (*initial).clone();
                for number in before {
                    gave(number).iter().for_each(|done| joins[number](&mut state, done));
                }
                match condition {
                    Some(condition) if !condition(&state) => Err(state),
                    _ => Ok(state),
                }
            };
            Branch::after(scope, &node.step, node.before.clone(), enter)
        };
        self.nodes.iter().map(branch).collect()
    }
}

impl<S: Clone + Send + Sync + 'static> DagBuilder<S> {
    /// Adds a step that begins when the steps of these names are over; `join` takes over what it did.
    pub fn step(
        self,
        step: impl Step<S> + 'static,
        waits_for: &[&str],
        join: impl Fn(&mut S, &S) + Send + Sync + 'static,
    ) -> Self {
        self.shared_step(Arc::new(step), waits_for, join)
    }

    /// Adds a step that others have too.
    pub fn shared_step(
        mut self,
        step: SharedStep<S>,
        waits_for: &[&str],
        join: impl Fn(&mut S, &S) + Send + Sync + 'static,
    ) -> Self {
        let waits_for = waits_for.iter().map(ToString::to_string).collect();
        let join: TakeOver<S> = Arc::new(join);
        self.0.nodes.push(DagNode { step, waits_for, before: Vec::new(), join, condition: None });
        self
    }

    /// Runs the step that was added last only if this holds for the state it would begin with. One that is not run counts as over.
    pub fn when(mut self, condition: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        if let Some(last) = self.0.nodes.last_mut() {
            last.condition = Some(Arc::new(condition));
        }
        self
    }

    /// Limits how many steps run at once.
    pub fn concurrency(mut self, steps: NonZeroUsize) -> Self {
        self.0.limit = Some(steps);
        self
    }

    /// The step.
    ///
    /// # Errors
    /// If two steps have the same name, one waits for a step that there is none of, or some wait for each other.
    pub fn build(mut self) -> Result<Dag<S>, BuildError> {
        let (step, nodes) = (&self.0.name, &self.0.nodes);
        let number_of = |name: &str| nodes.iter().position(|node| node.step.name() == name);
        for (number, node) in nodes.iter().enumerate() {
            let name = node.step.name();
            if number_of(name) != Some(number) {
                return Err(BuildError::DuplicateName { step: step.clone(), name: name.to_owned() });
            }
            if let Some(name) = node.waits_for.iter().find(|name| number_of(name).is_none()) {
                return Err(BuildError::UnknownName { step: step.clone(), name: name.clone() });
            }
        }
        let direct: Vec<Vec<usize>> = nodes
            .iter()
            .map(|node| node.waits_for.iter().filter_map(|name| number_of(name)).collect())
            .collect();
        for number in 0..direct.len() {
            let before = reachable(&direct, number);
            if before.contains(&number) {
                let name = self.0.nodes[number].step.name().to_owned();
                return Err(BuildError::Cycle { step: self.0.name, name });
            }
            self.0.nodes[number].before = before;
        }
        Ok(self.0)
    }
}

/// The numbers of everything that a step waits for, directly or through others, in declared order.
fn reachable(direct: &[Vec<usize>], from: usize) -> Vec<usize> {
    let mut seen = vec![false; direct.len()];
    let mut open = direct[from].clone();
    while let Some(number) = open.pop() {
        if !std::mem::replace(&mut seen[number], true) {
            open.extend(&direct[number]);
        }
    }
    (0..direct.len()).filter(|number| seen[*number]).collect()
}

impl<S: Clone + Send + Sync + 'static> Step<S> for Dag<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let branches = self.branches(scope, state);
        Box::pin(async move {
            let join = match self.rest {
                RemainingBranches::Cancel => Join::all().cancel_rest(),
                RemainingBranches::Finish => Join::all().finish_rest(),
            };
            let ended = fan_out(scope, &join, self.limit, branches).await?;
            for (node, branch) in self.nodes.iter().zip(&ended) {
                if let BranchOutcome::Succeeded(done) = &branch.end {
                    (node.join)(state, done);
                }
            }
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(&self.name, self.kind(), self.nodes.iter().map(|node| node.step.outline()))
    }
}
