//! Values of expressions. What is in a variable, or written in the expression, is borrowed; what is made is shared, and never so deep in
//! itself that it could not be dropped.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use crate::work::{Evaluated, Fault, Work};

/// Lists and objects that are made stand no deeper in one another.
const DEEPEST: usize = 100;

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Nil,
    Bool(bool),
    Whole(i64),
    Float(f64),
    Text(Text<'a>),
    List(List<'a>),
    Object(Object<'a>),
}

#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Kept(&'a str),
    Made(Rc<str>),
}

#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    Kept(&'a [Json]),
    Made(Rc<Made<Value<'a>>>),
    /// So many whole numbers from the first on.
    Range(i64, usize),
}

/// Entries in the order in which they were made. Keys are no lists and no objects.
#[derive(Debug, Clone)]
pub(crate) enum Object<'a> {
    Kept(&'a Map<String, Json>),
    Made(Rc<Made<(Value<'a>, Value<'a>)>>, Keys),
}

/// By what entries may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Texts,
    Any,
}

#[derive(Debug)]
pub(crate) struct Made<T> {
    items: Vec<T>,
    depth: usize,
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    /// A list of items that are counted already.
    pub(crate) fn list(items: Vec<Self>) -> Evaluated<'a> {
        let depth = deeper(items.iter())?;
        Ok(Self::List(List::Made(Rc::new(Made { items, depth }))))
    }

    /// An object of entries that are counted already.
    pub(crate) fn object(items: Vec<(Self, Self)>, keys: Keys) -> Evaluated<'a> {
        let depth = deeper(items.iter().map(|(_, value)| value))?;
        Ok(Self::Object(Object::Made(Rc::new(Made { items, depth }), keys)))
    }

    /// What messages call it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Whole(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// What it is as a number with a point.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// How deep it is, as far as it was made.
    fn depth(&self) -> usize {
        match self {
            Self::List(List::Made(made)) => made.depth,
            Self::Object(Object::Made(made, _)) => made.depth,
            _ => 0,
        }
    }

    /// Whether it may be the key of an entry.
    pub(crate) fn is_key(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Object(_))
    }

    /// Whether both are the same key: whole numbers and those with a point are different ones.
    pub(crate) fn is_same_key(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (Self::Float(one), Self::Float(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            _ => false,
        }
    }

    /// Whether two values are equal, as `==` has it.
    pub(crate) fn equals(&self, other: &Self, work: &mut Work) -> Evaluated<'static, bool> {
        Ok(match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => {
                work.read(one.len().min(other.len()))?;
                one == other
            }
            (Self::List(one), Self::List(other)) if one.len() == other.len() => {
                for (one, other) in one.iter().zip(other.iter()) {
                    work.touch(1)?;
                    if !one.equals(&other, work)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Object(one), Self::Object(other)) if one.len() == other.len() => {
                for (key, one) in one.iter() {
                    match other.get(&key, work)? {
                        Some(other) if one.equals(&other, work)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            _ => match (self.as_float(), other.as_float()) {
                (Some(one), Some(other)) => one == other,
                _ => self.is_same_key(other),
            },
        })
    }

    /// Whether something is among the items of a list, or the keys of an object.
    pub(crate) fn has(&self, wanted: &Self, work: &mut Work) -> Evaluated<'static, bool> {
        match self {
            Self::List(items) => items.has(wanted, work),
            Self::Object(entries) if entries.takes_key(wanted) => Ok(entries.get(wanted, work)?.is_some()),
            _ => Err(Fault::Unfit),
        }
    }

    /// What JSON calls it, which knows no infinite numbers. Keys that are no texts become texts.
    pub(crate) fn to_json(&self, work: &mut Work) -> Evaluated<'static, Json> {
        work.touch(1)?;
        Ok(match self {
            Self::Nil => Json::Null,
            Self::Bool(value) => (*value).into(),
            Self::Whole(value) => (*value).into(),
            Self::Float(value) if !value.is_finite() => {
                let is = if value.is_nan() { "no number" } else { "an infinite number" };
                return Fault::problem(format!(
                    "it comes to {is}, and no variable can hold that; test for what divides by zero or becomes too large before"
                ));
            }
            Self::Float(value) => (*value).into(),
            Self::Text(text) => {
                work.make(text.len())?;
                (**text).into()
            }
            Self::List(items) => {
                items.iter().map(|item| item.to_json(work)).collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Object(entries) => {
                let mut object = Map::new();
                for (key, value) in entries.iter() {
                    object.insert(crate::function::written(&key, work)?, value.to_json(work)?);
                }
                object.into()
            }
        })
    }
}

fn deeper<'v, 'a: 'v>(items: impl Iterator<Item = &'v Value<'a>>) -> Evaluated<'static, usize> {
    let depth = items.map(Value::depth).max().unwrap_or(0) + 1;
    if depth > DEEPEST {
        return Fault::problem(format!(
            "lists and objects in it stand more than {DEEPEST} deep in one another"
        ));
    }
    Ok(depth)
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(value: &'a Json) -> Self {
        match value {
            Json::Null => Self::Nil,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Self::Whole(whole),
                None => Self::Float(number.as_f64().unwrap_or(f64::MAX)),
            },
            Json::String(text) => Self::Text(Text::Kept(text)),
            Json::Array(items) => Self::List(List::Kept(items)),
            Json::Object(entries) => Self::Object(Object::Kept(entries)),
        }
    }
}

/// Numbers in their order, however large: whole ones are not rounded for it.
pub(crate) fn compare_numbers(one: &Value<'_>, other: &Value<'_>) -> Ordering {
    let mixed = |whole: i64, float: f64| {
        // What has no whole part within the range of whole numbers lies beyond all of them.
        let truncated = float.trunc() as i64;
        let beyond = if float >= 9_223_372_036_854_775_808.0 {
            Ordering::Less
        } else if float < -9_223_372_036_854_775_808.0 {
            Ordering::Greater
        } else {
            whole.cmp(&truncated)
        };
        beyond.then(0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
    };
    match (one, other) {
        (Value::Whole(one), Value::Whole(other)) => one.cmp(other),
        (Value::Whole(one), Value::Float(other)) if !other.is_nan() => mixed(*one, *other),
        (Value::Float(one), Value::Whole(other)) if !one.is_nan() => mixed(*other, *one).reverse(),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Kept(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<'a> Text<'a> {
    /// How many characters it has.
    pub(crate) fn length(&self) -> usize {
        self.chars().count()
    }

    /// The characters from one place up to another, counted.
    pub(crate) fn slice(&self, start: usize, end: usize, work: &mut Work) -> Evaluated<'a> {
        fn after(text: &str, count: usize) -> &str {
            let mut letters = text.chars();
            if let Some(last) = count.checked_sub(1) {
                letters.nth(last);
            }
            letters.as_str()
        }
        work.read(self.len())?;
        let from = after(self, start);
        let piece = &from[..from.len() - after(from, end - start).len()];
        work.make(piece.len())?;
        Ok(Value::text(piece))
    }

    /// Pieces of it, which `cut` finds; those of a text that was made are counted and copied.
    pub(crate) fn pieces(
        &self,
        work: &mut Work,
        cut: impl for<'t> FnOnce(&'t str) -> Vec<&'t str>,
    ) -> Evaluated<'a, Vec<Value<'a>>> {
        work.read(self.len())?;
        Ok(match self {
            Self::Kept(text) => cut(text).into_iter().map(|piece| Value::Text(Text::Kept(piece))).collect(),
            Self::Made(text) => {
                work.make(text.len())?;
                cut(text).into_iter().map(Value::text).collect()
            }
        })
    }
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Kept(items) => items.len(),
            Self::Made(made) => made.items.len(),
            Self::Range(_, length) => *length,
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Kept(items) => items.get(index).map(Value::from),
            Self::Made(made) => made.items.get(index).cloned(),
            Self::Range(first, length) => {
                (index < *length).then(|| Value::Whole(first.saturating_add(index as i64)))
            }
        }
    }

    /// The item at a place, which is counted from the end if it is negative.
    pub(crate) fn at(&self, index: i64) -> Option<Value<'a>> {
        match usize::try_from(index) {
            Ok(index) => self.get(index),
            Err(_) => self.get(self.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The items from one place up to another, counted.
    pub(crate) fn slice(&self, start: usize, end: usize, work: &mut Work) -> Evaluated<'a> {
        let end = end.min(self.len());
        let start = start.min(end);
        Ok(Value::List(match self {
            Self::Kept(items) => Self::Kept(&items[start..end]),
            Self::Range(first, _) => Self::Range(first.saturating_add(start as i64), end - start),
            Self::Made(made) => {
                work.touch(end - start)?;
                return Value::list(made.items[start..end].to_vec());
            }
        }))
    }

    /// Whether a value is among the items.
    pub(crate) fn has(&self, wanted: &Value<'_>, work: &mut Work) -> Evaluated<'static, bool> {
        if let (Self::Range(first, length), Value::Whole(wanted)) = (self, wanted) {
            let place = wanted.checked_sub(*first).and_then(|place| usize::try_from(place).ok());
            return Ok(place.is_some_and(|place| place < *length));
        }
        for item in self.iter() {
            work.touch(1)?;
            if item.equals(wanted, work)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'a> Object<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Kept(entries) => entries.len(),
            Self::Made(made, _) => made.items.len(),
        }
    }

    pub(crate) fn get(&self, key: &Value<'_>, work: &mut Work) -> Evaluated<'static, Option<Value<'a>>> {
        Ok(match self {
            Self::Kept(entries) => match key {
                Value::Text(key) => entries.get(&**key).map(Value::from),
                _ => None,
            },
            Self::Made(made, _) => {
                work.touch(made.items.len() / 4)?;
                made.items.iter().find(|(known, _)| known.is_same_key(key)).map(|(_, value)| value.clone())
            }
        })
    }

    /// Whether something may be asked for by such a key.
    pub(crate) fn takes_key(&self, key: &Value<'_>) -> bool {
        matches!(self, Self::Made(_, Keys::Any)) || matches!(key, Value::Text(_))
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + '_> {
        match self {
            Self::Kept(entries) => Box::new(
                entries.iter().map(|(key, value)| (Value::Text(Text::Kept(key)), Value::from(value))),
            ),
            Self::Made(made, _) => Box::new(made.items.iter().cloned()),
        }
    }
}
