//! The parallel step: different steps side by side.

use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Outline, Scope, SharedStep, Step};

use crate::fan::{Branch, BranchOutcome, FinishedBranch, fan_out};
use crate::{BuildError, Join};

/// Runs different steps side by side, each on a state of its own, and joins what they did in declared order.
///
/// A branch works on a clone of the state ([`branch`](ParallelBuilder::branch)) or on a part of it
/// ([`project`](ParallelBuilder::project)); it never sees what another branch does. Its join function takes over what
/// is wanted, in the order the branches were declared, whichever finished first.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Join, Parallel, func};
///
/// #[derive(Clone, Default)]
/// struct Report { left: u32, right: u32 }
///
/// let parallel = Parallel::builder("both", Join::all().cancel_rest())
///     .branch(func("left", |r: &mut Report| { r.left = 1; Ok::<_, Error>(()) }), |r, done| r.left = done.left)
///     .branch(func("right", |r: &mut Report| { r.right = 2; Ok::<_, Error>(()) }), |r, done| r.right = done.right)
///     .build()?;
/// # Ok::<(), convoke_steps::BuildError>(())
/// ```
pub struct Parallel<S> {
    name: String,
    join: Join,
    branches: Vec<Box<dyn Fork<S>>>,
    finally: Option<Finally<S>>,
    limit: Option<NonZeroUsize>,
}

/// Puts a [`Parallel`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct ParallelBuilder<S>(Parallel<S>);

type Apply<S> = Box<dyn FnOnce(&mut S) + Send>;
type Finally<S> = Box<dyn Fn(&mut S, &BranchReport) -> Result<(), Error> + Send + Sync>;

/// A report on the branches, in declared order.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BranchReport {
    /// The names of those that succeeded.
    pub succeeded: Vec<String>,
    /// The names of those that failed, and why.
    pub failed: Vec<(String, Error)>,
    /// The names of those that were not needed.
    pub abandoned: Vec<String>,
}

/// A branch whose own state's type is hidden.
trait Fork<S>: Send + Sync {
    fn open(&self, scope: &Scope, state: &S) -> Branch<Apply<S>>;
    fn name(&self) -> &str;
    fn outline(&self) -> Outline;
}

struct Projection<S, B> {
    step: SharedStep<B>,
    fork: Box<dyn Fn(&S) -> B + Send + Sync>,
    join: TakeOver<S, B>,
}

type TakeOver<S, B> = Arc<dyn Fn(&mut S, B) + Send + Sync>;

impl<S: 'static, B: Send + 'static> Fork<S> for Projection<S, B> {
    fn open(&self, scope: &Scope, state: &S) -> Branch<Apply<S>> {
        let join = Arc::clone(&self.join);
        let apply = move |own| -> Apply<S> { Box::new(move |state| join(state, own)) };
        Branch::giving(scope, &self.step, (self.fork)(state), apply)
    }

    fn name(&self) -> &str {
        self.step.name()
    }

    fn outline(&self) -> Outline {
        self.step.outline()
    }
}

impl<S: Send + 'static> Parallel<S> {
    /// A fan-out with this join.
    pub fn builder(name: impl Into<String>, join: Join) -> ParallelBuilder<S> {
        ParallelBuilder(Self { name: name.into(), join, branches: Vec::new(), finally: None, limit: None })
    }

    fn report(ended: &[FinishedBranch<Apply<S>>]) -> BranchReport {
        let mut report = BranchReport::default();
        for branch in ended {
            let name = branch.name.to_string();
            match &branch.end {
                BranchOutcome::Succeeded(_) => report.succeeded.push(name),
                BranchOutcome::Failed(error) => report.failed.push((name, error.clone())),
                BranchOutcome::Stopped(_) | BranchOutcome::Abandoned => report.abandoned.push(name),
            }
        }
        report
    }
}

impl<S: Send + 'static> ParallelBuilder<S> {
    /// Adds a branch that works on a clone of the state.
    pub fn branch(
        self,
        step: impl Step<S> + 'static,
        join: impl Fn(&mut S, S) + Send + Sync + 'static,
    ) -> Self
    where
        S: Clone,
    {
        self.project(step, S::clone, join)
    }

    /// Adds a branch that works on a part of the state.
    pub fn project<B: Send + 'static>(
        mut self,
        step: impl Step<B> + 'static,
        fork: impl Fn(&S) -> B + Send + Sync + 'static,
        join: impl Fn(&mut S, B) + Send + Sync + 'static,
    ) -> Self {
        let branch = Projection { step: Arc::new(step), fork: Box::new(fork), join: Arc::new(join) };
        self.0.branches.push(Box::new(branch));
        self
    }

    /// Runs after the joins, and is told what became of each branch.
    pub fn finally<E>(
        mut self,
        finally: impl Fn(&mut S, &BranchReport) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.0.finally = Some(Box::new(move |state, report| finally(state, report).map_err(Error::failed)));
        self
    }

    /// Limits how many branches run at once.
    pub fn concurrency(mut self, branches: NonZeroUsize) -> Self {
        self.0.limit = Some(branches);
        self
    }

    /// The step.
    ///
    /// # Errors
    /// If two branches have the same name, or the join needs branches that are not there.
    pub fn build(self) -> Result<Parallel<S>, BuildError> {
        let Self(parallel) = self;
        parallel.join.check(&parallel.name, parallel.branches.iter().map(|branch| branch.name()))?;
        Ok(parallel)
    }
}

impl<S: Send + 'static> Step<S> for Parallel<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let branches = self.branches.iter().map(|branch| branch.open(scope, state)).collect();
        Box::pin(async move {
            let ended = fan_out(scope, &self.join, self.limit, branches).await?;
            let report = Self::report(&ended);
            for branch in ended {
                if let BranchOutcome::Succeeded(apply) = branch.end {
                    apply(state);
                }
            }
            match &self.finally {
                Some(finally) => finally(state, &report),
                None => Ok(()),
            }
        })
    }

    fn kind(&self) -> &'static str {
        "parallel"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(&self.name, self.kind(), self.branches.iter().map(|branch| branch.outline()))
    }
}
