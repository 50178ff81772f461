//! The `Step` trait, which everything that can be run implements.
//!
//! A step does some work on a state `S` and reports through its [`Scope`]. A single function, a prompt, an agent, a
//! chain of a thousand steps and a whole goal tree are all steps, so they nest without limits and whatever the kernel
//! gives (journal, replay, events, budgets, cancellation, questions) each of them has.
//!
//! There is no second method for streaming. A step emits events through its scope; whether anybody listens is not its
//! concern.
//!
//! # The one rule
//! Whatever is not a pure function of the state (a model, a tool, a person, the clock, randomness, the network) goes
//! through the scope. The scope writes it to the journal, and that is why a run can be killed and resumed: the step
//! runs again, and every effect it had finished answers from the journal.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Limits, Scope, Settings};

/// A boxed future that may be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Work on a state `S`.
///
/// Composite steps run their children with [`Scope::run`], never by calling `run` directly: that is what gives each
/// child its own path, its paired events, its time limit and its isolation from panics. What else they need is behind one door,
/// [`Scope::composing`].
///
/// ```
/// use convoke_core::{BoxFuture, Error, Scope, Step};
///
/// /// Doubles a number.
/// struct Double;
///
/// impl Step<u64> for Double {
///     fn name(&self) -> &str {
///         "double"
///     }
///
///     fn run<'a>(&'a self, _scope: &'a Scope, state: &'a mut u64) -> BoxFuture<'a, Result<(), Error>> {
///         Box::pin(async move {
///             *state *= 2;
///             Ok(())
///         })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a step over `{S}`",
    note = "the steps of a chain, a loop or a router all work on the same type of state",
    note = "a builder is a step once it is finished: `text`, `json`, `store`, `discard`, `merge`, `build`"
)]
pub trait Step<S>: Send + Sync {
    /// The step's name: a segment of its path, and what users see.
    fn name(&self) -> &str;

    /// Does the work.
    ///
    /// # Errors
    /// Why it stopped; see [`Error`].
    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>>;

    /// What kind of step it is, for events and pictures: `func`, `prompt`, `chain`, ...
    fn kind(&self) -> &'static str {
        "step"
    }

    /// Whether the leaf timeout applies to it.
    fn nature(&self) -> Nature {
        Nature::Leaf
    }

    /// Limits and settings that hold for it and everything below it. The kernel applies them when it runs the step.
    fn bounds(&self) -> Option<&Bounds> {
        None
    }

    /// What it is made of, for pictures and inspection.
    fn outline(&self) -> Outline {
        Outline::leaf(self.name(), self.kind())
    }
}

/// Limits and settings of one step. They narrow what the step's parent has, and never widen it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Bounds {
    /// The longest the step may take as a whole, whatever it is made of.
    pub timeout: Option<Duration>,
    /// What it may use as a whole.
    pub limits: Option<Limits>,
    /// Other settings for it and the steps below it.
    pub settings: Option<SettingsChange>,
}

impl Bounds {
    /// Both: of two limits the narrower one holds, and settings are changed by these first, then by the others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let settings = match (self.settings.clone(), others.settings.clone()) {
            (Some(first), Some(then)) => Some(first.then(then)),
            (first, then) => first.or(then),
        };
        let limits = match (&self.limits, &others.limits) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        Self { timeout: self.timeout.into_iter().chain(others.timeout).min(), limits, settings }
    }
}

/// A change of settings, made when the settings it changes are known.
#[derive(Clone)]
pub struct SettingsChange(Arc<dyn Fn(&mut Settings) + Send + Sync>);

impl SettingsChange {
    /// A change.
    pub fn new(change: impl Fn(&mut Settings) + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }

    /// Chains another change after this one.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self::new(move |settings| {
            (self.0)(settings);
            (next.0)(settings);
        })
    }

    pub(crate) fn apply(&self, settings: &mut Settings) {
        (self.0)(settings);
    }
}

impl std::fmt::Debug for SettingsChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SettingsChange")
    }
}

/// The nature of a step: whether it works itself or runs others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// It works itself: the leaf timeout bounds it if there is one, and it is dropped when its time is up.
    Leaf,
    /// It runs other steps or effects, each bounded on its own; only a timeout set on it by name bounds it as a whole.
    Composite,
}

/// A step's inner structure.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Outline {
    /// The step's name.
    pub name: String,
    /// The step's kind.
    pub kind: &'static str,
    /// The steps it runs, in declared order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Outline>,
}

impl Outline {
    /// A step without children.
    #[must_use]
    pub fn leaf(name: impl Into<String>, kind: &'static str) -> Self {
        Self { name: name.into(), kind, children: Vec::new() }
    }

    /// A step with children.
    #[must_use]
    pub fn composite(
        name: impl Into<String>,
        kind: &'static str,
        children: impl IntoIterator<Item = Outline>,
    ) -> Self {
        Self { name: name.into(), kind, children: children.into_iter().collect() }
    }
}

/// A shared step, as composites hold their children.
pub type SharedStep<S> = Arc<dyn Step<S>>;

macro_rules! delegate_step {
    ($pointer:ty) => {
        impl<S, T: Step<S> + ?Sized> Step<S> for $pointer {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
                (**self).run(scope, state)
            }

            fn kind(&self) -> &'static str {
                (**self).kind()
            }

            fn nature(&self) -> Nature {
                (**self).nature()
            }

            fn bounds(&self) -> Option<&Bounds> {
                (**self).bounds()
            }

            fn outline(&self) -> Outline {
                (**self).outline()
            }
        }
    };
}

delegate_step!(Arc<T>);
delegate_step!(Box<T>);
