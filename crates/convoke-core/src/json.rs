//! Lossless JSON for states.
//!
//! JSON has no NaN and no infinity; `serde_json` would silently write `null`. A state that cannot be restored must not
//! be stored, so such numbers are errors that say where they are.

use serde::{Serialize, Serializer, ser};
use serde_json::Value;

use crate::Error;

/// The JSON of a value.
///
/// # Errors
/// If it has a number JSON cannot express, or cannot be serialised at all.
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    value.serialize(Finite).map_err(|problem| {
        Error::failed(format!(
            "this cannot be written as JSON: {problem}; make the field an Option, or skip it"
        ))
    })?;
    Ok(serde_json::to_value(value)?)
}

/// Walks through a value and looks at its numbers.
#[derive(Clone, Copy)]
struct Finite;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Problem(String);

impl ser::Error for Problem {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Problem {
    fn within(self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

type Checked = Result<(), Problem>;

macro_rules! fine {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, _: $type) -> Checked { Ok(()) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = Problem;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fine! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_i128(i128), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
        serialize_u128(u128), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, number: f32) -> Checked {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Checked {
        if number.is_finite() { Ok(()) } else { Err(Problem(format!("{number} is not a JSON number"))) }
    }

    fn serialize_none(self) -> Checked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Checked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self).map_err(|problem| problem.within(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Problem> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Problem> {
        Ok(self)
    }
}

macro_rules! elements {
    ($($part:ident::$method:ident),* $(,)?) => {
        $(impl ser::$part for Finite {
            type Ok = ();
            type Error = Problem;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
                value.serialize(*self)
            }

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! fields {
    ($($part:ident),* $(,)?) => {
        $(impl ser::$part for Finite {
            type Ok = ();
            type Error = Problem;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Checked {
                value.serialize(*self).map_err(|problem| problem.within(key))
            }

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = Problem;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Checked {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        value.serialize(*self)
    }

    fn end(self) -> Checked {
        Ok(())
    }
}

/// Puts the keys of all objects in order.
///
/// They are in order by themselves unless some crate of the build switches `serde_json` to insertion order. What goes
/// into the journal, or into a text that a model reads, must not depend on that.
///
/// ```
/// let mut value = serde_json::from_str(r#"{"b": 1, "a": 2}"#)?;
/// convoke_core::sort_keys(&mut value);
/// assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(sort_keys);
            if members.keys().is_sorted() {
                return;
            }
            let mut sorted: Vec<_> = std::mem::take(members).into_iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.extend(sorted);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

/// A value as JSON in one line, with the keys of all objects in order.
///
/// Whatever goes into a prompt, a tool's result or anything else that is compared with the journal is written with this and
/// not with `to_string`, whose order of keys depends on how `serde_json` was built.
///
/// ```
/// let value = serde_json::from_str(r#"{"b": {"d": 1, "c": 2}, "a": 3}"#)?;
/// assert_eq!(convoke_core::json_text(&value), r#"{"a":3,"b":{"c":2,"d":1}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn json_text(value: &Value) -> String {
    if is_in_order(value) {
        return value.to_string();
    }
    let mut value = value.clone();
    sort_keys(&mut value);
    value.to_string()
}

fn is_in_order(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.keys().is_sorted() && members.values().all(is_in_order),
        Value::Array(items) => items.iter().all(is_in_order),
        _ => true,
    }
}

/// Serialises a value with its keys in order.
pub(crate) fn sorted<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = value.clone();
    sort_keys(&mut value);
    value.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Reading {
        sensors: Vec<Sensor>,
    }

    #[derive(Serialize)]
    struct Sensor {
        level: f64,
    }

    #[test]
    fn a_number_json_cannot_express_is_an_error_that_says_where_it_is() {
        let error = to_value(&Reading { sensors: vec![Sensor { level: f64::NAN }] }).unwrap_err();
        assert!(error.to_string().contains("sensors: level: NaN is not a JSON number"), "{error}");
    }

    #[test]
    fn ordinary_states_pass() {
        assert!(to_value(&Reading { sensors: vec![Sensor { level: 0.5 }] }).is_ok());
        assert!(to_value(&(1, "two", Some(3.0), None::<u8>, ())).is_ok());
    }
}
