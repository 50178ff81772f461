//! Limits and settings for any step.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use convoke_core::{
    Bounds, BoxFuture, Error, FailurePolicy, Limits, Model, ModelParams, Nature, Outline, Scope, Settings,
    SettingsChange, Step,
};

/// A step with limits and settings of its own. See [`StepExt`].
pub struct Bounded<T> {
    step: T,
    own: Bounds,
    /// With those the step has itself. Put together late: what it has depends on the state's type, in theory.
    bounds: OnceLock<Bounds>,
}

/// Limits and settings for every step. Of two limits of one kind the narrower one holds, of two settings the last one.
///
/// ```
/// use convoke_core::{Error, Limits};
/// use convoke_steps::{Chain, StepExt, func};
/// use std::time::Duration;
///
/// let careful = Chain::new("careful")
///     .then(func("work", |_: &mut u32| Ok::<_, Error>(())))
///     .timeout(Duration::from_secs(30))
///     .limits(Limits::default().model_calls(5));
/// ```
pub trait StepExt: Sized {
    /// Limits how long it may take as a whole, over the life of a run. A limit that ended the run is given anew to whoever resumes it.
    fn timeout(self, limit: Duration) -> Bounded<Self> {
        self.bounded(|bounds| bounds.timeout = Some(limit))
    }

    /// Limits what it may use as a whole.
    fn limits(self, limits: Limits) -> Bounded<Self> {
        self.bounded(|bounds| bounds.limits = Some(limits))
    }

    /// Limits how long each leaf in it may take, whatever it waits for; `None` takes a limit set further out off.
    fn leaf_timeout(self, limit: Option<Duration>) -> Bounded<Self> {
        self.changing(move |settings| settings.leaf_timeout = limit)
    }

    /// Limits how many branches of each fan-out in it run at once.
    fn max_concurrency(self, branches: NonZeroUsize) -> Bounded<Self> {
        self.changing(move |settings| settings.max_concurrency = Some(branches))
    }

    /// Sets the model for the steps in it that name none.
    fn default_model(self, model: impl Model + 'static) -> Bounded<Self> {
        let model: Arc<dyn Model> = Arc::new(model);
        self.changing(move |settings| settings.model = Some(Arc::clone(&model)))
    }

    /// Overrides sampling parameters of the steps in it. What the run sets overrides these in turn.
    fn params(self, params: ModelParams) -> Bounded<Self> {
        self.changing(move |settings| settings.params = params.overridden_by(&settings.params))
    }

    /// Decides what happens when a step of a chain or loop in it fails.
    fn on_failure(self, policy: impl FailurePolicy + 'static) -> Bounded<Self> {
        let policy: Arc<dyn FailurePolicy> = Arc::new(policy);
        self.changing(move |settings| settings.on_failure = Some(Arc::clone(&policy)))
    }

    #[doc(hidden)]
    fn changing(self, change: impl Fn(&mut Settings) + Send + Sync + 'static) -> Bounded<Self> {
        self.bounded(|bounds| bounds.settings = Some(SettingsChange::new(change)))
    }

    #[doc(hidden)]
    fn bounded(self, change: impl FnOnce(&mut Bounds)) -> Bounded<Self> {
        let mut own = Bounds::default();
        change(&mut own);
        Bounded { step: self, own, bounds: OnceLock::new() }
    }
}

impl<T> StepExt for T {}

impl<S, T: Step<S>> Step<S> for Bounded<T> {
    fn name(&self) -> &str {
        self.step.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        self.step.run(scope, state)
    }

    fn kind(&self) -> &'static str {
        self.step.kind()
    }

    fn nature(&self) -> Nature {
        self.step.nature()
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(self.bounds.get_or_init(|| match self.step.bounds() {
            Some(inner) => inner.and(&self.own),
            None => self.own.clone(),
        }))
    }

    fn outline(&self) -> Outline {
        self.step.outline()
    }
}
