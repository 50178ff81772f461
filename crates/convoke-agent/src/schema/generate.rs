//! Generates the schema of a Rust type, in the form models are given.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// The JSON Schema of a type.
///
/// Types are written out where they are used; only recursive ones are referred to. Optional fields are nullable and not
/// required, unsigned numbers are not negative, and a [`Value`] may be anything.
///
/// ```
/// use convoke_agent::schema_of;
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Search {
///     /// What to look for.
///     query: String,
///     #[schemars(range(max = 50))]
///     limit: Option<u32>,
/// }
///
/// assert_eq!(schema_of::<Search>(), json!({
///     "type": "object",
///     "properties": {
///         "query": {"type": "string", "description": "What to look for."},
///         "limit": {"type": ["integer", "null"], "minimum": 0, "maximum": 50},
///     },
///     "required": ["query"],
/// }));
/// ```
#[must_use]
pub fn schema_of<T: JsonSchema + ?Sized>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(RecursiveTransform(tidy as fn(&mut Schema)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name goes beside the schema, where providers want it.
    schema.remove("title");
    schema.to_value()
}

/// A type's name as models are told it: lower case, words joined by underscores.
///
/// ```
/// use convoke_agent::schema_name;
/// use schemars::JsonSchema;
///
/// #[derive(JsonSchema)]
/// struct MovieReview;
///
/// assert_eq!(schema_name::<MovieReview>(), "movie_review");
/// assert_eq!(schema_name::<Vec<MovieReview>>(), "array_of_movie_review");
/// ```
#[must_use]
pub fn schema_name<T: JsonSchema + ?Sized>() -> String {
    snake_case(&T::schema_name())
}

/// What schemars adds for other readers and providers stumble over.
fn tidy(schema: &mut Schema) {
    let is_width = |format: &str| {
        ["int", "uint"].iter().any(|kind| {
            format.strip_prefix(kind).is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()))
        }) || ["float", "double"].contains(&format)
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_width) {
        schema.remove("format");
    }
    if schema.as_bool() == Some(true) {
        *schema = Schema::from(Map::new());
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut before_is_lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && before_is_lower {
            snake.push('_');
        }
        if character.is_ascii_alphanumeric() {
            snake.push(character.to_ascii_lowercase());
        } else if !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        before_is_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    let snake = snake.trim_end_matches('_');
    if snake.is_empty() { "answer".to_owned() } else { snake.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_lower_case_words() {
        assert_eq!(snake_case("MovieReview"), "movie_review");
        assert_eq!(snake_case("HTTPAnswer2"), "httpanswer2");
        assert_eq!(snake_case("Array_of_Row"), "array_of_row");
        assert_eq!(snake_case("…"), "answer");
    }
}
