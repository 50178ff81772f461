//! The classifier step: one step out of several, chosen by a model.

use std::sync::Arc;

use convoke_core::{
    BoxFuture, Error, EventKind, Model, ModelParams, Nature, Outline, OutputSchema, Scope, SharedStep, Step,
    Transcript, Visibility,
};
use serde_json::{Value, json};

use crate::prompt::PromptBuilder;
use crate::{BuildError, StepsError, prompt};

/// Asks a model for one of several labels, and runs the step that belongs to it.
///
/// The labels are sent as a schema, and a plain answer is understood too, whatever its case and the punctuation after
/// it. The model's words are not shown to listeners; the chosen route is an event.
///
/// ```
/// use convoke_core::Error;
/// use convoke_steps::{Classifier, func};
///
/// let triage = Classifier::builder("triage", |ticket: &String| format!("billing or technical? {ticket}"))
///     .route("billing", func("refund", |_: &mut String| Ok::<_, Error>(())))
///     .route("technical", func("debug", |_: &mut String| Ok::<_, Error>(())))
///     .build()?;
/// # Ok::<(), convoke_steps::BuildError>(())
/// ```
pub struct Classifier<S> {
    question: PromptBuilder<S>,
    routes: Vec<(String, SharedStep<S>)>,
    otherwise: Option<SharedStep<S>>,
}

/// Puts a [`Classifier`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct ClassifierBuilder<S>(Classifier<S>);

impl<S: Send + 'static> Classifier<S> {
    /// A classifier that asks this.
    pub fn builder<M: Into<Transcript>>(
        name: impl Into<String>,
        messages: impl Fn(&S) -> M + Send + Sync + 'static,
    ) -> ClassifierBuilder<S> {
        ClassifierBuilder(Self { question: prompt(name, messages), routes: Vec::new(), otherwise: None })
    }

    /// The schema of the answer: one required label out of those declared, in that order.
    #[must_use]
    pub fn schema(&self) -> OutputSchema {
        let labels: Vec<&str> = self.routes.iter().map(|(label, _)| label.as_str()).collect();
        OutputSchema {
            name: "classification".to_owned(),
            description: "Classification result".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"classification": {"type": "string", "enum": labels}},
                "required": ["classification"],
                "additionalProperties": false,
            }),
        }
    }

    fn choose(&self, answer: &str) -> Result<(&str, &SharedStep<S>), StepsError> {
        let label = label(answer).ok_or(StepsError::EmptyClassification)?;
        let route = |label: &str| self.routes.iter().find(|(known, _)| known.trim().to_lowercase() == label);
        // A label may end in punctuation itself.
        match (route(&label).or_else(|| route(without_punctuation(&label))), &self.otherwise) {
            (Some((known, step)), _) => Ok((known, step)),
            (None, Some(step)) => Ok(("default", step)),
            (None, None) => Err(StepsError::UnknownClassification {
                label: without_punctuation(&label).to_owned(),
                known: self.routes.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

impl<S: Send + 'static> ClassifierBuilder<S> {
    /// Puts instructions before the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.0.question = self.0.question.system(text);
        self
    }

    /// Asks this model instead of the run's.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.0.question = self.0.question.model(model);
        self
    }

    /// Sets sampling parameters. What the run sets overrides them.
    pub fn params(mut self, params: ModelParams) -> Self {
        self.0.question = self.0.question.params(params);
        self
    }

    /// Adds a label and its step.
    pub fn route(mut self, label: impl Into<String>, step: impl Step<S> + 'static) -> Self {
        self.0.routes.push((label.into(), Arc::new(step)));
        self
    }

    /// Sets the step to run when the answer is none of the labels.
    pub fn otherwise(mut self, step: impl Step<S> + 'static) -> Self {
        self.0.otherwise = Some(Arc::new(step));
        self
    }

    /// The step.
    ///
    /// # Errors
    /// If there is no label, or two are the same but for their case.
    pub fn build(self) -> Result<Classifier<S>, BuildError> {
        let Self(classifier) = self;
        let step = classifier.question.name().to_owned();
        if classifier.routes.is_empty() {
            return Err(BuildError::Empty { step });
        }
        let mut seen = std::collections::HashSet::new();
        for (label, _) in &classifier.routes {
            if !seen.insert(label.trim().to_lowercase()) {
                return Err(BuildError::DuplicateName { step, name: label.clone() });
            }
        }
        Ok(classifier)
    }
}

/// The label in an answer, in lower case: out of the JSON that was asked for, or the answer itself.
fn label(answer: &str) -> Option<String> {
    let answer = answer.trim();
    let structured = serde_json::from_str::<Value>(answer).ok();
    let named = structured.as_ref().and_then(|value| value.get("classification")).and_then(Value::as_str);
    let text = named.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(answer);
    if answer.is_empty() { None } else { Some(text.to_lowercase()) }
}

fn without_punctuation(label: &str) -> &str {
    label.trim_end_matches(|last: char| last.is_whitespace() || ".,!?;:".contains(last))
}

impl<S: Send + 'static> Step<S> for Classifier<S> {
    fn name(&self) -> &str {
        self.question.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let mut request = self.question.request(state);
        Box::pin(async move {
            request.output = Some(self.schema());
            let model = self.question.model_for(scope)?;
            let reply = scope.model(&model, request, Visibility::Hidden).await?.whole()?;
            let (route, step) = self.choose(&reply.text()).map_err(Error::unusable_reply)?;
            if scope.has_listeners() {
                scope.emit(EventKind::RouteSelected { route: route.to_owned() }).await;
            }
            scope.run(&**step, state).await
        })
    }

    fn kind(&self) -> &'static str {
        "classifier"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        let steps = self.routes.iter().map(|(_, step)| step).chain(&self.otherwise);
        Outline::composite(self.name(), self.kind(), steps.map(|step| step.outline()))
    }
}
