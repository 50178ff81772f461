//! Typed answers of models, for machinery that decides by them.
//!
//! The answer must be the one JSON object in what the model says. Words around it do no harm, but nobody picks one of
//! two: the other may be quoted from what is being judged.

use std::sync::Arc;

use convoke_agent::AnswerShape;
use convoke_core::{Error, Message, Model, ModelParams, ModelRequest, Scope, Visibility};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A model's answer.
pub(super) enum ModelAnswer<T> {
    Answer(T),
    /// Twice something that cannot be used.
    Unreadable {
        said: String,
        problem: String,
    },
}

/// Asks a model, once more if what it says cannot be used. `check` turns what was read into what is wanted, or says what
/// is wrong with it.
pub(super) async fn ask<R, T>(
    scope: &Scope,
    (model, params): (&Arc<dyn Model>, &ModelParams),
    messages: [Message; 2],
    check: impl Fn(R) -> Result<T, String>,
) -> Result<ModelAnswer<T>, Error>
where
    R: DeserializeOwned + JsonSchema,
{
    let shape = AnswerShape::<R>::of().map_err(Error::failed)?;
    let mut request = ModelRequest::new(Vec::from(messages));
    request.output = Some(shape.output().clone());
    request.params = params.clone();
    let (said, problem) = match ask_once(scope, model, &request, &shape, &check).await? {
        Ok(answer) => return Ok(ModelAnswer::Answer(answer)),
        Err(unusable) => unusable,
    };
    // Providers refuse messages without any text.
    if !said.trim().is_empty() {
        request.messages.push(Message::assistant(said));
    }
    request.messages.push(Message::user(format!(
        "That cannot be used: {problem}. Answer again, with one JSON object of the form asked for and nothing else."
    )));
    Ok(match ask_once(scope, model, &request, &shape, &check).await? {
        Ok(answer) => ModelAnswer::Answer(answer),
        Err((said, problem)) => ModelAnswer::Unreadable { said, problem },
    })
}

/// One call: the answer, or what was said and what is wrong with it.
async fn ask_once<R: DeserializeOwned, T>(
    scope: &Scope,
    model: &Arc<dyn Model>,
    request: &ModelRequest,
    shape: &AnswerShape<R>,
    check: &impl Fn(R) -> Result<T, String>,
) -> Result<Result<T, (String, String)>, Error> {
    let reply = scope.model(model, request.clone(), Visibility::Hidden).await?;
    let said = reply.text();
    let answer = match reply.whole() {
        Ok(_) => sole_object(&said).and_then(|object| shape.read(&object.to_string())).and_then(check),
        Err(half) => Err(half.to_string()),
    };
    Ok(answer.map_err(|problem| (said, problem)))
}

/// The one JSON object in a text.
fn sole_object(text: &str) -> Result<Value, String> {
    let none = || "there is no JSON object in it".to_owned();
    let (before, _) = text.split_once('{').ok_or_else(none)?;
    let mut objects = serde_json::Deserializer::from_str(&text[before.len()..]).into_iter::<Value>();
    let object = match objects.next() {
        Some(Ok(object)) => object,
        Some(Err(error)) => return Err(format!("it is not JSON: {error}")),
        None => return Err(none()),
    };
    if text[before.len() + objects.byte_offset()..].contains('{') {
        return Err("there is more than one JSON object in it".to_owned());
    }
    Ok(tidied(object))
}

/// Words to choose from, however they are written.
fn tidied(mut object: Value) -> Value {
    for key in ["verdict", "confidence"] {
        if let Some(Value::String(word)) = object.get_mut(key) {
            *word = word.trim().to_lowercase();
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sole_object;

    #[test]
    fn agentcore_159_the_one_object_in_a_text() {
        assert_eq!(sole_object(r#"{"a": "}{"}"#), Ok(json!({"a": "}{"})));
        assert_eq!(
            sole_object("Here: ```json\n{\"a\": {\"b\": 1}}\n``` as asked."),
            Ok(json!({"a": {"b": 1}}))
        );
        for text in
            ["", "no braces", "}{", "{", "{not json}", r#"{"verdict": "continue"} or {"verdict": "halt"}"#]
        {
            assert!(sole_object(text).is_err(), "{text}");
        }
        assert_eq!(sole_object(r#"{"verdict": " HALT "}"#), Ok(json!({"verdict": "halt"})));
    }
}
