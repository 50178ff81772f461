//! The status symbol before the name of a node.

use convoke_core::Timestamp;

use crate::Tone;
use crate::progress::NodeState;

/// The sign before a name. `now` turns the spinner.
pub(super) fn symbol(state: NodeState, now: Timestamp) -> (Tone, char) {
    const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    const TURN: i64 = 100_000;
    match state {
        NodeState::Waiting => (Tone::Faint, '○'),
        NodeState::Running => {
            let turn = now.as_micros().div_euclid(TURN).rem_euclid(SPINNER.len() as i64);
            (Tone::Accent, SPINNER[usize::try_from(turn).unwrap_or(0)])
        }
        NodeState::Person => (Tone::Caution, '?'),
        NodeState::Done => (Tone::Good, '✓'),
        NodeState::Skipped => (Tone::Faint, '–'),
        NodeState::Failed => (Tone::Bad, '✗'),
        NodeState::Stopped => (Tone::Caution, '■'),
    }
}
