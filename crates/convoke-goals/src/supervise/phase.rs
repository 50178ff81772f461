//! The phases of supervision, as small steps: each has a path, paired events and a time limit.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Message, Model, ModelParams, Path, Scope, Step};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::answer::{ModelAnswer, ask};
use super::{Review, Statement, Supervisor, Verdict};

/// A phase: a step whose state is the place for what it gives.
pub(super) struct Phase<W>(pub(super) W);

/// The work of a phase.
pub(super) trait PhaseWork: Send + Sync {
    type Output: Send;
    /// The step's name and kind.
    fn kind(&self) -> &'static str;
    fn work<'a>(&'a self, scope: &'a Scope) -> BoxFuture<'a, Result<Self::Output, Error>>;
}

impl<W: PhaseWork> Step<Option<W::Output>> for Phase<W> {
    fn name(&self) -> &str {
        self.0.kind()
    }

    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        output: &'a mut Option<W::Output>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            *output = Some(self.0.work(scope).await?);
            Ok(())
        })
    }
}

/// The result of a phase.
pub(super) enum PhaseResult<T> {
    Well(T),
    /// It failed, and its parent may cope with that.
    Failed(Path, Error),
}

/// Runs a phase below a scope. What is not its own failure is an error: stops, and limits set further out.
pub(super) async fn run<W: PhaseWork>(scope: &Scope, work: W) -> Result<PhaseResult<W::Output>, Error> {
    let phase = Phase(work);
    let mut output = None;
    let child = scope.composing().open(&phase)?;
    match child.composing().enter(&phase, &mut output).await {
        Ok(()) => match output {
            Some(output) => Ok(PhaseResult::Well(output)),
            // A phase that ends well has given something.
            None => Ok(PhaseResult::Failed(child.path().clone(), Error::from("the phase gave nothing"))),
        },
        Err(error) if error.passes(child.path()) => Err(error),
        Err(error) => Ok(PhaseResult::Failed(child.path().clone(), error)),
    }
}

/// Asks the goal's model to say something of a type. That it cannot be had is recorded, and is not the end.
pub(super) async fn stated<T>(
    scope: &Scope,
    kind: &'static str,
    (model, params): (&Arc<dyn Model>, &ModelParams),
    messages: [Message; 2],
) -> Result<Statement<T>, Error>
where
    T: DeserializeOwned + JsonSchema + Send + Sync,
{
    let question = Question { kind, model, params, messages, answer: std::marker::PhantomData };
    Ok(match run(scope, question).await? {
        PhaseResult::Well(ModelAnswer::Answer(answer)) => Ok(answer),
        PhaseResult::Well(ModelAnswer::Unreadable { problem, .. }) => {
            Err(format!("it could not be read: {problem}"))
        }
        PhaseResult::Failed(path, error) => {
            scope.composing().emit_skipped(&path, &error).await;
            Err(error.to_string())
        }
    })
}

struct Question<'a, T> {
    kind: &'static str,
    model: &'a Arc<dyn Model>,
    params: &'a ModelParams,
    messages: [Message; 2],
    answer: std::marker::PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema + Send + Sync> PhaseWork for Question<'_, T> {
    type Output = ModelAnswer<T>;

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn work<'a>(&'a self, scope: &'a Scope) -> BoxFuture<'a, Result<ModelAnswer<T>, Error>> {
        Box::pin(ask(scope, (self.model, self.params), self.messages.clone(), Ok::<T, String>))
    }
}

/// The supervisor's decision.
pub(super) struct VerdictPhase<'a> {
    pub(super) supervisor: &'a dyn Supervisor,
    pub(super) review: &'a Review<'a>,
}

impl PhaseWork for VerdictPhase<'_> {
    type Output = Verdict;

    fn kind(&self) -> &'static str {
        "supervise"
    }

    fn work<'a>(&'a self, scope: &'a Scope) -> BoxFuture<'a, Result<Verdict, Error>> {
        self.supervisor.supervise(scope, self.review)
    }
}
