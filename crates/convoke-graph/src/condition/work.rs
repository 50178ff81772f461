//! The work of an expression that does something with every item of a list.
//!
//! Nothing can end an expression from outside, and what it makes of `#acc` may double with every item. So wherever a variable or an
//! item is used, its size is counted: what an expression may use is bounded, and with it the time it takes and what it can make. The
//! bound is the same on every machine: an expression that is decided once is decided again.

use std::cell::Cell;
use std::sync::LazyLock;

use expr::{Context, Environment, Error, Program, Value};

/// What is called with every value that is used; no expression can call it itself.
const COUNTED: &str = "counted_";
/// What a value weighs in addition to its text.
const VALUE: usize = 64;
/// So much an expression uses, two million numbers for instance.
const MOST: usize = 128 << 20;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(MOST) };
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.add_function(COUNTED, |call| {
        let value = call.args.into_iter().next().unwrap_or(Value::Nil);
        let left = weigh(&value, LEFT.get());
        LEFT.set(left.unwrap_or(0));
        left.map(|_| value).ok_or_else(|| {
            Error::ExprError(
                "it does too much: what it does for every item of its lists may use two million values, or 128 MiB of \
                 texts, all in all. Go over shorter lists, not over one for every item of another, put texts together \
                 with `join`, or compute it in a `script` node"
                    .to_owned(),
            )
        })
    });
    environment
});

/// Runs a program for as much as it may use.
pub(super) fn run(program: &Program, context: &Context) -> expr::Result<Value> {
    LEFT.set(MOST);
    ENVIRONMENT.run(program, context)
}

/// What stands for a value in an expression whose work is counted.
pub(super) fn counted(value: &str, is_counted: bool) -> String {
    if is_counted { format!("{COUNTED}({value})") } else { value.to_owned() }
}

/// What is left after a value was used; `None` if there is not so much.
fn weigh(value: &Value, left: usize) -> Option<usize> {
    let left = left.checked_sub(VALUE)?;
    match value {
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(items) => items.iter().try_fold(left, |left, item| weigh(item, left)),
        Value::Map(entries) => {
            entries.iter().try_fold(left, |left, (name, value)| weigh(value, left.checked_sub(name.len())?))
        }
        _ => Some(left),
    }
}
