//! What stands before and after every effect: one that labels what comes back, and one that asks about the last act.

use convoke::core::{
    BoxFuture, EffectOutcome, EffectRequest, InterceptedEffect, Interceptor, Labels, Verdict,
};
use convoke::prelude::*;

/// Says of everything what it is.
pub(crate) struct Labelling;

impl Interceptor for Labelling {
    fn name(&self) -> &'static str {
        "labelling"
    }

    fn after<'a>(
        &'a self,
        about: InterceptedEffect<'a>,
        _: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        let label = match about.request {
            EffectRequest::Model { .. } => "model".to_owned(),
            EffectRequest::Tool { arguments, .. } => {
                format!("tool={}", arguments["what"]).replace([' ', '"'], "")
            }
            EffectRequest::Custom { name, .. } => format!("custom={name}"),
            _ => "other".to_owned(),
        };
        Box::pin(async move { label.parse().map_err(Error::failed) })
    }
}

/// Asks whether the work may be finished.
pub(crate) struct Asking;

impl Interceptor for Asking {
    fn name(&self) -> &'static str {
        "asking"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let is_last =
            matches!(about.request, EffectRequest::Tool { arguments, .. } if arguments["what"] == "finish");
        let ask = || Verdict::ask(Question::approval("Really finish?"));
        Box::pin(async move { Ok(if is_last { ask() } else { Verdict::Allow }) })
    }
}
