//! Workflows of any shape.

use std::sync::atomic::{AtomicU64, Ordering};

use convoke_core::{Error, Step, Workflow};
use convoke_steps::{
    Chain, Join, Loop, OnError, Parallel, Retry, RetryPolicy, Router, StepExt, func, task_boxed,
};
use proptest::prelude::*;

use crate::common::stored::{asks, says};
use crate::common::{Trail, add, fails, millis, waits};

/// What a workflow looks like.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Works,
    Fails,
    Panics,
    /// Fails so often, for a reason that passes.
    Flaky(u64),
    Speaks,
    Draws,
    Asks,
    /// Waits so many times 10 ms.
    Waits(u64),
    /// May take so many times 10 ms, and 5 ms more: never just as long as waits take together.
    Timed(u64, Box<Shape>),
    Chain(Vec<(Shape, Coping)>),
    Loop(u64, Box<Shape>, Coping),
    Route(bool, Box<Shape>, Box<Shape>),
    Retry(Box<Shape>),
    Fan(Vec<Shape>, Joining),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Coping {
    No,
    Fail,
    Continue,
    Stop,
    Fallback,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Joining {
    AllFinish,
    AnyFinish,
    Keep,
    AllCancel,
    AnyCancel,
}

fn coping() -> impl Strategy<Value = Coping> {
    prop::sample::select(vec![Coping::No, Coping::Fail, Coping::Continue, Coping::Stop, Coping::Fallback])
}

/// Shapes with these joins, and timeouts and questions this often.
pub(crate) fn shapes(
    joins: &[Joining],
    timeouts: u32,
    questions: u32,
) -> impl Strategy<Value = Shape> + use<> {
    let joins = joins.to_vec();
    let leaf = prop_oneof![
        4 => Just(Shape::Works),
        1 => Just(Shape::Fails),
        1 => Just(Shape::Panics),
        1 => (1_u64..4).prop_map(Shape::Flaky),
        3 => Just(Shape::Speaks),
        1 => Just(Shape::Draws),
        3 => (1_u64..6).prop_map(Shape::Waits),
        questions => Just(Shape::Asks),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let join = prop::sample::select(joins.clone());
        prop_oneof![
            3 => prop::collection::vec((inner.clone(), coping()), 0..4).prop_map(Shape::Chain),
            1 => (0_u64..3, boxed.clone(), coping()).prop_map(|(n, body, c)| Shape::Loop(n, body, c)),
            1 => (any::<bool>(), boxed.clone(), boxed.clone()).prop_map(|(b, one, two)| Shape::Route(b, one, two)),
            1 => boxed.clone().prop_map(Shape::Retry),
            timeouts => (0_u64..9, boxed).prop_map(|(time, step)| Shape::Timed(time, step)),
            2 => (prop::collection::vec(inner, 1..4), join).prop_map(|(all, join)| Shape::Fan(all, join)),
        ]
    })
}

impl Shape {
    /// A workflow of this shape.
    pub(crate) fn workflow(&self) -> Workflow<Trail> {
        Workflow::new(Builder(AtomicU64::new(0)).build(self)).named("random")
    }
}

/// Puts steps together, each with a name of its own.
struct Builder(AtomicU64);

type Built = Box<dyn Step<Trail>>;

impl Builder {
    fn name(&self) -> String {
        format!("s{}", self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn build(&self, shape: &Shape) -> Built {
        let name = self.name();
        match shape {
            Shape::Works => Box::new(add(&name)),
            Shape::Fails => Box::new(fails(&name)),
            Shape::Panics => {
                Box::new(func(name, |_: &mut Trail| -> Result<(), Error> { panic!("on purpose") }))
            }
            Shape::Flaky(failures) => Box::new(flaky(&name, *failures)),
            Shape::Speaks => Box::new(says(&name)),
            Shape::Draws => Box::new(task_boxed(name, |scope, trail: &mut Trail| {
                trail.steps.push(scope.random().to_string());
                Box::pin(async { Ok(()) })
            })),
            Shape::Asks => Box::new(asks(&name)),
            Shape::Waits(time) => Box::new(waits(&name, time * 10)),
            Shape::Timed(time, step) => Box::new(self.build(step).timeout(millis(time * 10 + 5))),
            Shape::Chain(members) => {
                let chain = Chain::new(name);
                Box::new(members.iter().fold(chain, |chain, (member, coping)| {
                    let step = self.build(member);
                    match self.on_error(*coping) {
                        Some(on_error) => chain.then_or(step, on_error),
                        None => chain.then(step),
                    }
                }))
            }
            Shape::Loop(times, body, coping) => {
                let looping = Loop::times(name, *times, self.build(body));
                Box::new(match self.on_error(*coping) {
                    Some(on_error) => looping.on_error(on_error),
                    None => looping,
                })
            }
            Shape::Route(first, one, two) => {
                let first = *first;
                Box::new(
                    Router::new(name)
                        .route("one", move |_| first, self.build(one))
                        .otherwise(self.build(two)),
                )
            }
            Shape::Retry(step) => Box::new(Retry::new(self.build(step), RetryPolicy::attempts(3).unwrap())),
            Shape::Fan(branches, joining) => Box::new(self.fan(&name, branches, *joining)),
        }
    }

    fn fan(&self, name: &str, branches: &[Shape], joining: Joining) -> Parallel<Trail> {
        let join = match joining {
            Joining::AllFinish => Join::all().finish_rest(),
            Joining::AnyFinish => Join::any().finish_rest(),
            Joining::Keep => Join::keep_succeeded(),
            Joining::AllCancel => Join::all().cancel_rest(),
            Joining::AnyCancel => Join::any().cancel_rest(),
        };
        let builder = branches.iter().fold(Parallel::builder(name, join), |builder, branch| {
            let take = |trail: &mut Trail, done: Trail| trail.steps.extend(done.steps);
            builder.project(self.build(branch), |_| Trail::default(), take)
        });
        builder.build().unwrap()
    }

    fn on_error(&self, coping: Coping) -> Option<OnError<Trail>> {
        match coping {
            Coping::No => None,
            Coping::Fail => Some(OnError::Fail),
            Coping::Continue => Some(OnError::Continue),
            Coping::Stop => Some(OnError::Stop),
            Coping::Fallback => Some(OnError::fallback(add(&self.name()))),
        }
    }
}

/// Fails so often with what passes, counted in the state.
fn flaky(name: &str, failures: u64) -> convoke_steps::Func<Trail> {
    func(name, move |trail: &mut Trail| {
        trail.count += 1;
        if trail.count.is_multiple_of(failures + 1) { Ok(()) } else { Err(Error::transient("busy")) }
    })
}
