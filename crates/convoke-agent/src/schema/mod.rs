//! JSON Schema: of Rust types, for models to follow and for us to check against.
//!
//! One schema serves three readers. The model is told it, the answer is checked against it, and the Rust type it came
//! from decodes the answer. This module makes the schema and compares values with it; it must never call a model, and
//! knows nothing of any provider: dialects of schemas are theirs.

mod check;
mod decode;
mod generate;
mod nulls;

pub use check::InvalidSchema;
pub(crate) use check::SchemaCheck;
pub(crate) use decode::decode;
pub use generate::{schema_name, schema_of};
