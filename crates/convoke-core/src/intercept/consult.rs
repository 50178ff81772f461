//! Calling the interceptors before and after an effect.

use std::sync::Arc;

use super::{
    EffectRequest, InterceptedEffect, Interceptor, InterceptorStack, Labels, OutcomeOfKind, Verdict,
};
use crate::ask::{Decision, Question};
use crate::effect::NumberedEffect;
use crate::step::BoxFuture;
use crate::{Error, Scope};

impl NumberedEffect<'_> {
    /// Asks the interceptors about an effect that is about to be performed, in their order. Why it must not be, if one of
    /// them does not let it.
    pub(crate) async fn denied(&self, request: &EffectRequest<'_>) -> Result<Option<String>, Error> {
        match &self.scope.around {
            // In a box: most effects have no interceptors, and need not have room for them.
            Some(around) => Box::pin(self.asked_before(around, request)).await,
            None => Ok(None),
        }
    }

    async fn asked_before(
        &self,
        around: &InterceptorStack,
        request: &EffectRequest<'_>,
    ) -> Result<Option<String>, Error> {
        let (place, labels) = (self.scope.of_interceptors(self.ordinal), self.scope.labels());
        for interceptor in around.iter() {
            let scope = place.of_interceptor(&**interceptor);
            let about = InterceptedEffect { scope: &scope, request, labels: &labels };
            let reason = match interceptor.before(about).await? {
                Verdict::Allow => continue,
                Verdict::Deny { reason } => reason,
                // It is about the effect, whichever rule has it asked: rules, and the places they stand in, may change
                // meanwhile.
                Verdict::Ask { question } => {
                    let asker = Asker { effect: self, scope: &scope, interceptor };
                    match asker.approval(*question).await? {
                        Decision::Approve => continue,
                        Decision::Reject { reason } | Decision::Revise { text: reason }
                            if !reason.is_empty() =>
                        {
                            reason
                        }
                        _ => "a person said no".to_owned(),
                    }
                }
            };
            return Ok(Some(reason));
        }
        Ok(None)
    }

    /// Lets the interceptors judge what came of an effect, in the order opposite to theirs. An unanswered question is
    /// nothing that came of it.
    pub(crate) async fn judged<T: OutcomeOfKind>(
        &self,
        request: &EffectRequest<'_>,
        outcome: Result<T, Error>,
    ) -> (Result<T, Error>, Labels) {
        match &self.scope.around {
            Some(around) if !matches!(outcome, Err(Error::Suspended(_))) => {
                Box::pin(self.asked_after(around, request, outcome)).await
            }
            _ => (outcome, Labels::new()),
        }
    }

    async fn asked_after<T: OutcomeOfKind>(
        &self,
        around: &InterceptorStack,
        request: &EffectRequest<'_>,
        outcome: Result<T, Error>,
    ) -> (Result<T, Error>, Labels) {
        let mut labels = Labels::new();
        let mut outcome = outcome.map(T::wrapped);
        let (place, known) = (self.scope.of_interceptors(self.ordinal), self.scope.labels());
        for interceptor in around.iter().rev() {
            let judged = async {
                let scope = place.of_interceptor(&**interceptor).judging(&outcome)?;
                interceptor
                    .after(InterceptedEffect { scope: &scope, request, labels: &known }, &mut outcome)
                    .await
            };
            match judged.await {
                Ok(more) => labels.join(&more),
                Err(error) => outcome = Err(error),
            }
        }
        (outcome.and_then(T::read), labels)
    }
}

/// An interceptor that has a person asked.
struct Asker<'a> {
    effect: &'a NumberedEffect<'a>,
    scope: &'a Scope,
    interceptor: &'a Arc<dyn Interceptor>,
}

impl<'a> Asker<'a> {
    /// What a person says; they are not asked about what they have approved for the whole run. Others are told about the
    /// question, and may have one of their own about it.
    fn approval(self, question: Question) -> BoxFuture<'a, Result<Decision, Error>> {
        Box::pin(async move {
            let (grants, name) = (&self.scope.node.run.grants, self.interceptor.name());
            let inherits = self.interceptor.inherits_unnamed_approvals();
            let place = if inherits { self.unnamed() } else { None };
            let place = place.as_ref().unwrap_or(self.scope);
            if grants.cover(name, &question.covers) || (inherits && grants.cover("", &question.covers)) {
                // It may have been open when the run was interrupted.
                place.withdraw_asked_by_call();
                return Ok(Decision::Approve);
            }
            let covers = question.covers.clone();
            let answer = place.ask_about(self.effect.digest, question).await?;
            if answer.for_run && answer.is_approval() {
                grants.add(name, covers);
            }
            Ok(answer.decision)
        })
    }

    /// Where it asked about this very effect when nobody who did had a name, if it did.
    fn unnamed(&self) -> Option<Scope> {
        let unnamed = Scope { around: self.scope.around.clone(), ..self.effect.scope.of_unnamed() };
        (unnamed.next_digest() == Some(self.effect.digest)).then_some(unnamed)
    }
}
