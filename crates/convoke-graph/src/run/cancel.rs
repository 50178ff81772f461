//! Branches that end others. Who was quicker decides, so it is kept for when the run is resumed.

use convoke_core::{Error, Scope, StepNote};

use super::branches::are_siblings;
use super::schedule::{Schedule, StoppedNode};
use super::token::Token;

impl Schedule<'_> {
    /// Ends the branch that is at a node, if that is another branch than the path that wants it.
    pub(super) fn cancel(&mut self, node: usize, by: &Token, reason: &str) -> Result<(), Error> {
        if let Some(active) = self.active.get_mut(&node) {
            if active.left_out.is_none() && are_siblings(&active.token.lineage, &by.lineage) {
                active.scope.composing().keep_note(StepNote::LeftOut, &reason)?;
                active.canceller.iter().for_each(|canceller| canceller.cancel(reason));
                active.left_out = Some(reason.to_owned());
            }
        } else if let Some(stopped) = self.stopped.remove(&node) {
            let StoppedNode { token, scope, stop } = stopped;
            if matches!(stop.root(), Error::Suspended(_)) && are_siblings(&token.lineage, &by.lineage) {
                scope.composing().keep_note(StepNote::LeftOut, &reason)?;
                self.give_up(node, &token, &scope, reason);
            } else {
                self.stopped.insert(node, StoppedNode { token, scope, stop });
            }
        } else if let Some(arrived) = self.waiting.get(node)
            && arrived.iter().all(|token| are_siblings(&token.lineage, &by.lineage))
            && !self.order.is_held_up(node, &self.taken)
            && let Some(arrived) = self.waiting.take(node)
        {
            self.begin(node, arrived, Some(reason))?;
        }
        Ok(())
    }

    /// Leaves a path out, with everything it did since it was a branch of its own.
    pub(super) fn give_up(&mut self, node: usize, token: &Token, scope: &Scope, reason: &str) {
        self.scope.composing().give_up(scope);
        self.branches.cancel(&token.lineage, reason);
        self.taken.leave(node);
    }
}
