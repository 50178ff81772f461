//! The work that one expression may do, counted in the values it touches and the bytes it makes.
//!
//! Nothing ends an expression from outside, and it must come to the same wherever it is resumed: so it is bounded by a count that is the
//! same on every machine, and never by a clock. Whatever a list, a text or a pattern will take is counted before it is taken.

use crate::value::Value;

/// So many values an expression touches: less than a second, in a build for developers too.
const MOST: usize = 4_000_000;
/// So many bytes of text are read while one value is touched.
const READ: usize = 256;
/// So many bytes are made.
const MADE: usize = 32;

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Something is not what a function takes. Whoever called the function says which and what.
    Unfit,
    /// What is wrong, in words.
    Problem(String),
    /// What is wrong, in words, and something that it is about is nil.
    OfNil(String),
}

pub(crate) type Evaluated<'a, T = Value<'a>> = Result<T, Fault>;

impl Fault {
    pub(crate) fn problem<T>(text: impl Into<String>) -> Result<T, Self> {
        Err(Self::Problem(text.into()))
    }

    /// Whole numbers left their range.
    pub(crate) fn overflow() -> Self {
        Self::Problem(
            "whole numbers in it become larger than 9,223,372,036,854,775,807, or less than the same with a minus; begin with a \
             number that has a point, `1.0 * x`"
                .to_owned(),
        )
    }

    /// Something takes other values than it is given.
    pub(crate) fn unfit(name: &str, takes: &str, given: &[Value<'_>]) -> Self {
        let kinds: Vec<&str> = given.iter().map(Value::kind).collect();
        let problem = format!("`{name}` takes {takes}, not {}", kinds.join(" and "));
        match given.iter().any(|value| matches!(value, Value::Nil)) {
            true => Self::OfNil(problem),
            false => Self::Problem(problem),
        }
    }
}

/// What is left of the work.
#[derive(Debug)]
pub(crate) struct Work {
    left: usize,
}

impl Work {
    pub(crate) fn new() -> Self {
        Self { left: MOST }
    }

    /// How much was done.
    pub(crate) fn done(&self) -> usize {
        MOST - self.left
    }

    /// Counts values that are touched.
    pub(crate) fn touch(&mut self, values: usize) -> Evaluated<'static, ()> {
        self.left = self.left.checked_sub(values).ok_or_else(|| {
            Fault::Problem(
                "it does too much: an expression touches four million values, or makes 128 MiB of texts, all in all. Go over shorter \
                 lists, not over one for every item of another, put texts together with `join`, or compute it in a `script` node"
                    .to_owned(),
            )
        })?;
        Ok(())
    }

    /// Counts text that is read.
    pub(crate) fn read(&mut self, bytes: usize) -> Evaluated<'static, ()> {
        self.touch(bytes / READ)
    }

    /// Counts text that is made.
    pub(crate) fn make(&mut self, bytes: usize) -> Evaluated<'static, ()> {
        self.touch(bytes / MADE)
    }
}
