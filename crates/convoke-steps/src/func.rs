//! Steps that are plain functions.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use convoke_core::{BoxFuture, Error, Scope, Step};

/// Whatever the user's functions fail with.
type Boxed = Box<dyn std::error::Error + Send + Sync>;

type Function<S> = Box<dyn Fn(&mut S) -> Result<(), Error> + Send + Sync>;
type BoxedTask<S> =
    Box<dyn for<'a> Fn(&'a Scope, &'a mut S) -> BoxFuture<'a, Result<(), Error>> + Send + Sync>;

/// A function over the state. See [`func`].
pub struct Func<S> {
    name: String,
    function: Function<S>,
}

/// A step that computes: a pure function of the state.
///
/// It runs again when a run is resumed, so whatever it does besides changing the state belongs into a [`task`], through
/// its scope. It may fail with any error, or not at all.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::func;
///
/// let double = func("double", |number: &mut u64| {
///     *number = number.checked_mul(2).ok_or("too large")?;
///     Ok::<_, Error>(())
/// });
/// let forget = func("forget", |number: &mut u64| *number = 0);
/// ```
pub fn func<S, R: IntoStepResult>(
    name: impl Into<String>,
    function: impl Fn(&mut S) -> R + Send + Sync + 'static,
) -> Func<S> {
    Func { name: name.into(), function: Box::new(move |state| function(state).into_result()) }
}

/// The result of a step's function: nothing, or whether it succeeded. Never implemented by hand.
#[diagnostic::on_unimplemented(
    message = "a step's function gives back nothing, or a `Result<(), E>`, not `{Self}`",
    note = "what a step comes to is kept in its state: put it there"
)]
pub trait IntoStepResult {
    /// Whether it went well.
    ///
    /// # Errors
    /// What went wrong.
    fn into_result(self) -> Result<(), Error>;
}

impl IntoStepResult for () {
    fn into_result(self) -> Result<(), Error> {
        Ok(())
    }
}

impl<E: Into<Boxed>> IntoStepResult for Result<(), E> {
    fn into_result(self) -> Result<(), Error> {
        self.map_err(Error::failed)
    }
}

impl<S: Send> Step<S> for Func<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, _: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        match (self.function)(state) {
            Ok(()) => Box::pin(Done),
            failed => Box::pin(ready(failed)),
        }
    }

    fn kind(&self) -> &'static str {
        "func"
    }
}

/// A function has returned without an error. It has no size, so boxes of it take no room on the heap.
struct Done;

impl Future for Done {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

/// An asynchronous function over the state. See [`task`].
pub struct AsyncFunc<S> {
    name: String,
    function: BoxedTask<S>,
}

/// An `async fn` that can be a step. Implemented for all that fit; never by hand.
pub trait AsyncFunction<'a, S: 'a>: Send + Sync {
    /// Calls it.
    fn call(&self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>>;
}

impl<'a, S, F, Fut> AsyncFunction<'a, S> for F
where
    S: 'a,
    F: Fn(&'a Scope, &'a mut S) -> Fut + Send + Sync,
    Fut: Future<Output: IntoStepResult> + Send + 'a,
{
    fn call(&self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let future = self(scope, state);
        Box::pin(async move { future.await.into_result() })
    }
}

/// A step that does things through its scope, as an `async fn`.
///
/// ```
/// use convoke_core::{Error, Scope};
/// use convoke_steps::task;
///
/// async fn stamp(scope: &Scope, log: &mut Vec<String>) -> Result<(), Error> {
///     log.push(scope.now().await?.to_string());
///     Ok(())
/// }
///
/// let step = task("stamp", stamp);
/// ```
pub fn task<S, F>(name: impl Into<String>, function: F) -> AsyncFunc<S>
where
    S: 'static,
    F: for<'a> AsyncFunction<'a, S> + 'static,
{
    AsyncFunc { name: name.into(), function: Box::new(move |scope, state| function.call(scope, state)) }
}

/// A step that does things through its scope, as a closure that gives a boxed future: for code that captures something.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::task_boxed;
///
/// let greeting = String::from("hello");
/// let step = task_boxed("greet", move |_scope, lines: &mut Vec<String>| {
///     let greeting = greeting.clone();
///     Box::pin(async move {
///         lines.push(greeting);
///         Ok(())
///     })
/// });
/// ```
pub fn task_boxed<S, F>(name: impl Into<String>, function: F) -> AsyncFunc<S>
where
    F: for<'a> Fn(&'a Scope, &'a mut S) -> BoxFuture<'a, Result<(), Error>> + Send + Sync + 'static,
{
    AsyncFunc { name: name.into(), function: Box::new(function) }
}

impl<S: Send> Step<S> for AsyncFunc<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        (self.function)(scope, state)
    }

    fn kind(&self) -> &'static str {
        "task"
    }
}
