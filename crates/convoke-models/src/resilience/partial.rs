//! The policy for replies that break in the middle.

/// The policy for a reply that breaks after some of its text or tool calls were shown.
///
/// Thoughts do not count: a reply that has only been thought about is always begun anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PartialReply {
    /// It is void, and the reply begins anew. The default: a call is journaled whole or not at all, so nothing was done
    /// on the strength of the first half, and whoever watches is told with
    /// [`ReplyDelta::Restarted`](convoke_core::ReplyDelta::Restarted).
    #[default]
    Discard,
    /// It stays, and the error follows it. For watchers who cannot take back what they have shown.
    Keep,
}
