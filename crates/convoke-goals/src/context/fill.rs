//! Values put into texts.

use crate::GoalState;
use crate::agentfile::{Piece, Template};
use crate::state::text_of;
use crate::tree::Name;

use super::Fence;

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
/// otherwise it is [fenced](Fence).
///
/// # Errors
/// The first variable that has no value.
pub fn fill(template: &Template<Name>, state: &GoalState, fence: &Fence) -> Result<String, NoValue> {
    let mut text = String::new();
    for piece in template.pieces() {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Variable(name) => {
                let made = state.outputs.get(name);
                let value = made.or_else(|| state.inputs.get(name));
                let value = text_of(value.ok_or_else(|| NoValue { name: name.to_string() })?);
                if made.is_none() {
                    text.push_str(&value);
                } else if value.len() <= SHORT && !value.contains(['\n', '\r']) {
                    text.push_str(&fence.without_marks(&value));
                } else {
                    push_block(&mut text, &fence.wrap(&value));
                }
            }
        }
    }
    Ok(text)
}

/// Adds a block that begins and ends on lines of its own.
fn push_block(text: &mut String, block: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(block);
    text.push('\n');
}
