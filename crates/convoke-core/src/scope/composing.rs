//! The scope's interface for composite steps.

use std::ops::Deref;

use super::Scope;

/// A scope as composite steps see it: those that run other steps, side by side, again and again, or not at all, and agents. Most steps
/// need nothing of it; what they need is on [`Scope`] itself.
///
/// What is promised of every step, that its paths are the same every time and that its events are paired, composite steps keep by
/// keeping to these: places are taken in a fixed order, children are run by [`Scope::run`] or by [`open`](Self::open) and
/// [`enter`](Self::enter), and what depends on timing is a [`decision`](Self::decision).
#[derive(Clone, Copy)]
pub struct ComposingScope<'a>(pub(crate) &'a Scope);

impl Scope {
    /// The same scope, for a step that runs other steps.
    #[must_use]
    pub fn composing(&self) -> ComposingScope<'_> {
        ComposingScope(self)
    }
}

impl Deref for ComposingScope<'_> {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        self.0
    }
}

impl std::fmt::Debug for ComposingScope<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("ComposingScope").field(self.0).finish()
    }
}
