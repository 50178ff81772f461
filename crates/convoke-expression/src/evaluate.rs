//! What an expression comes to: a function of variables, which are only looked at.

use regex_automata::hybrid::dfa::Cache;
use serde_json::Value as Json;

use crate::operator::{Operator, TEXTS};
use crate::pattern::Pattern;
use crate::syntax::{Access, Block, Expression, Sign};
use crate::value::{Keys, Text, Value};
use crate::work::{Evaluated, Fault, Work};

/// An expression that is being evaluated.
pub(crate) struct Evaluation<'a> {
    names: &'a [String],
    variable: &'a dyn Fn(&str) -> Option<&'a Json>,
    /// What `let` and functions over items named, as the parser counted it.
    pub(crate) locals: Vec<Value<'a>>,
    pub(crate) work: Work,
    /// What was made of the automata of patterns, by their place.
    automata: Vec<Option<Cache>>,
    /// The last pattern that was no literal.
    made: Option<(String, Pattern, Option<Cache>)>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(names: &'a [String], variable: &'a dyn Fn(&str) -> Option<&'a Json>) -> Self {
        Self { names, variable, locals: Vec::new(), work: Work::new(), automata: Vec::new(), made: None }
    }

    pub(crate) fn block(&mut self, block: &'a Block) -> Evaluated<'a> {
        if block.lets.is_empty() {
            return self.value(&block.value);
        }
        let outer = self.locals.len();
        for named in &block.lets {
            let value = self.value(named)?;
            self.locals.push(value);
        }
        let value = self.value(&block.value);
        self.locals.truncate(outer);
        value
    }

    // Only hands on: whatever has values of its own is a function of its own, for an expression may be deep.
    pub(crate) fn value(&mut self, expression: &'a Expression) -> Evaluated<'a> {
        self.work.touch(1)?;
        match expression {
            Expression::Nil => Ok(Value::Nil),
            Expression::Bool(value) => Ok(Value::Bool(*value)),
            Expression::Whole(number) => Ok(Value::Whole(*number)),
            Expression::Float(number) => Ok(Value::Float(*number)),
            Expression::Text(text) => Ok(Value::Text(Text::Kept(text))),
            Expression::Variable(place) => {
                Ok((self.variable)(&self.names[*place]).map_or(Value::Nil, Value::from))
            }
            Expression::Local(place) => Ok(self.locals.get(*place).cloned().unwrap_or(Value::Nil)),
            Expression::List(items) => self.values(items).and_then(Value::list),
            Expression::Object(entries) => self.object(entries),
            Expression::Not(of) => self.truth("not", "true or false", of).map(|value| Value::Bool(!value)),
            Expression::Signed(sign, of) => self.signed(*sign, of),
            Expression::Both(both) => self.both(both),
            Expression::Either(both) => self.either(both),
            Expression::Binary(operator, both) => self.binary(operator, both),
            Expression::Matches(text, pattern, place) => self.matches(text, pattern, *place),
            Expression::MatchesMade(both) => self.matches_made(both),
            Expression::In(both, access) => self.within(both, *access),
            Expression::Slice(of, first, last) => self.slice(of, first.as_deref(), last.as_deref()),
            Expression::Default(both) => match self.value(&both.0)? {
                Value::Nil => self.value(&both.1),
                value => Ok(value),
            },
            Expression::Choice(condition, blocks) => {
                let is_first = self.truth("?:", "true or false before it", condition)?;
                self.block(if is_first { &blocks.0 } else { &blocks.1 })
            }
            Expression::Call(function, arguments) => {
                let arguments = self.values(arguments)?;
                function.call(&arguments, &mut self.work)
            }
            Expression::Items(over, arguments, predicate) => {
                self.over_items(*over, arguments, predicate.as_deref())
            }
        }
    }

    pub(crate) fn values(&mut self, expressions: &'a [Expression]) -> Evaluated<'a, Vec<Value<'a>>> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    fn object(&mut self, entries: &'a [(String, Expression)]) -> Evaluated<'a> {
        let mut made: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let (key, value) = (Value::Text(Text::Kept(name)), self.value(value)?);
            // What is written twice is what it was last, in its first place.
            match made.iter_mut().find(|(known, _)| known.is_same_key(&key)) {
                Some((_, known)) => *known = value,
                None => made.push((key, value)),
            }
        }
        Value::object(made, Keys::Texts)
    }

    fn truth(&mut self, name: &str, takes: &str, of: &'a Expression) -> Evaluated<'a, bool> {
        match self.value(of)? {
            Value::Bool(value) => Ok(value),
            other => Err(Fault::unfit(name, takes, &[other])),
        }
    }

    fn both(&mut self, both: &'a (Expression, Expression)) -> Evaluated<'a> {
        let takes = "true or false on both sides";
        Ok(Value::Bool(self.truth("and", takes, &both.0)? && self.truth("and", takes, &both.1)?))
    }

    fn either(&mut self, both: &'a (Expression, Expression)) -> Evaluated<'a> {
        let takes = "true or false on both sides";
        Ok(Value::Bool(self.truth("or", takes, &both.0)? || self.truth("or", takes, &both.1)?))
    }

    fn signed(&mut self, sign: Sign, of: &'a Expression) -> Evaluated<'a> {
        match (sign, self.value(of)?) {
            (Sign::Plus, value @ (Value::Whole(_) | Value::Float(_))) => Ok(value),
            (Sign::Minus, Value::Whole(number)) => {
                number.checked_neg().map(Value::Whole).ok_or_else(Fault::overflow)
            }
            (Sign::Minus, Value::Float(number)) => Ok(Value::Float(-number)),
            (Sign::Plus, other) => Err(Fault::unfit("+", "a number", &[other])),
            (Sign::Minus, other) => Err(Fault::unfit("-", "a number", &[other])),
        }
    }

    fn binary(&mut self, operator: &Operator, both: &'a (Expression, Expression)) -> Evaluated<'a> {
        let (one, other) = (self.value(&both.0)?, self.value(&both.1)?);
        operator.apply(one, other, &mut self.work)
    }

    fn matches(&mut self, text: &'a Expression, pattern: &Pattern, place: usize) -> Evaluated<'a> {
        let text = match self.value(text)? {
            Value::Text(text) => text,
            other => return Err(Fault::unfit("matches", "a text before it", &[other])),
        };
        if self.automata.len() <= place {
            self.automata.resize_with(place + 1, || None);
        }
        pattern.fits(&text, &mut self.automata[place], &mut self.work).map(Value::Bool)
    }

    fn matches_made(&mut self, both: &'a (Expression, Expression)) -> Evaluated<'a> {
        let (text, pattern) = match (self.value(&both.0)?, self.value(&both.1)?) {
            (Value::Text(text), Value::Text(pattern)) => (text, pattern),
            (one, other) => return Err(Fault::unfit("matches", TEXTS, &[one, other])),
        };
        let (_, compiled, automaton) = match self.made.take().filter(|(known, ..)| **known == *pattern) {
            Some(last) => self.made.insert(last),
            None => {
                let compiled = Pattern::new(&pattern).map_err(Fault::Problem)?;
                self.work.touch(compiled.work)?;
                self.made.insert((pattern.to_string(), compiled, None))
            }
        };
        compiled.fits(&text, automaton, &mut self.work).map(Value::Bool)
    }

    /// `a.b`, `a["b"]`, `a[0]`
    fn within(&mut self, both: &'a (Expression, Expression), access: Access) -> Evaluated<'a> {
        let (of, key) = (self.value(&both.0)?, self.value(&both.1)?);
        match (&of, &key) {
            (Value::List(items), Value::Whole(place)) => Ok(items.at(*place).unwrap_or(Value::Nil)),
            (Value::Object(entries), key) if entries.takes_key(key) => {
                Ok(entries.get(key, &mut self.work)?.unwrap_or(Value::Nil))
            }
            _ if access == Access::Optional => Ok(Value::Nil),
            (_, Value::Text(name)) => {
                Err(Fault::unfit(&format!(".{}", &**name), "an object before it", &[of]))
            }
            _ => Err(Fault::unfit("[]", "a list and a whole number, or an object and a name", &[of, key])),
        }
    }

    fn slice(
        &mut self,
        of: &'a Expression,
        first: Option<&'a Expression>,
        last: Option<&'a Expression>,
    ) -> Evaluated<'a> {
        let of = self.value(of)?;
        let length = match &of {
            Value::List(items) => items.len(),
            Value::Text(text) => {
                self.work.read(text.len())?;
                text.length()
            }
            _ => return Err(Fault::unfit("[:]", "a list or a text", &[of])),
        };
        let start = self.bound(first, length)?.unwrap_or(0);
        let end = self.bound(last, length)?.unwrap_or(length);
        let start = start.min(end);
        match &of {
            Value::List(items) => items.slice(start, end, &mut self.work),
            Value::Text(text) => text.slice(start, end, &mut self.work),
            _ => Err(Fault::Unfit),
        }
    }

    /// A place in something of a length, counted from its end if it is negative.
    fn bound(&mut self, bound: Option<&'a Expression>, length: usize) -> Evaluated<'a, Option<usize>> {
        let Some(bound) = bound else { return Ok(None) };
        match self.value(bound)? {
            Value::Whole(place) => {
                let distance = usize::try_from(place.unsigned_abs()).unwrap_or(usize::MAX);
                Ok(Some(if place < 0 { length.saturating_sub(distance) } else { distance.min(length) }))
            }
            other => Err(Fault::unfit("[:]", "whole numbers", &[other])),
        }
    }
}
