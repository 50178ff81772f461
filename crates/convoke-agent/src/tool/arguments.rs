//! Tool arguments: their schema, and how they are checked and decoded.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::schema::{InvalidSchema, SchemaCheck, decode, schema_of};

/// A type that a tool can take as its arguments: the model is told its JSON Schema, and what it says is read as one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "a tool's arguments have a JSON Schema and are read from JSON",
    note = "derive schemars::JsonSchema and serde's Deserialize: `#[derive(serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait ToolArguments: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolArguments for T {}

/// The arguments of one tool.
pub(crate) struct Arguments {
    schema: Value,
    check: Result<SchemaCheck, InvalidSchema>,
    decodes: fn(Value) -> Result<(), String>,
}

impl Arguments {
    /// Arguments of a Rust type.
    pub(crate) fn of<A: ToolArguments>() -> Self {
        let schema = schema_of::<A>();
        let check = SchemaCheck::new(schema.clone());
        Self { schema, check, decodes: |value| decode::<A>(value).map(drop) }
    }

    /// Arguments with this schema.
    pub(crate) fn with_schema(schema: Value) -> Result<Self, InvalidSchema> {
        let check = SchemaCheck::new(schema.clone())?;
        Ok(Self { schema, check: Ok(check), decodes: |_| Ok(()) })
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Says what is wrong with the arguments, if anything is.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), String> {
        if let Value::String(text) = arguments {
            let problem = match serde_json::from_str::<Value>(text) {
                Err(error) => error.to_string(),
                Ok(_) => "they are JSON within a string".to_owned(),
            };
            return Err(format!("they are not a JSON object: {problem}; write the object itself"));
        }
        let check = self.check.as_ref().map_err(ToString::to_string)?;
        let meant = check.meant(&object(arguments));
        check.check(&meant)?;
        (self.decodes)(meant)
    }

    /// The arguments as they were meant.
    pub(crate) fn meant(&self, arguments: &Value) -> Value {
        let arguments = object(arguments);
        match &self.check {
            Ok(check) => check.meant(&arguments),
            Err(_) => arguments,
        }
    }
}

/// No arguments at all are an empty object.
fn object(arguments: &Value) -> Value {
    if arguments.is_null() { Value::Object(Map::new()) } else { arguments.clone() }
}
