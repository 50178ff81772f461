//! The supervisor that asks a model.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Model, ModelParams, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{ModelAnswer, ask};
use super::{Review, Supervisor, Thresholds, Trigger, Verdict, prompts};

/// How much of an answer that cannot be read is shown to a person, in characters.
const SHOWN: usize = 500;

/// Lets a model judge: its own, or that of the goal it judges. A judge of its own is the better one, since nobody sees
/// their own mistakes.
///
/// With the goal's model the goal's [parameters](Review::params) hold too; a model of its own has its own.
///
/// A verdict that cannot be read, even after the model was told what is wrong with it, makes a person decide.
#[derive(Clone, Default)]
pub struct ModelSupervisor {
    model: Option<Arc<dyn Model>>,
    params: ModelParams,
    thresholds: Thresholds,
}

impl ModelSupervisor {
    /// Judges with the model of the goal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges with this model.
    #[must_use]
    pub fn with_model(model: Arc<dyn Model>) -> Self {
        Self { model: Some(model), ..Self::default() }
    }

    /// Judges with these parameters, whatever those of the goal are.
    #[must_use]
    pub fn params(mut self, params: ModelParams) -> Self {
        self.params = params;
        self
    }

    /// Sets the thresholds from which a commitment is a reason to look.
    #[must_use]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }
}

impl Supervisor for ModelSupervisor {
    fn reconcile(&self, review: &Review<'_>) -> Vec<Trigger> {
        self.thresholds.reconcile(review)
    }

    fn supervise<'a>(
        &'a self,
        scope: &'a Scope,
        review: &'a Review<'a>,
    ) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let (model, params) = match &self.model {
                Some(model) => (model, self.params.clone()),
                None => (review.model, review.params.overridden_by(&self.params)),
            };
            let asking = prompts::supervise(review);
            asking.tell_cuts(scope, review.step).await;
            let heard = ask(scope, (model, &params), asking.messages, Judgement::verdict).await?;
            Ok(match heard {
                ModelAnswer::Answer(verdict) => verdict,
                ModelAnswer::Unreadable { said, problem } => Verdict::AskHuman {
                    question: format!(
                        "The supervisor's verdict could not be read ({problem}). It said: {}",
                        if said.trim().is_empty() { "(nothing)".to_owned() } else { beginning(&said) }
                    ),
                    reason: "unreadable verdict".to_owned(),
                },
            })
        })
    }
}

impl std::fmt::Debug for ModelSupervisor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model = self.model.as_ref().map(|model| model.name().to_owned());
        formatter
            .debug_struct("ModelSupervisor")
            .field("model", &model)
            .field("params", &self.params)
            .field("thresholds", &self.thresholds)
            .finish()
    }
}

/// The beginning of what somebody said.
fn beginning(said: &str) -> String {
    match said.trim().char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &said.trim()[..end]),
        None => said.trim().to_owned(),
    }
}

/// A verdict as models write it.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct Judgement {
    /// Why.
    #[serde(default)]
    reason: String,
    /// What is to happen.
    verdict: Choice,
    /// For reorient: what to do differently.
    #[serde(default)]
    correction: String,
    /// For `ask_human`: what a person is to decide.
    #[serde(default)]
    question: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Continue,
    Reorient,
    AskHuman,
    Halt,
}

impl Judgement {
    fn verdict(self) -> Result<Verdict, String> {
        let Self { reason, verdict, correction, question } = self;
        Ok(match verdict {
            Choice::Continue => Verdict::Continue { reason },
            Choice::Reorient if correction.trim().is_empty() => {
                return Err("a reorient needs a correction that says what to do differently".to_owned());
            }
            Choice::Reorient => Verdict::Reorient { correction, reason },
            Choice::AskHuman => Verdict::AskHuman { question, reason },
            Choice::Halt => Verdict::Halt { reason },
        })
    }
}
