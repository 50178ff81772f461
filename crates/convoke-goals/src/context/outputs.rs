//! The prompt's instruction about the shape of an answer.

use crate::tree::Output;

/// One sentence that asks for the outputs, or nothing if there are none.
pub(super) fn instruction(outputs: &[Output]) -> Option<String> {
    if outputs.is_empty() {
        return None;
    }
    let fields: Vec<String> =
        outputs.iter().map(|output| format!("`{}` ({})", output.name(), output.ty().in_words())).collect();
    Some(format!("Answer with one JSON object that has exactly these fields: {}.", fields.join(", ")))
}
