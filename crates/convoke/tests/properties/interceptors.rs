//! What stands before and after every effect of the trees: one that labels what comes back, and one that asks.

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
        outcome: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        // What is asked about a call that was cut off is asked only of runs that were killed.
        if matches!(about.request, EffectRequest::Ask { question } if question.title.contains("interrupted"))
        {
            return Box::pin(async { Ok(Labels::new()) });
        }
        let label = match outcome {
            Ok(EffectOutcome::Model(reply)) => format!("said={}", reply.text().replace(' ', "-")),
            Ok(EffectOutcome::Ask(_)) => "answered".to_owned(),
            Ok(EffectOutcome::Receive(_)) => "mail".to_owned(),
            Ok(_) => "custom".to_owned(),
            Err(_) => "failed".to_owned(),
        };
        Box::pin(async move { label.parse().map_err(Error::failed) })
    }
}

/// Asks about every question whether it may be asked.
pub(crate) struct Asking;

impl Interceptor for Asking {
    fn name(&self) -> &'static str {
        "asking"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let is_question = matches!(about.request, EffectRequest::Ask { .. });
        let ask = || Verdict::ask(Question::approval("may it be asked?"));
        Box::pin(async move { Ok(if is_question { ask() } else { Verdict::Allow }) })
    }
}
