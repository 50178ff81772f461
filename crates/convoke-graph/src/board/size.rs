//! The size limit of a board: values made of copies of other values grow faster than any machine has memory, and what is nested
//! without end can be neither dropped nor read again.

use serde_json::Value;

use super::{Board, BoardError};

/// What the variables of a board may hold together, in bytes.
pub(crate) const LARGEST: usize = 64 << 20;
/// How deep lists and objects may stand in one another: less than what readers of JSON take.
pub(crate) const DEEPEST: usize = 100;
/// What a value takes besides its text.
const EACH: usize = 8;

impl Board {
    /// Whether a variable may get this value.
    pub(super) fn has_room_for(&self, key: &str, value: &Value) -> Result<(), BoardError> {
        if is_deeper(value, DEEPEST) {
            return Err(BoardError::TooDeep { key: key.to_owned() });
        }
        let size = size(value);
        // Only what is large itself is worth looking at all the rest.
        if size < LARGEST / 1024 {
            return Ok(());
        }
        let others = self.vars().filter(|(name, _)| *name != key).map(|(_, value)| self::size(value));
        if size + others.sum::<usize>() > LARGEST {
            return Err(BoardError::TooLarge { key: key.to_owned() });
        }
        Ok(())
    }
}

/// About how many bytes a value is.
pub(crate) fn size(value: &Value) -> usize {
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.iter().map(|(name, value)| name.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(entries) => entries.values().any(|value| is_deeper(value, below)),
        _ => false,
    }
}
