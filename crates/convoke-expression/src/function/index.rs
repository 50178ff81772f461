//! Finds equal values among many without comparing each with each.

use std::collections::HashMap;

use super::{Evaluated, Work};
use crate::value::{Text, Value};

/// Looking for a value takes as long as touching so many.
const SOUGHT: usize = 8;

/// Where values of a kind stand that may be equal.
#[derive(Default)]
pub(crate) struct Index<'a>(HashMap<Key<'a>, Vec<usize>>);

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Nil,
    Bool(bool),
    /// A number with a point, or a whole one as such.
    Number(u64),
    Text(Text<'a>),
    Compound,
}

impl<'a> Index<'a> {
    /// The place of the first value for which something holds, among those that may be equal to one. If there is none, the one stands
    /// at `place` from now on.
    pub(crate) fn place(
        &mut self,
        value: &Value<'a>,
        place: usize,
        work: &mut Work,
        mut is_it: impl FnMut(usize, &mut Work) -> Evaluated<'static, bool>,
    ) -> Evaluated<'static, Option<usize>> {
        let key = match value {
            Value::Nil => Key::Nil,
            Value::Bool(value) => Key::Bool(*value),
            Value::Text(text) => Key::Text(text.clone()),
            Value::List(_) | Value::Object(_) => Key::Compound,
            // Zero is zero with a minus too.
            number => Key::Number((number.as_float().unwrap_or(f64::NAN) + 0.0).to_bits()),
        };
        work.touch(SOUGHT)?;
        if let Key::Text(text) = &key {
            work.read(text.len())?;
        }
        let places = self.0.entry(key).or_default();
        for known in places.iter() {
            work.touch(1)?;
            if is_it(*known, work)? {
                return Ok(Some(*known));
            }
        }
        places.push(place);
        Ok(None)
    }
}
