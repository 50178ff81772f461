//! The functions of expressions. None knows a clock, makes what is not counted, or comes to something else on another machine.

mod convert;
mod encode;
mod index;
mod items;
mod lists;
mod numbers;
mod texts;

use crate::value::{List, Object, Text, Value};
use crate::work::{Evaluated, Fault, Work};

pub(crate) use convert::written;
pub(crate) use items::OverItems;

/// A function of values.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// What it takes, for messages.
    pub(crate) takes: &'static str,
    /// With how many values it is called.
    pub(crate) least: usize,
    pub(crate) most: usize,
    body: Body,
}

type Body = for<'a> fn(Given<'_, 'a>, &mut Work) -> Evaluated<'a>;

/// A row of a table of functions.
const fn function(
    name: &'static str,
    least: usize,
    most: usize,
    takes: &'static str,
    body: Body,
) -> Function {
    Function { name, takes, least, most, body }
}

static TABLES: [&[Function]; 5] =
    [numbers::FUNCTIONS, texts::FUNCTIONS, lists::FUNCTIONS, convert::FUNCTIONS, encode::FUNCTIONS];

pub(crate) fn named(name: &str) -> Option<&'static Function> {
    TABLES.iter().copied().flatten().find(|function| function.name == name)
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().copied().flatten().map(|function| function.name).chain(OverItems::names())
}

impl Function {
    pub(crate) fn call<'a>(&self, given: &[Value<'a>], work: &mut Work) -> Evaluated<'a> {
        match (self.body)(Given(given), work) {
            Err(Fault::Unfit) => Err(Fault::unfit(self.name, self.takes, given)),
            made => made,
        }
    }
}

/// What a function is called with. What is not as it should be is [`Fault::Unfit`].
#[derive(Clone, Copy)]
struct Given<'v, 'a>(&'v [Value<'a>]);

impl<'v, 'a> Given<'v, 'a> {
    fn value(self, place: usize) -> Evaluated<'a, &'v Value<'a>> {
        self.0.get(place).ok_or(Fault::Unfit)
    }

    fn has(self, place: usize) -> bool {
        place < self.0.len()
    }

    fn text(self, place: usize) -> Evaluated<'a, &'v Text<'a>> {
        if let Some(Value::Text(text)) = self.0.get(place) { Ok(text) } else { Err(Fault::Unfit) }
    }

    fn list(self, place: usize) -> Evaluated<'a, &'v List<'a>> {
        if let Some(Value::List(list)) = self.0.get(place) { Ok(list) } else { Err(Fault::Unfit) }
    }

    fn object(self, place: usize) -> Evaluated<'a, &'v Object<'a>> {
        if let Some(Value::Object(object)) = self.0.get(place) { Ok(object) } else { Err(Fault::Unfit) }
    }

    fn whole(self, place: usize) -> Evaluated<'a, i64> {
        if let Some(Value::Whole(number)) = self.0.get(place) { Ok(*number) } else { Err(Fault::Unfit) }
    }

    fn float(self, place: usize) -> Evaluated<'a, f64> {
        self.value(place)?.as_float().ok_or(Fault::Unfit)
    }

    /// Whether `"desc"` is asked for; `"asc"` may be written too.
    fn is_descending(self, place: usize) -> Evaluated<'a, bool> {
        match self.0.get(place) {
            None => Ok(false),
            Some(Value::Text(order)) if &**order == "asc" => Ok(false),
            Some(Value::Text(order)) if &**order == "desc" => Ok(true),
            Some(_) => Err(Fault::Unfit),
        }
    }
}
