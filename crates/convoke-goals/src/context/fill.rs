//! Values put into texts.

use super::budget::fit;
use super::{ContextBudget, Fence, Written};
use crate::GoalState;
use crate::agentfile::{Piece, Template};
use crate::tree::Name;

/// A text needs a value that nobody made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${name}` has no value: what should have made it gave none")]
pub struct NoValue {
    /// The variable.
    pub name: String,
}

/// A word or two that a model made stand in a text as they are; more than that stands between marks.
const SHORT: usize = 60;

/// A text with its values.
///
/// What the workflow was given stands where its variable stood. So does what a goal made, if it is short and in one line;
/// otherwise it is [fenced](Fence). Values that are too long together are cut, the largest first, with a note where
/// something is left out.
///
/// # Errors
/// The first variable that has no value.
pub fn fill(
    template: &Template<Name>,
    state: &GoalState,
    fence: &Fence,
    budget: ContextBudget,
) -> Result<Written, NoValue> {
    let mut values =
        template.variables().map(|name| Value::of(name, state, fence)).collect::<Result<Vec<_>, _>>()?;
    let cuts = cut(&mut values, budget);
    let mut values = values.into_iter();
    let mut text = String::new();
    for piece in template.pieces() {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Variable(_) => values.by_ref().take(1).for_each(|value| value.put_into(&mut text, fence)),
        }
    }
    Ok(Written { text, cuts })
}

/// What stands for a variable.
struct Value<'a> {
    name: &'a str,
    text: String,
    /// A goal made it.
    made: bool,
    /// It has our marks in it: the task of a workflow that is an agent. It was cut when it was put together, and cutting
    /// it again could take one mark of two away.
    marked: bool,
}

impl<'a> Value<'a> {
    fn of(name: &'a Name, state: &GoalState, fence: &Fence) -> Result<Self, NoValue> {
        let text = state.text(name).ok_or_else(|| NoValue { name: name.to_string() })?;
        let made = state.outputs.get(name).is_some();
        Ok(Self { name, marked: !made && fence.marked(&text), made, text })
    }

    fn put_into(&self, text: &mut String, fence: &Fence) {
        if !self.made {
            text.push_str(&self.text);
        } else if self.text.len() <= SHORT && !self.text.contains(['\n', '\r']) {
            text.push_str(&fence.without_marks(&self.text));
        } else {
            push_block(text, &fence.wrap(&self.text));
        }
    }
}

/// Cuts values so that together they fit.
fn cut(values: &mut [Value<'_>], budget: ContextBudget) -> Vec<super::Cut> {
    let (whole, others): (Vec<_>, Vec<_>) = values.iter_mut().partition(|value| value.marked);
    let budget = whole.iter().fold(budget, |budget, value| budget.beside(&value.text));
    let texts: Vec<(&str, &str)> = others.iter().map(|value| (value.name, value.text.as_str())).collect();
    let (kept, cuts) = fit(&texts, budget);
    for (value, kept) in others.into_iter().zip(kept) {
        value.text = kept;
    }
    cuts
}

/// Adds a block that begins and ends on lines of its own.
fn push_block(text: &mut String, block: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(block);
    text.push('\n');
}
