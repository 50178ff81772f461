//! The prompt step: a model asked once.

use std::sync::Arc;

use convoke_agent::{AnswerShape, InvalidSchema};
use convoke_core::{
    BoxFuture, Error, Message, Model, ModelParams, ModelRequest, Scope, Step, Transcript, Visibility,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Asks a model once, and puts its answer into a field of the state. See [`prompt`].
pub struct Prompt<S> {
    request: PromptBuilder<S>,
    target: Box<dyn Target<S>>,
}

/// A prompt that does not know yet where the answer goes.
#[must_use = "say where the answer goes: `text`, `json` or `discard`"]
pub struct PromptBuilder<S> {
    name: String,
    system: Option<String>,
    messages: Box<dyn Fn(&S) -> Transcript + Send + Sync>,
    model: Option<Arc<dyn Model>>,
    params: ModelParams,
}

/// A step that asks a model once.
///
/// The function makes the conversation out of the state: a text for a single user message, or a whole [`Transcript`].
/// Where the answer goes decides its type: [`text`](PromptBuilder::text) needs a `String` field,
/// [`json`](PromptBuilder::json) any field whose type has a JSON Schema.
///
/// ```
/// use convoke_steps::prompt;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema, Default)]
/// struct Mood { sentiment: String, score: f64 }
///
/// #[derive(Default)]
/// struct Review { text: String, summary: String, mood: Mood }
///
/// let summarise = prompt("summarise", |review: &Review| format!("Summarise: {}", review.text))
///     .system("You are terse.")
///     .text(|review| &mut review.summary);
/// let judge = prompt("judge", |review: &Review| format!("How does this feel? {}", review.text))
///     .json(|review| &mut review.mood);
/// ```
pub fn prompt<S, M: Into<Transcript>>(
    name: impl Into<String>,
    messages: impl Fn(&S) -> M + Send + Sync + 'static,
) -> PromptBuilder<S> {
    PromptBuilder {
        name: name.into(),
        system: None,
        messages: Box::new(move |state| messages(state).into()),
        model: None,
        params: ModelParams::default(),
    }
}

impl<S: Send + 'static> PromptBuilder<S> {
    /// Puts instructions before the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Asks this model instead of the run's.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets sampling parameters. What the run sets overrides them.
    pub fn params(mut self, params: ModelParams) -> Self {
        self.params = params;
        self
    }

    /// Puts the answer's text into a field.
    pub fn text<F>(self, field: F) -> Prompt<S>
    where
        F: for<'a> Fn(&'a mut S) -> &'a mut String + Send + Sync + 'static,
    {
        self.with(Text(field))
    }

    /// Puts the answer into a field of any type with a JSON Schema. What was in the field before is replaced.
    pub fn json<T, F>(self, field: F) -> Prompt<S>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        F: for<'a> Fn(&'a mut S) -> &'a mut T + Send + Sync + 'static,
    {
        self.with(Json { field, shape: AnswerShape::of() })
    }

    /// Keeps the answer nowhere: whoever listens has seen it.
    pub fn discard(self) -> Prompt<S> {
        self.with(Discard)
    }

    fn with(self, target: impl Target<S> + 'static) -> Prompt<S> {
        Prompt { request: self, target: Box::new(target) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn model_for(&self, scope: &Scope) -> Result<Arc<dyn Model>, Error> {
        match &self.model {
            Some(model) => Ok(Arc::clone(model)),
            None => scope.default_model(),
        }
    }

    pub(crate) fn request(&self, state: &S) -> ModelRequest {
        let messages = (self.messages)(state);
        let messages = match &self.system {
            Some(system) => {
                std::iter::once(Message::system(system)).chain(messages.iter().cloned()).collect()
            }
            None => messages,
        };
        ModelRequest { messages, params: self.params.clone(), ..ModelRequest::default() }
    }
}

/// A call about to be made.
struct Call<'a> {
    step: &'a str,
    scope: &'a Scope,
    model: Arc<dyn Model>,
    request: ModelRequest,
}

impl Call<'_> {
    async fn text(self) -> Result<String, Error> {
        let reply = self.scope.model(&self.model, self.request, Visibility::Streamed).await?;
        Ok(reply.whole()?.text())
    }
}

/// Where an answer goes.
trait Target<S>: Send + Sync {
    fn receive<'a>(&'a self, call: Call<'a>, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>>;
}

struct Text<F>(F);

impl<S, F> Target<S> for Text<F>
where
    S: Send,
    F: for<'a> Fn(&'a mut S) -> &'a mut String + Send + Sync,
{
    fn receive<'a>(&'a self, call: Call<'a>, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            *(self.0)(state) = call.text().await?;
            Ok(())
        })
    }
}

struct Json<F, T> {
    field: F,
    shape: Result<AnswerShape<T>, InvalidSchema>,
}

impl<S, T, F> Target<S> for Json<F, T>
where
    S: Send,
    T: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> Fn(&'a mut S) -> &'a mut T + Send + Sync,
{
    fn receive<'a>(&'a self, call: Call<'a>, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let context = format!("workflow step {:?}", call.step);
            let shape = self.shape.as_ref().map_err(|invalid| Error::failed(invalid.clone()))?;
            let asked = shape.ask(call.scope, &call.model, call.request, Visibility::Streamed, &context);
            let answer = asked.await?;
            *(self.field)(state) = answer.value;
            Ok(())
        })
    }
}

struct Discard;

impl<S: Send> Target<S> for Discard {
    fn receive<'a>(&'a self, call: Call<'a>, _: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { call.text().await.map(drop) })
    }
}

impl<S: Send + 'static> Step<S> for Prompt<S> {
    fn name(&self) -> &str {
        &self.request.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let request = self.request.request(state);
        Box::pin(async move {
            let model = self.request.model_for(scope)?;
            self.target.receive(Call { step: &self.request.name, scope, model, request }, state).await
        })
    }

    fn kind(&self) -> &'static str {
        "prompt"
    }
}
