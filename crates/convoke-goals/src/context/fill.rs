//! Fills values into templates.

use super::budget::fit;
use super::{ContextBudget, Fence, FittedPrompt};
use crate::GoalState;
use crate::agentfile::{Piece, Template};
use crate::rules::Rules;
use crate::tree::Name;

/// A text needs a value that nobody made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${name}` has no value: what should have made it gave none")]
pub struct MissingValue {
    /// The variable.
    pub name: String,
}

/// A word or two that a model made stand in a text as they are; more than that stands between marks.
const SHORT: usize = 60;

/// A text with its values.
///
/// A value in one line without `<` and `>` stands where its variable stood, if the workflow was given it or it is short. So
/// does an input of several lines that is the whole text, for then it is what is to be done. Everything else could be
/// taken for a part of the prompt, and is [fenced](Fence). Values that are too long together are cut, the largest first,
/// with a note where something is left out.
///
/// # Errors
/// The first variable that has no value.
pub fn fill(
    template: &Template<Name>,
    state: &GoalState,
    fence: &Fence,
    budget: ContextBudget,
) -> Result<FittedPrompt, MissingValue> {
    TemplateFiller { fence, budget, rules: Rules::CURRENT, task: None }.fill(template, state)
}

/// Puts values into templates.
pub(crate) struct TemplateFiller<'a> {
    pub(crate) fence: &'a Fence,
    pub(crate) budget: ContextBudget,
    pub(crate) rules: Rules,
    /// The input that has a task which was put together here: it is to be followed, and what others wrote is fenced in it.
    pub(crate) task: Option<&'a str>,
}

impl TemplateFiller<'_> {
    pub(crate) fn fill(
        &self,
        template: &Template<Name>,
        state: &GoalState,
    ) -> Result<FittedPrompt, MissingValue> {
        let is_whole = is_one_variable(template);
        let values = template.variables().map(|name| self.value(name, state, is_whole));
        let mut values = values.collect::<Result<Vec<_>, _>>()?;
        let cuts = cut(&mut values, self.budget);
        let mut values = values.into_iter();
        let mut text = String::new();
        for piece in template.pieces() {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Variable(_) => {
                    values.by_ref().take(1).for_each(|value| value.put_into(&mut text, self.fence));
                }
            }
        }
        Ok(FittedPrompt { text, cuts })
    }

    fn value<'n>(
        &self,
        name: &'n Name,
        state: &GoalState,
        is_whole: bool,
    ) -> Result<Value<'n>, MissingValue> {
        let text = state.text(name).ok_or_else(|| MissingValue { name: name.to_string() })?;
        let marked = self.fence.marked(&text);
        let in_one_line = !text.contains(['\n', '\r']);
        let is_short = text.len() <= SHORT && in_one_line;
        let (place, marked) = match state.outputs.get(name) {
            Some(_) if !is_short || (self.rules.fence_markup() && has_markup(&text)) => {
                (Placement::Fenced, false)
            }
            Some(_) => (Placement::Plain, false),
            None if !self.rules.fence_markup() || self.task == Some(&**name) => (Placement::AsItIs, marked),
            None if has_markup(&text) || marked || !(in_one_line || is_whole) => (Placement::Fenced, false),
            None => (Placement::AsItIs, false),
        };
        Ok(Value { name, text, place, marked })
    }
}

/// Whether a text could be taken for a tag of a prompt, or for a part of one.
fn has_markup(text: &str) -> bool {
    text.contains(['<', '>'])
}

/// Whether a text is a variable and nothing else.
fn is_one_variable(template: &Template<Name>) -> bool {
    let is_blank = |piece: &Piece<Name>| matches!(piece, Piece::Text(text) if text.trim().is_empty());
    template.variables().count() == 1
        && template.pieces().iter().all(|piece| is_blank(piece) || matches!(piece, Piece::Variable(_)))
}

/// What stands for a variable.
struct Value<'a> {
    name: &'a str,
    text: String,
    place: Placement,
    /// It has our marks in it: the task of a workflow that is an agent. It was cut when it was put together, and cutting
    /// it again could take one mark of two away.
    marked: bool,
}

/// The placement of a value in its text.
enum Placement {
    AsItIs,
    /// In its line, without marks.
    Plain,
    /// Between marks, on lines of its own.
    Fenced,
}

impl Value<'_> {
    fn put_into(&self, text: &mut String, fence: &Fence) {
        match self.place {
            Placement::AsItIs => text.push_str(&self.text),
            Placement::Plain => text.push_str(&fence.without_marks(&self.text)),
            Placement::Fenced => push_block(text, &fence.wrap(&self.text)),
        }
    }
}

/// Cuts values so that together they fit.
fn cut(values: &mut [Value<'_>], budget: ContextBudget) -> Vec<super::CutText> {
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
