//! The merge step: several sources of the same thing, merged into one.

use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Outline, Scope, SharedStep, Step};

use crate::fan::{Branch, BranchOutcome, fan_out};
use crate::{BuildError, Join};

/// Runs several steps that give the same kind of thing, and merges what those that finished gave.
///
/// The [`Join`] says which must have finished: all, any, so many, certain ones by name, or whatever a condition says.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Join, Merge, func};
///
/// let merge = Merge::builder("fastest", Join::any().cancel_rest(), |_: &u32| 0_u32)
///     .source(func("one", |n: &mut u32| { *n = 1; Ok::<_, Error>(()) }))
///     .source(func("two", |n: &mut u32| { *n = 2; Ok::<_, Error>(()) }))
///     .merge(|total, finished| {
///         *total = finished.iter().map(|source| source.value).sum();
///         Ok::<_, Error>(())
///     })?;
/// # Ok::<(), convoke_steps::BuildError>(())
/// ```
pub struct Merge<S, B> {
    parts: Parts<S, B>,
    merge: MergeFunction<S, B>,
}

/// Puts a [`Merge`] together; [`merge`](Self::merge) finishes it.
#[must_use = "a builder does nothing until `merge` finishes it"]
pub struct MergeBuilder<S, B>(Parts<S, B>);

type MergeFunction<S, B> = Box<dyn Fn(&mut S, Vec<MergedSource<B>>) -> Result<(), Error> + Send + Sync>;

struct Parts<S, B> {
    name: String,
    join: Join,
    fork: Box<dyn Fn(&S) -> B + Send + Sync>,
    sources: Vec<SharedStep<B>>,
    limit: Option<NonZeroUsize>,
}

/// The value of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergedSource<B> {
    /// The source's name.
    pub source: String,
    /// What it gave.
    pub value: B,
}

impl<S: Send + 'static, B: Send + 'static> Merge<S, B> {
    /// A merge; `fork` gives what each source starts from.
    pub fn builder(
        name: impl Into<String>,
        join: Join,
        fork: impl Fn(&S) -> B + Send + Sync + 'static,
    ) -> MergeBuilder<S, B> {
        MergeBuilder(Parts {
            name: name.into(),
            join,
            fork: Box::new(fork),
            sources: Vec::new(),
            limit: None,
        })
    }
}

impl<S: Send + 'static, B: Send + 'static> MergeBuilder<S, B> {
    /// Adds a source.
    pub fn source(mut self, step: impl Step<B> + 'static) -> Self {
        self.0.sources.push(Arc::new(step));
        self
    }

    /// Limits how many sources run at once.
    pub fn concurrency(mut self, sources: NonZeroUsize) -> Self {
        self.0.limit = Some(sources);
        self
    }

    /// Says how what the sources gave, in declared order, is merged, and gives the step.
    ///
    /// # Errors
    /// If two sources have the same name, or the join needs sources that are not there.
    pub fn merge<E>(
        self,
        merge: impl Fn(&mut S, Vec<MergedSource<B>>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Merge<S, B>, BuildError>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let parts = self.0;
        parts.join.check(&parts.name, parts.sources.iter().map(|source| source.name()))?;
        let merge: MergeFunction<S, B> =
            Box::new(move |state, finished| merge(state, finished).map_err(Error::failed));
        Ok(Merge { parts, merge })
    }
}

impl<S: Send + 'static, B: Send + 'static> Step<S> for Merge<S, B> {
    fn name(&self) -> &str {
        &self.parts.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let Parts { join, fork, sources, limit, .. } = &self.parts;
        let branches = sources.iter().map(|source| Branch::new(scope, source, fork(state))).collect();
        Box::pin(async move {
            let mut finished = Vec::new();
            for branch in fan_out(scope, join, *limit, branches).await? {
                if let BranchOutcome::Succeeded(value) = branch.end {
                    finished.push(MergedSource { source: branch.name.to_string(), value });
                }
            }
            (self.merge)(state, finished)
        })
    }

    fn kind(&self) -> &'static str {
        "merge"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(self.name(), self.kind(), self.parts.sources.iter().map(|source| source.outline()))
    }
}
