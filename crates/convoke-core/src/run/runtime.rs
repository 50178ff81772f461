//! The runtime: the store, model, responder and observers that runs share.

use std::sync::Arc;
use std::time::Duration;

use super::settings_methods::settings_methods;
use super::start::Start;
use super::{Services, State, Workflow};
use crate::ask::{AnswerTerms, Expiry, Responder};
use crate::event::Observer;
use crate::intercept::{Interceptor, InterceptorStack};
use crate::scope::Settings;
use crate::store::Store;
use crate::{Error, OnDoubt, RunId};

/// Set to anything but `0` or nothing, real models are refused. For test suites.
pub const FORBID_LIVE_MODELS: &str = "CONVOKE_FORBID_LIVE_MODELS";

/// How long a run waits for time or mail before it is suspended, unless said otherwise.
pub(crate) const USUAL_PATIENCE: Duration = Duration::from_secs(300);

/// Runs workflows. Cheap to clone.
///
/// ```
/// use convoke_core::{BoxFuture, Error, Runtime, Scope, Step, Workflow};
///
/// struct Double;
/// impl Step<u64> for Double {
///     fn name(&self) -> &str { "double" }
///     fn run<'a>(&'a self, _: &'a Scope, state: &'a mut u64) -> BoxFuture<'a, Result<(), Error>> {
///         Box::pin(async move { *state *= 2; Ok(()) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// let outcome = Runtime::new().start(&Workflow::new(Double), 21).await?;
/// assert_eq!(outcome.completed()?, 42);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Runtime {
    pub(crate) services: Arc<Services>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime {
    /// A runtime without a store, a model or anybody to answer: runs last as long as the process.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder {
            store: None,
            responder: None,
            observers: Vec::new(),
            interceptors: Vec::new(),
            settings: Settings::default(),
            answers: AnswerTerms::default(),
            on_doubt: OnDoubt::default(),
            patience: USUAL_PATIENCE,
            waits_out_time: false,
            forbid_live_models: std::env::var(FORBID_LIVE_MODELS)
                .is_ok_and(|value| !value.is_empty() && value != "0"),
        }
    }

    /// A run of a workflow, not begun yet: await it, or [`stream`](Start::stream) it.
    ///
    /// With [`id`](Start::id), a run that exists already is resumed instead, so a program that is started again after a
    /// crash needs no other code than the first time.
    pub fn start<S: State>(&self, workflow: &Workflow<S>, state: S) -> Start<S> {
        Start::new(self.clone(), workflow.clone(), state)
    }

    /// A run that exists already, not resumed yet.
    pub fn resume<S: State>(&self, workflow: &Workflow<S>, run: RunId) -> Start<S> {
        Start::resuming(self.clone(), workflow.clone(), run)
    }

    /// The store.
    ///
    /// # Errors
    /// If there is none.
    pub fn store(&self) -> Result<&Arc<dyn Store>, Error> {
        self.services.store.as_ref().ok_or_else(|| {
            Error::Refused(
                "this needs a store: give the runtime one with `Runtime::builder().store(…)`".into(),
            )
        })
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Runtime")
            .field("store", &self.services.store.is_some())
            .field("settings", &self.services.settings)
            .finish_non_exhaustive()
    }
}

/// Puts a [`Runtime`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct RuntimeBuilder {
    store: Option<Arc<dyn Store>>,
    responder: Option<Arc<dyn Responder>>,
    observers: Vec<Arc<dyn Observer>>,
    interceptors: Vec<Arc<dyn Interceptor>>,
    settings: Settings,
    answers: AnswerTerms,
    on_doubt: OnDoubt,
    patience: Duration,
    waits_out_time: bool,
    forbid_live_models: bool,
}

impl RuntimeBuilder {
    settings_methods!();

    /// Keeps runs here. Without it they end with the process.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Keeps runs here, in a store that others use too.
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the responder that answers questions. Without it, a question suspends the run.
    pub fn responder(mut self, responder: impl Responder + 'static) -> Self {
        self.responder = Some(Arc::new(responder));
        self
    }

    /// Says who may answer questions that do not say it themselves; without anybody, everybody may. A question that is open stays as it
    /// was asked, and what is said next in a [conversation](crate::Question::turn) anybody may say.
    pub fn answered_by<T: Into<String>>(mut self, people: impl IntoIterator<Item = T>) -> Self {
        self.answers.audience = people.into_iter().map(Into::into).collect();
        self
    }

    /// Says how long questions wait that do not say it themselves; then they are rejected. `None`: as long as it takes. It holds for
    /// the questions that [`answered_by`](Self::answered_by) holds for.
    pub fn answered_within(mut self, time: Option<Duration>) -> Self {
        self.answers.expiry = time.map(Expiry::rejecting);
        self
    }

    /// Tells somebody every event of every run.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Tells this about every effect of every run before and after it is performed. Of several, the first added is asked
    /// first; whichever does not allow an effect decides. Two of one name are refused when a run is to begin.
    pub fn interceptor(self, interceptor: impl Interceptor + 'static) -> Self {
        self.shared_interceptor(Arc::new(interceptor))
    }

    /// Adds an interceptor that others use too.
    pub fn shared_interceptor(mut self, interceptor: Arc<dyn Interceptor>) -> Self {
        self.interceptors.push(interceptor);
        self
    }

    /// Sets what to do about calls that were begun before a crash and may have taken effect.
    pub fn on_doubt(mut self, policy: OnDoubt) -> Self {
        self.on_doubt = policy;
        self
    }

    /// Sets how long a run with a store waits here for time to pass or mail to come; five minutes unless said otherwise. Then it is
    /// suspended, and whoever goes on with it, an [`Attendant`](crate::Attendant) above all, does so when what it waits for is
    /// there.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Waits here for time to pass however long that takes: patience is for what others send.
    pub fn waits_out_time(mut self, waits_out_time: bool) -> Self {
        self.waits_out_time = waits_out_time;
        self
    }

    /// Refuses real models, as the environment variable [`FORBID_LIVE_MODELS`] does for a whole process.
    pub fn forbid_live_models(mut self) -> Self {
        self.forbid_live_models = true;
        self
    }

    /// The runtime.
    #[must_use]
    pub fn build(self) -> Runtime {
        let services = Services {
            store: self.store,
            responder: self.responder,
            observers: self.observers,
            feed: Arc::default(),
            around: InterceptorStack::of(self.interceptors),
            settings: Arc::new(self.settings),
            answers: self.answers,
            on_doubt: self.on_doubt,
            patience: self.patience,
            waits_out_time: self.waits_out_time,
            forbid_live_models: self.forbid_live_models,
        };
        Runtime { services: Arc::new(services) }
    }
}
