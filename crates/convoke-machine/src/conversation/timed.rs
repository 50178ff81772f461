//! The time limit of a workflow, looked at before each call of a tool, not only before each round.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{BoxFuture, EffectRequest, Error, InterceptedEffect, Interceptor, Scope, Verdict};

use super::talk::{Session, before, now, waited};
use crate::workflow::{Compiled, Context};

/// Denies calls of tools once the workflow's time is over.
struct TimeLimit {
    name: String,
    compiled: Arc<Compiled>,
    context: Arc<Context>,
    /// The conversation, and how long it had waited that the context knows of, where that time does not count.
    waits: Option<(Scope, Duration)>,
}

impl Session<'_> {
    /// A scope in which the time limit holds, if there is one.
    pub(super) fn timed(&self, context: &Arc<Context>) -> Result<Scope, Error> {
        let (scope, compiled) = (self.scope, &self.machine.compiled);
        if compiled.budget().max_wall_time_sec.is_none() {
            return Ok(scope.clone());
        }
        let name = format!("time limit of {}", scope.path());
        let waits = (self.budget_rules > 1).then(|| (scope.clone(), self.waited));
        let limit = TimeLimit { name, compiled: Arc::clone(compiled), context: Arc::clone(context), waits };
        scope.intercepted(Arc::new(limit))
    }
}

impl Interceptor for TimeLimit {
    fn name(&self) -> &str {
        &self.name
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            if !matches!(about.request, EffectRequest::Tool { .. }) {
                return Ok(Verdict::Allow);
            }
            let at = now(about.scope).await?;
            let since = |(scope, known): &(Scope, Duration)| waited(scope, at).saturating_sub(*known);
            let counted = before(at, self.waits.as_ref().map_or(Duration::ZERO, since));
            let in_time = self.compiled.check_time(&self.context, counted);
            Ok(in_time.map_or_else(|over| Verdict::deny(over.to_string()), |()| Verdict::Allow))
        })
    }
}
