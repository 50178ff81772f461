//! The evals of a prompt, and which turns and sessions are a sample.

use super::model::Eval;

/// When an eval can happen. The last two are the original runtime's.
pub(super) const TRIGGERS: [&str; 6] = [
    "every_turn",
    "on_session_complete",
    "sample_turns",
    "sample_sessions",
    "on_conversation_complete",
    "on_workflow_step",
];

/// The evals of a prompt: those of the pack in their order, each replaced by the prompt's of the same name, then the prompt's own.
#[must_use]
pub fn merged(pack: &[Eval], prompt: &[Eval]) -> Vec<Eval> {
    let named = |id: &str| prompt.iter().find(|eval| eval.id == id);
    let own = prompt.iter().filter(|eval| !pack.iter().any(|other| other.id == eval.id));
    pack.iter().map(|eval| named(&eval.id).unwrap_or(eval)).chain(own).cloned().collect()
}

impl Eval {
    /// Returns whether it is due after a turn. Sampling is decided by the session and the turn alone, so it is the same wherever it is
    /// decided.
    #[must_use]
    pub fn is_due_after_turn(&self, session: &str, turn: u64) -> bool {
        self.is_due(["every_turn", "on_workflow_step"], "sample_turns", session, turn)
    }

    /// Returns whether it is due at the end of a session.
    #[must_use]
    pub fn is_due_at_end(&self, session: &str) -> bool {
        self.is_due(["on_session_complete", "on_conversation_complete"], "sample_sessions", session, 0)
    }

    fn is_due(&self, always: [&str; 2], sampled: &str, session: &str, turn: u64) -> bool {
        let is_drawn = self.trigger == sampled && is_sampled(session, turn, self.sample_percentage);
        self.enabled && (is_drawn || always.contains(&self.trigger.as_str()))
    }
}

/// FNV-1a over the session and the turn in decimal, out of ten thousand.
fn is_sampled(session: &str, turn: u64, percentage: f64) -> bool {
    let hash = session
        .bytes()
        .chain(turn.to_string().into_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // Below ten thousand, which every float has exactly.
    #[allow(clippy::cast_precision_loss)]
    let drawn = (hash % 10_000) as f64;
    drawn < percentage * 100.0
}
