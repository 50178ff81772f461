//! Runs work under supervision, if it is supervised.

use convoke_core::{BoxFuture, Error, Scope};

use super::workflow_context::WorkflowContext;
use crate::plan::{SupervisedBy, WorkerSettings};
use crate::supervise::{
    Attempt, Correction, ModelSupervisor, Product, StandingCorrections, SupervisedTask, Supervisor,
};

/// How often a supervisor may send a goal back, unless something else is said.
const USUAL_REORIENTS: u32 = 2;

/// Work that may be supervised.
pub(super) struct SupervisedWork<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// What is to be achieved.
    pub(super) goal: &'a str,
    pub(super) supervised_by: SupervisedBy,
    pub(super) settings: &'a WorkerSettings,
    /// What was corrected before, by whoever watches over it or over what it is part of.
    pub(super) standing: &'a StandingCorrections,
}

impl SupervisedWork<'_> {
    /// Does it, under the eyes of whoever watches. `tools` are those that may be used, for whoever asks.
    pub(super) async fn run(
        &self,
        around: &WorkflowContext,
        tools: impl FnOnce() -> Result<Vec<String>, Error>,
        scope: &Scope,
        attempt: &mut dyn Attempt,
    ) -> Result<Product, Error> {
        if self.supervised_by == SupervisedBy::Nobody {
            return attempt.attempt(scope, &self.standing.all()).await;
        }
        let equipment = &around.equipment;
        let own = ModelSupervisor::default();
        let supervisor: &dyn Supervisor = match &equipment.supervisor {
            Some(supervisor) => &**supervisor,
            None => &own,
        };
        let tools = tools()?;
        let supervised = SupervisedTask {
            step: self.name,
            kind: self.kind,
            goal: self.goal,
            supervised_by: self.supervised_by,
            tools: &tools,
            model: &around.model(self.settings, scope)?,
            params: &self.settings.params,
            supervisor,
            max_reorients: equipment.max_reorients.unwrap_or(USUAL_REORIENTS),
            human: &equipment.human,
            fence: &around.fence,
        };
        let mut attempt = SummedUp { around, settings: self.settings, attempt };
        supervised.run_after(scope, &mut attempt, self.standing).await
    }
}

/// Work of which those who judge are told in short what they are not shown.
struct SummedUp<'a> {
    around: &'a WorkflowContext,
    settings: &'a WorkerSettings,
    attempt: &'a mut dyn Attempt,
}

impl Attempt for SummedUp<'_> {
    fn attempt<'a>(
        &'a mut self,
        scope: &'a Scope,
        corrections: &'a [Correction],
    ) -> BoxFuture<'a, Result<Product, Error>> {
        Box::pin(async move {
            let mut product = self.attempt.attempt(scope, corrections).await?;
            product.summary = self.around.summary_for_judges(self.settings, scope, &product.text).await?;
            Ok(product)
        })
    }
}
