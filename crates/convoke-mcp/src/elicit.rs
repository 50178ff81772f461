//! Elicitation: a server's form as questions for a person, one a field, in the form's order.
//!
//! Who rejects a question declines the whole form. A form without fields is a question for yes or no.

use convoke_core::{Answer, Decision, Error, Question, Scope, json_text};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::secret::ServerSecrets;

/// How often a field is asked for until the form is given up.
const PATIENCE: usize = 3;

/// The choice that leaves an optional field out.
const NOTHING: &str = "(leave it out)";

/// Asks a person what a server wants to know.
///
/// # Errors
/// Stops of the scope: nobody is there to answer, time is up.
pub(crate) async fn ask(
    scope: &Scope,
    connection: &Connection,
    asked: ElicitRequestParams,
) -> Result<ElicitResult, Error> {
    let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = asked else {
        // Nobody offered to open addresses.
        return Ok(ElicitResult::new(ElicitationAction::Decline));
    };
    let order = requested_schema.property_order.clone();
    let schema = serde_json::to_value(&requested_schema)?;
    let title = format!("[MCP:{}] {message}", connection.server());
    let form = Form { scope, secrets: connection.secrets(), title };
    form.fill(&schema, order).await
}

struct Form<'a> {
    scope: &'a Scope,
    /// What must not be in a question.
    secrets: &'a ServerSecrets,
    title: String,
}

/// What became of a field.
enum FieldAnswer {
    With(Value),
    LeftOut,
    Declined,
    GivenUp,
}

impl Form<'_> {
    async fn fill(&self, schema: &Value, order: Option<Vec<String>>) -> Result<ElicitResult, Error> {
        let empty = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&empty);
        if fields.is_empty() {
            let answer = self.ask(Question::confirm(&self.title)).await?;
            return Ok(if answer.is_approval() {
                ElicitResult::new(ElicitationAction::Accept).with_content(json!({}))
            } else {
                ElicitResult::new(ElicitationAction::Decline)
            });
        }
        let names = order.unwrap_or_else(|| {
            // Questions are numbered in the journal, so their order must not depend on how `serde_json` was built.
            let mut names: Vec<String> = fields.keys().cloned().collect();
            names.sort_unstable();
            names
        });
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut content = Map::new();
        for name in names {
            let Some(definition) = fields.get(&name) else { continue };
            let field = Field { name: &name, definition, required: required.contains(&json!(name)) };
            match self.field(&field).await? {
                FieldAnswer::With(value) => drop(content.insert(name.clone(), value)),
                FieldAnswer::LeftOut => {}
                FieldAnswer::Declined => return Ok(ElicitResult::new(ElicitationAction::Decline)),
                FieldAnswer::GivenUp => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
            }
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)))
    }

    async fn ask(&self, mut question: Question) -> Result<Answer, Error> {
        question.title = self.secrets.hide(&question.title);
        question.details = self.secrets.hide(&question.details);
        question.subject = self.secrets.hide_in_value(question.subject);
        self.scope.ask(question).await
    }

    async fn field(&self, field: &Field<'_>) -> Result<FieldAnswer, Error> {
        let mut problem = None;
        for _ in 0..PATIENCE {
            let answer = self.ask(field.question(&self.title, problem.as_deref())).await?;
            match field.read(&answer) {
                Ok(filled) => return Ok(filled),
                Err(unfit) => problem = Some(unfit),
            }
        }
        Ok(FieldAnswer::GivenUp)
    }
}

struct Field<'a> {
    name: &'a str,
    definition: &'a Value,
    required: bool,
}

impl Field<'_> {
    fn question(&self, title: &str, problem: Option<&str>) -> Question {
        let label = self.definition["title"].as_str().unwrap_or(self.name);
        let title = format!("{title} ({label})");
        let question = match self.options() {
            Some(mut options) if !self.takes_several() => {
                if !self.required {
                    options.push((NOTHING.to_owned(), Value::Null));
                }
                Question::choice(title, options.into_iter().map(|(shown, _)| shown))
            }
            _ => Question::text(title),
        };
        let mut details: Vec<String> = Vec::new();
        details.extend(problem.map(|problem| format!("That did not fit: {problem}.")));
        details.extend(self.definition["description"].as_str().map(str::to_owned));
        if self.takes_several() {
            let shown: Vec<String> =
                self.options().unwrap_or_default().into_iter().map(|(shown, _)| shown).collect();
            details.push(format!("Any of, separated by commas: {}", shown.join(", ")));
        }
        if let Some(default) = self.definition.get("default") {
            details.push(format!("An empty answer means {}.", json_text(default)));
        } else if !self.required {
            details.push("An empty answer leaves it out.".to_owned());
        }
        question.details(details.join("\n")).about(self.definition.clone())
    }

    /// What an answer means, or what is wrong with it.
    fn read(&self, answer: &Answer) -> Result<FieldAnswer, String> {
        match &answer.decision {
            Decision::Choose { option } if option == NOTHING => Ok(self.default()),
            Decision::Choose { option } => self.chosen(option).map(FieldAnswer::With),
            Decision::Text { text } if text.trim().is_empty() => match self.default() {
                FieldAnswer::LeftOut if self.required => Err("it is needed".to_owned()),
                default => Ok(default),
            },
            Decision::Text { text } => self.typed(text.trim()).map(FieldAnswer::With),
            _ => Ok(FieldAnswer::Declined),
        }
    }

    fn default(&self) -> FieldAnswer {
        self.definition.get("default").map_or(FieldAnswer::LeftOut, |value| FieldAnswer::With(value.clone()))
    }

    fn kind(&self) -> &str {
        self.definition["type"].as_str().unwrap_or("string")
    }

    fn takes_several(&self) -> bool {
        self.kind() == "array"
    }

    /// What may be chosen: what is shown, and what it stands for.
    fn options(&self) -> Option<Vec<(String, Value)>> {
        if self.kind() == "boolean" {
            return Some(vec![("yes".to_owned(), json!(true)), ("no".to_owned(), json!(false))]);
        }
        let place = if self.takes_several() { &self.definition["items"] } else { self.definition };
        let titled = place.get("oneOf").or_else(|| place.get("anyOf")).and_then(Value::as_array);
        if let Some(titled) = titled {
            let option = |option: &Value| {
                let value = option.get("const")?.clone();
                Some((option["title"].as_str().map_or_else(|| shown(&value), str::to_owned), value))
            };
            return Some(titled.iter().filter_map(option).collect());
        }
        let values = place.get("enum")?.as_array()?;
        let names = place.get("enumNames").and_then(Value::as_array);
        let option = |(number, value): (usize, &Value)| {
            let name = names.and_then(|names| names.get(number)).and_then(Value::as_str);
            (name.map_or_else(|| shown(value), str::to_owned), value.clone())
        };
        Some(values.iter().enumerate().map(option).collect())
    }

    fn chosen(&self, option: &str) -> Result<Value, String> {
        let options = self.options().unwrap_or_default();
        let found = options.into_iter().find(|(shown, value)| shown == option || value == option);
        found.map(|(_, value)| value).ok_or_else(|| format!("`{option}` is not among the choices"))
    }

    fn typed(&self, text: &str) -> Result<Value, String> {
        match self.kind() {
            "array" => {
                let chosen: Result<Vec<Value>, String> =
                    text.split(',').map(|option| self.chosen(option.trim())).collect();
                let chosen = chosen?;
                self.within(chosen.len() as f64, "minItems", "maxItems", "choices")?;
                Ok(Value::Array(chosen))
            }
            "integer" => {
                let number: i64 = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
                self.within(number as f64, "minimum", "maximum", "")?;
                Ok(json!(number))
            }
            "number" => {
                // What has no end, or is none, cannot be told to a server.
                let number = text.parse().ok().filter(|number: &f64| number.is_finite());
                let number = number.ok_or_else(|| format!("`{text}` is not a number"))?;
                self.within(number, "minimum", "maximum", "")?;
                Ok(json!(number))
            }
            _ if self.options().is_some() => self.chosen(text),
            _ => {
                self.within(text.chars().count() as f64, "minLength", "maxLength", "characters")?;
                Ok(json!(text))
            }
        }
    }

    fn within(&self, value: f64, least: &str, most: &str, unit: &str) -> Result<(), String> {
        let limit = |key: &str| self.definition.get(key).and_then(Value::as_f64);
        if let Some(least) = limit(least).filter(|least| value < *least) {
            return Err(format!("at least {least} {unit}").trim_end().to_owned());
        }
        if let Some(most) = limit(most).filter(|most| value > *most) {
            return Err(format!("at most {most} {unit}").trim_end().to_owned());
        }
        Ok(())
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text(value), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_number() {
        let definition = json!({"type": "number", "minimum": 1});
        let field = Field { name: "n", definition: &definition, required: true };
        assert_eq!(field.typed("2.5"), Ok(json!(2.5)));
        for (text, problem) in [
            ("NaN", "`NaN` is not a number"),
            ("inf", "`inf` is not a number"),
            ("two", "`two` is not a number"),
            ("0.5", "at least 1"),
        ] {
            assert_eq!(field.typed(text), Err(problem.to_owned()));
        }
    }
}
