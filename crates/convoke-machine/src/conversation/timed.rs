//! The time limit of a workflow, looked at before each call of a tool, not only before each round.

use std::sync::Arc;

use convoke_core::{BoxFuture, EffectRequest, Error, InterceptedEffect, Interceptor, Scope, Verdict};

use super::talk::now;
use crate::workflow::{Compiled, Context};

/// Denies calls of tools once the workflow's time is over.
struct TimeLimit {
    name: String,
    compiled: Arc<Compiled>,
    context: Arc<Context>,
}

/// A scope in which the time limit holds, if there is one.
pub(super) fn timed(scope: &Scope, compiled: &Arc<Compiled>, context: &Arc<Context>) -> Result<Scope, Error> {
    if compiled.budget().max_wall_time_sec.is_none() {
        return Ok(scope.clone());
    }
    let name = format!("time limit of {}", scope.path());
    let limit = TimeLimit { name, compiled: Arc::clone(compiled), context: Arc::clone(context) };
    scope.intercepted(Arc::new(limit))
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
            let in_time = self.compiled.check_time(&self.context, now(about.scope).await?);
            Ok(in_time.map_or_else(|over| Verdict::deny(over.to_string()), |()| Verdict::Allow))
        })
    }
}
