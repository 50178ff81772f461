//! Convergence: a goal that is improved on in iterations.

use convoke_core::{BoxFuture, Error, EventKind, Nature, Scope, Step};

use super::called_tools::merge;
use super::error::GoalError;
use super::goal::Pursuit;
use super::worker::WorkResult;
use super::{events, judge};
use crate::agentfile::model::Within;
use crate::plan::SupervisedBy;
use crate::state::{GoalState, text_of};
use crate::tree::Name;

/// The progress of a convergence.
#[derive(Default)]
pub(super) struct ConvergenceProgress {
    /// What the iterations gave that gave something.
    history: Vec<String>,
    /// The newest of those.
    best: Option<WorkResult>,
    tools: Vec<String>,
    beside: GoalState,
    iterations: u64,
    /// The limit, if it was reached and nobody has said since that nothing is left to improve.
    pub(super) unconverged: Option<u32>,
}

impl ConvergenceProgress {
    /// Pursues a goal again and again, each time with all that came of it before, until nothing is left to improve. The
    /// newest version is in the state as soon as it is made, and told unless somebody has to accept it first.
    ///
    /// Whoever was not content with what came of it gets one iteration more, with the corrections.
    ///
    /// That the limit is reached first is not a failure; it is noted.
    pub(super) async fn run(
        &mut self,
        pursuit: &Pursuit<'_>,
        within: &Within<Name>,
        scope: &Scope,
        state: &mut GoalState,
    ) -> Result<WorkResult, Error> {
        let name = &pursuit.goal.name;
        let cap = limit(name, within, state)?;
        let more = self.best.is_some();
        let iterations = if more { 1 } else { cap };
        let mut converged = false;
        for _ in 0..iterations {
            converged = self.iterate(pursuit, scope, state).await?;
            if converged {
                break;
            }
        }
        let Some(mut best) = self.best.clone() else {
            let reason = format!("in {cap} iterations it gave nothing but the word that ends them");
            return Err(GoalError::Incomplete { name: name.to_string(), reason }.into());
        };
        if converged {
            self.unconverged = None;
        } else if !more {
            // One iteration more that somebody asked for is not one too many.
            events::cap_reached(scope, name, cap).await;
            self.unconverged = Some(cap);
            best.product.unconverged = self.unconverged;
        }
        best.product.tools.clone_from(&self.tools);
        best.beside.clone_from(&self.beside);
        Ok(best)
    }

    /// Makes one iteration, and says whether it is the last.
    async fn iterate(
        &mut self,
        pursuit: &Pursuit<'_>,
        scope: &Scope,
        state: &mut GoalState,
    ) -> Result<bool, Error> {
        let name = &pursuit.goal.name;
        self.iterations += 1;
        scope.emit(EventKind::LoopIteration { iteration: self.iterations }).await;
        let came_empty = self.iterations > 1 && self.history.is_empty();
        let mut said = iterate(pursuit, (&self.history, came_empty), scope, state).await?;
        self.beside.absorb(std::mem::take(&mut said.beside));
        merge(&mut self.tools, said.product.tools.drain(..));
        let converged = match said.converged {
            Some(converged) => converged,
            None => !improvable(pursuit, &self.history, &said.product.text, scope).await?,
        };
        if !said.product.text.trim().is_empty() {
            self.history.push(said.product.text.clone());
            state.outputs.set(name.clone(), said.product.text.as_str());
            if pursuit.goal.supervised_by == SupervisedBy::Nobody {
                pursuit.around.publish(scope, state).await?;
            }
            self.best = Some(said);
        }
        // Whoever has nothing and says that nothing is left to improve is not done.
        Ok(converged && self.best.is_some())
    }
}

/// Asks a judge, where those who pursue the goal were not told that they are to improve on something.
async fn improvable(
    pursuit: &Pursuit<'_>,
    history: &[String],
    latest: &str,
    scope: &Scope,
) -> Result<bool, Error> {
    let name = &pursuit.goal.name;
    let named = |text: &str| vec![(name.to_string(), text.to_owned())];
    let before = history.last().map(|text| named(text)).unwrap_or_default();
    let latest = named(latest);
    judge::improvable(pursuit.around, &pursuit.goal.settings, name, (&before, &latest), scope).await
}

async fn iterate(
    pursuit: &Pursuit<'_>,
    (history, came_empty): (&[String], bool),
    scope: &Scope,
    state: &GoalState,
) -> Result<WorkResult, Error> {
    let mut said = None;
    let iteration = Iteration { pursuit: Pursuit { history: Some(history), came_empty, ..*pursuit }, state };
    let child = scope.composing().open(&iteration)?;
    child
        .composing()
        .enter(&iteration, &mut said)
        .await
        .map_err(|error| error.in_step("iteration", child.path()))?;
    Ok(said.unwrap_or_default())
}

struct Iteration<'a> {
    pursuit: Pursuit<'a>,
    state: &'a GoalState,
}

impl Step<Option<WorkResult>> for Iteration<'_> {
    fn name(&self) -> &str {
        "iteration"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        said: &'a mut Option<WorkResult>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            *said = Some(self.pursuit.once(scope, self.state).await?);
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "iteration"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

/// How often at most.
pub(super) fn limit(name: &str, within: &Within<Name>, state: &GoalState) -> Result<u32, Error> {
    let value = match within {
        Within::Times(times) => i64::from(*times),
        Within::Variable(variable) => {
            let unresolved =
                || GoalError::WithinUnresolved { name: name.to_owned(), variable: variable.to_string() };
            let text = state.get(variable).map(text_of).ok_or_else(unresolved)?;
            text.trim().parse().map_err(|_| GoalError::WithinNotInteger {
                name: name.to_owned(),
                variable: variable.to_string(),
                value: text.clone(),
            })?
        }
    };
    let name = || name.to_owned();
    match u32::try_from(value) {
        Ok(times) if times > 0 => Ok(times),
        Err(_) if value > 0 => Err(GoalError::WithinTooLarge { name: name(), value }.into()),
        _ => Err(GoalError::WithinTooSmall { name: name(), value }.into()),
    }
}
