//! The map step: the same step for every item of a collection.

use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Outline, Scope, SharedStep, Step};

use crate::Join;
use crate::fan::{Branch, BranchOutcome, fan_out};

/// Runs the same step for every item of a collection, so many at once, and collects the items it made of them.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Join, Map, func};
///
/// let double = func("double", |n: &mut u32| { *n *= 2; Ok::<_, Error>(()) });
/// let map = Map::new("each", Join::all().cancel_rest(), |all: &Vec<u32>| all.clone(), double, |all, mapped| {
///     *all = mapped.into_iter().filter_map(|item| item.result.ok()).collect();
/// });
/// ```
pub struct Map<S, T> {
    name: String,
    join: Join,
    items: Items<S, T>,
    body: SharedStep<T>,
    collect: Collect<S, T>,
    limit: Option<NonZeroUsize>,
}

type Items<S, T> = Box<dyn Fn(&S) -> Vec<T> + Send + Sync>;
type Collect<S, T> = Box<dyn Fn(&mut S, Vec<MappedItem<T>>) + Send + Sync>;

/// The result for one item.
#[derive(Debug)]
#[non_exhaustive]
pub struct MappedItem<T> {
    /// The item's place in the collection.
    pub index: usize,
    /// What the step made of it, or why it could not.
    pub result: Result<T, Error>,
}

impl<S: Send + 'static, T: Send + 'static> Map<S, T> {
    /// Runs `body` for each of `items`; `collect` gets those that succeeded, and those that failed if the join forgives
    /// that, in the order of the items. Items that were not needed are missing.
    pub fn new(
        name: impl Into<String>,
        join: Join,
        items: impl Fn(&S) -> Vec<T> + Send + Sync + 'static,
        body: impl Step<T> + 'static,
        collect: impl Fn(&mut S, Vec<MappedItem<T>>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            join,
            items: Box::new(items),
            body: Arc::new(body),
            collect: Box::new(collect),
            limit: None,
        }
    }

    /// Limits how many items are worked on at once.
    #[must_use]
    pub fn concurrency(mut self, items: NonZeroUsize) -> Self {
        self.limit = Some(items);
        self
    }
}

impl<S: Send + 'static, T: Send + 'static> Step<S> for Map<S, T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let items = (self.items)(state).into_iter();
        let branches = items.map(|item| Branch::new(scope, &self.body, item)).collect();
        Box::pin(async move {
            let mut mapped = Vec::new();
            for (index, branch) in
                fan_out(scope, &self.join, self.limit, branches).await?.into_iter().enumerate()
            {
                match branch.end {
                    BranchOutcome::Succeeded(item) => mapped.push(MappedItem { index, result: Ok(item) }),
                    BranchOutcome::Failed(error) => mapped.push(MappedItem { index, result: Err(error) }),
                    BranchOutcome::Stopped(_) | BranchOutcome::Abandoned => {}
                }
            }
            (self.collect)(state, mapped);
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "map"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        Outline::composite(&self.name, self.kind(), [self.body.outline()])
    }
}
