//! The supervision pipeline: commit, execute, post, reconcile, supervise, and again.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, EventKind, Model, ModelParams, Scope};
use serde_json::{Value, json};

use super::human::noticed;
use super::phase::{self, PhaseResult, VerdictPhase};
use super::{
    Assessment, Commitment, Correction, CorrectionSource, HumanPolicy, Product, Review, StandingCorrections,
    Statement, SupervisedBy, Supervisor, Verdict, prompts,
};
use crate::context::Fence;

/// As many tokens as a commitment, an assessment or a verdict may need. Fewer would be a limit on another text.
const LEAST_TOKENS: u32 = 2_048;

/// The work that is supervised: one attempt after the other at the same thing.
pub trait Attempt: Send {
    /// Does it, given all corrections so far, oldest first.
    ///
    /// # Errors
    /// What it fails with, which ends the whole: nobody judges what is not there.
    fn attempt<'a>(
        &'a mut self,
        scope: &'a Scope,
        corrections: &'a [Correction],
    ) -> BoxFuture<'a, Result<Product, Error>>;
}

/// A task that is done under supervision.
#[derive(Clone)]
pub struct SupervisedTask<'a> {
    /// The goal's name.
    pub step: &'a str,
    /// Its kind: `goal`, `convergence`.
    pub kind: &'a str,
    /// What is to be achieved, with values in place of variables.
    pub goal: &'a str,
    /// Who supervises it.
    pub supervised_by: SupervisedBy,
    /// The names of the tools that may be used.
    pub tools: &'a [String],
    /// The model that commits and assesses.
    pub model: &'a Arc<dyn Model>,
    /// The parameters it works with. They hold for what it says about the work too, except for what shapes an answer:
    /// texts at which to stop, and fewer tokens than saying it takes.
    pub params: &'a ModelParams,
    /// The supervisor.
    pub supervisor: &'a dyn Supervisor,
    /// How often it is sent back by the supervisor, at most.
    pub max_reorients: u32,
    /// The policy for asking people.
    pub human: &'a HumanPolicy,
    /// The marks around what was written by others.
    pub fence: &'a Fence,
}

/// The error of a supervisor that could not judge.
#[derive(Debug, Clone, thiserror::Error)]
#[error("supervision of {kind} `{step}` failed, so its result is not used: {source}")]
pub struct SupervisionFailed {
    /// The goal's name.
    pub step: String,
    /// Its kind: `goal`, `convergence`.
    pub kind: String,
    /// The reason.
    pub source: Error,
}

/// The next action after a result was judged.
pub(super) enum NextAction {
    Accepted,
    Again(Correction),
}

impl SupervisedTask<'_> {
    /// Does it, and lets whoever watches decide about what came of it. **Durable**: everybody is asked once.
    ///
    /// # Errors
    /// Whatever an attempt fails with; [`Error::Halted`] if the supervisor or a person ends it, or if a person would have
    /// to decide and nobody may be asked; [`SupervisionFailed`]; and stops, such as [`Error::Suspended`] while a person
    /// is asked.
    pub async fn run(&self, scope: &Scope, attempt: &mut dyn Attempt) -> Result<Product, Error> {
        self.run_after(scope, attempt, &StandingCorrections::default()).await
    }

    /// The same after corrections that stand already. Those that are made now are added to them as soon as they are made,
    /// so that they are there for another try if this one fails.
    pub(crate) async fn run_after(
        &self,
        scope: &Scope,
        attempt: &mut dyn Attempt,
        standing: &StandingCorrections,
    ) -> Result<Product, Error> {
        match self.supervised_by {
            SupervisedBy::Nobody => return attempt.attempt(scope, &standing.all()).await,
            SupervisedBy::Human if self.human.unattended => {
                return Err(self.halted("a person has to decide about it, and nobody may be asked"));
            }
            SupervisedBy::Model | SupervisedBy::Human => {}
        }
        let params = self.params_about_it();
        let commitment = self.commit(scope, &params).await?;
        loop {
            let corrections = standing.all();
            let product = attempt.attempt(scope, &corrections).await?;
            let assessment = self.assess(scope, &params, &commitment, &product, &corrections).await?;
            let mut review = Review {
                step: self.step,
                kind: self.kind,
                goal: self.goal,
                commitment: &commitment,
                product: &product,
                assessment: &assessment,
                corrections: &corrections,
                inherited: standing.inherited(),
                triggers: Vec::new(),
                model: self.model,
                params: &params,
                fence: self.fence,
            };
            review.triggers = self.supervisor.reconcile(&review);
            self.emit(scope, "reconcile", json!({"triggers": review.triggers})).await;
            match self.decide(scope, &review).await? {
                NextAction::Accepted => return Ok(product),
                NextAction::Again(correction) => standing.add(correction),
            }
        }
    }

    /// The parameters for what is said about the work.
    fn params_about_it(&self) -> ModelParams {
        let mut params = self.params.clone();
        params.stop.clear();
        params.max_tokens = params.max_tokens.map(|most| most.max(LEAST_TOKENS));
        params
    }

    async fn commit(&self, scope: &Scope, params: &ModelParams) -> Result<Statement<Commitment>, Error> {
        let messages = prompts::commit(self.kind, self.step, self.goal, self.tools, self.fence);
        let commitment = phase::stated(scope, "commit", (self.model, params), messages).await?;
        self.tell_stated(scope, "commit", "commitment", &commitment).await;
        Ok(commitment)
    }

    async fn assess(
        &self,
        scope: &Scope,
        params: &ModelParams,
        commitment: &Statement<Commitment>,
        product: &Product,
        corrections: &[Correction],
    ) -> Result<Statement<Assessment>, Error> {
        let what = (self.kind, self.step, self.goal);
        let asking = prompts::post(what, commitment, product, corrections, self.fence);
        asking.tell_cuts(scope, self.step).await;
        let assessment = phase::stated(scope, "post", (self.model, params), asking.messages).await?;
        self.tell_stated(scope, "post", "assessment", &assessment).await;
        Ok(assessment)
    }

    async fn decide(&self, scope: &Scope, review: &Review<'_>) -> Result<NextAction, Error> {
        match self.supervised_by {
            SupervisedBy::Human => self.person(scope, review, &noticed(&review.triggers)).await,
            _ if review.triggers.is_empty() => Ok(NextAction::Accepted),
            _ => {
                let verdict = self.judge(scope, review).await?;
                self.follow(scope, review, verdict).await
            }
        }
    }

    async fn judge(&self, scope: &Scope, review: &Review<'_>) -> Result<Verdict, Error> {
        let judging = VerdictPhase { supervisor: self.supervisor, review };
        let verdict = match phase::run(scope, judging).await? {
            PhaseResult::Well(verdict) => verdict,
            PhaseResult::Failed(_, source) => {
                let (step, kind) = (self.step.to_owned(), self.kind.to_owned());
                return Err(Error::failed(SupervisionFailed { step, kind, source }));
            }
        };
        let mut told = json!({
            "verdict": verdict.name(),
            "reason": verdict.reason(),
            "attempt": review.attempt(),
        });
        match &verdict {
            Verdict::Reorient { correction, .. } => told["correction"] = json!(correction),
            Verdict::AskHuman { question, .. } => told["question"] = json!(question),
            Verdict::Continue { .. } | Verdict::Halt { .. } => {}
        }
        self.emit(scope, "supervise", told).await;
        Ok(verdict)
    }

    async fn follow(
        &self,
        scope: &Scope,
        review: &Review<'_>,
        verdict: Verdict,
    ) -> Result<NextAction, Error> {
        let sent_back = count(review.own_corrections(), CorrectionSource::Supervisor);
        match verdict {
            Verdict::Continue { .. } => Ok(NextAction::Accepted),
            Verdict::Halt { reason } => Err(self.halted(&format!("by its supervisor: {}", or_none(&reason)))),
            Verdict::Reorient { correction, .. } if sent_back < self.max_reorients as usize => {
                Ok(NextAction::Again(Correction { source: CorrectionSource::Supervisor, text: correction }))
            }
            Verdict::Reorient { correction, .. } => {
                let state = match sent_back {
                    0 => "It may not be sent back, and the supervisor wants".to_owned(),
                    1 => "It was sent back once, as often as it may be, and the supervisor still wants"
                        .to_owned(),
                    n => format!(
                        "It was sent back {n} times, as often as it may be, and the supervisor still wants"
                    ),
                };
                let noticed = noticed(&review.triggers);
                let about = format!("{state} it done differently: {correction}\n\n{noticed}");
                self.person(scope, review, &about).await
            }
            Verdict::AskHuman { question, reason } => {
                let asked = [question, reason].into_iter().find(|text| !text.trim().is_empty());
                let asked = asked.unwrap_or_else(|| "The supervisor wants a person to decide.".to_owned());
                self.person(scope, review, &format!("{asked}\n\n{}", noticed(&review.triggers))).await
            }
        }
    }

    pub(super) fn halted(&self, why: &str) -> Error {
        Error::Halted(format!("{} `{}`: {why}", self.kind, self.step).into())
    }

    async fn tell_stated<T: serde::Serialize>(
        &self,
        scope: &Scope,
        phase: &str,
        name: &str,
        stated: &Statement<T>,
    ) {
        let value = match stated {
            Ok(stated) => json!({name: stated}),
            Err(why) => json!({"unavailable": why}),
        };
        self.emit(scope, phase, value).await;
    }

    pub(super) async fn emit(&self, scope: &Scope, phase: &str, mut value: Value) {
        if scope.has_listeners() {
            value["step"] = json!(self.step);
            value["kind"] = json!(self.kind);
            value["phase"] = json!(phase);
            scope.emit(EventKind::Custom { name: "supervision".to_owned(), value }).await;
        }
    }
}

pub(super) fn count(corrections: &[Correction], source: CorrectionSource) -> usize {
    corrections.iter().filter(|correction| correction.source == source).count()
}

pub(super) fn or_none(reason: &str) -> &str {
    if reason.trim().is_empty() { "(no reason given)" } else { reason }
}
