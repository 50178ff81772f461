//! Structured output: a model's answer as a Rust type.
//!
//! The schema of the type goes to the provider with the request; what comes back is parsed, compared with the schema and
//! decoded. If that fails the model is told what is wrong and asked once more; then it is an error that carries the
//! answer. Half an answer (cut off, refused) is an error too. Nothing is ever merged into what was there before
//! (gains 16): the value is new.

use std::marker::PhantomData;
use std::sync::Arc;

use convoke_core::{
    Error, Message, Model, ModelReply, ModelRequest, OutputSchema, Scope, Usage, Visibility, sort_keys,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::schema::{InvalidSchema, SchemaCheck, decode, schema_name, schema_of};

/// A structured answer: a value of the type that was asked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StructuredAnswer<T> {
    /// The value.
    pub value: T,
    /// The reply it came from.
    pub reply: ModelReply,
    /// What it took, a second attempt included.
    pub usage: Usage,
}

/// The error of an answer that does not have its shape, not even at the second attempt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}failed to unmarshal response into {target}: {cause}", prefix(.context))]
pub struct UnmarshalError {
    /// What the model said.
    pub content: String,
    /// The type it should have been.
    pub target: String,
    /// Who asked: `workflow step "judge"`. May be empty.
    pub context: String,
    /// What is wrong with it.
    pub cause: String,
}

fn prefix(context: &str) -> String {
    if context.is_empty() { String::new() } else { format!("{context}: ") }
}

/// Asks a model for a value of type `T`.
///
/// `context` is what an error begins with, such as `workflow step "judge"`; it may be empty. Makes one model call, or
/// two, through `scope`: **durable** like all effects.
///
/// ```
/// use std::sync::Arc;
/// use convoke_agent::structured;
/// use convoke_core::{Error, Model, ModelRequest, Scope, Visibility};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Mood { sentiment: String, score: f64 }
///
/// async fn judge(scope: &Scope, model: &Arc<dyn Model>, text: &str) -> Result<f64, Error> {
///     let request = ModelRequest::new(format!("How does this feel? {text}"));
///     let mood = structured::<Mood>(scope, model, request, Visibility::Hidden, "judge").await?;
///     Ok(mood.value.score)
/// }
/// ```
///
/// # Errors
/// [`UnmarshalError`], failures of the model, and stops.
pub async fn structured<T: DeserializeOwned + JsonSchema>(
    scope: &Scope,
    model: &Arc<dyn Model>,
    request: ModelRequest,
    visibility: Visibility,
    context: &str,
) -> Result<StructuredAnswer<T>, Error> {
    let shape = AnswerShape::<T>::of().map_err(Error::failed)?;
    shape.ask(scope, model, request, visibility, context).await
}

/// Asks a model for a value that has this schema.
///
/// # Errors
/// [`UnmarshalError`], [`InvalidSchema`], failures of the model, and stops.
pub async fn structured_value(
    scope: &Scope,
    model: &Arc<dyn Model>,
    request: ModelRequest,
    output: OutputSchema,
    visibility: Visibility,
    context: &str,
) -> Result<StructuredAnswer<Value>, Error> {
    let shape = AnswerShape::with_schema(output).map_err(Error::failed)?;
    shape.ask(scope, model, request, visibility, context).await
}

/// The shape of an answer, prepared once for many questions.
pub struct AnswerShape<T> {
    output: OutputSchema,
    target: String,
    check: SchemaCheck,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema> AnswerShape<T> {
    /// The shape of a type.
    ///
    /// # Errors
    /// If the type's own schema is not one (a pattern that is no regular expression, say).
    pub fn of() -> Result<Self, InvalidSchema> {
        let schema = schema_of::<T>();
        let check = SchemaCheck::new(schema.clone())?;
        let output = OutputSchema { name: schema_name::<T>(), description: String::new(), schema };
        Ok(Self { output, target: T::schema_name().into_owned(), check, value: PhantomData })
    }
}

impl AnswerShape<Value> {
    /// The shape this schema describes.
    ///
    /// # Errors
    /// If it is not a schema.
    pub fn with_schema(output: OutputSchema) -> Result<Self, InvalidSchema> {
        let check = SchemaCheck::new(output.schema.clone())?;
        Ok(Self { target: output.name.clone(), output, check, value: PhantomData })
    }
}

impl<T: DeserializeOwned> AnswerShape<T> {
    /// Returns the schema a model is given.
    #[must_use]
    pub fn output(&self) -> &OutputSchema {
        &self.output
    }

    /// A value out of what a model said. White space and a code fence around the JSON do no harm.
    ///
    /// # Errors
    /// What is wrong with it, in words the model can act on.
    pub fn read(&self, content: &str) -> Result<T, String> {
        let mut json: Value =
            serde_json::from_str(unfenced(content)).map_err(|error| format!("it is not JSON: {error}"))?;
        // What is wrong with it may quote it, and goes back to the model.
        sort_keys(&mut json);
        let meant = self.check.meant(&json);
        self.check.check(&meant)?;
        decode(meant)
    }

    /// Asks a model for such a value, once more if the first answer does not fit.
    ///
    /// # Errors
    /// [`UnmarshalError`], failures of the model, and stops.
    pub async fn ask(
        &self,
        scope: &Scope,
        model: &Arc<dyn Model>,
        mut request: ModelRequest,
        visibility: Visibility,
        context: &str,
    ) -> Result<StructuredAnswer<T>, Error> {
        request.output = Some(self.output.clone());
        let first = scope.model(model, request.clone(), visibility).await?.whole()?;
        let problem = match self.read(&first.text()) {
            Ok(value) => return Ok(StructuredAnswer { value, usage: first.usage, reply: first }),
            Err(problem) => problem,
        };
        let usage = first.usage;
        request.messages.push(first.message);
        request.messages.push(Message::user(format!(
            "That answer cannot be used: {problem}. Answer again, with nothing but the corrected JSON."
        )));
        let second = scope.model(model, request, visibility).await?.whole()?;
        match self.read(&second.text()) {
            Ok(value) => Ok(StructuredAnswer { value, usage: usage + second.usage, reply: second }),
            Err(cause) => Err(Error::unusable_reply(UnmarshalError {
                content: second.text(),
                target: self.target.clone(),
                context: context.to_owned(),
                cause,
            })),
        }
    }
}

/// The text within a code fence, if all of it is within one.
fn unfenced(content: &str) -> &str {
    let content = content.trim();
    let inner = content.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, text)) if language.trim().chars().all(char::is_alphanumeric) => text.trim(),
        _ => content,
    }
}

impl<T> std::fmt::Debug for AnswerShape<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AnswerShape").field("output", &self.output).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_and_white_space_are_tolerated_and_nothing_else() {
        assert_eq!(unfenced(" {\"a\": 1}\n"), "{\"a\": 1}");
        assert_eq!(unfenced("```json\n{\"a\": 1}\n```"), "{\"a\": 1}");
        assert_eq!(unfenced("```\n[1]\n```\n"), "[1]");
        assert_eq!(unfenced("Here: ```json\n1\n```"), "Here: ```json\n1\n```");
    }
}
