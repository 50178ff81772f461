//! Lanes: events of concurrent work within one scope.
//!
//! Each has a lane: what is told in it stands in the account of the run by what happened in that lane alone, so that the account does not
//! depend on who was quicker. In the stream it is told where the scope is.

use super::node::ReservedScope;
use super::{Child, ComposingScope, Scope};
use crate::event::{Emission, EventKind, Position};

/// The name of the scopes that stand for lanes in positions. Nothing is performed in them.
const LANES: &str = "lanes";

/// A lane: one of several concurrent things in a scope whose events the scope emits.
#[derive(Debug)]
pub struct Lane {
    of: Scope,
    own: Scope,
}

impl ComposingScope<'_> {
    /// The lane with this number. Opened before anything begins that goes on side by side.
    #[must_use]
    pub fn lane(&self, number: u32) -> Lane {
        let own = self.narrowed(Child { repetition: Some(number + 1), ..Child::named(LANES) });
        own.node.entered.store(true, std::sync::atomic::Ordering::Relaxed);
        Lane { of: self.0.clone(), own }
    }
}

impl Lane {
    /// Reports an event of the scope, in this lane.
    pub async fn emit(&self, kind: EventKind) {
        if self.of.may_emit() {
            if let Some(tap) = &self.of.node.tap {
                tap.record(self.of.path(), &kind);
            }
            let position = Some(Position::new(self.own.node.tick(), self.own.path().clone()));
            let emission = Emission { path: self.of.path(), position, replayed: false, kind };
            self.of.node.run.events.emit(emission, self.of.node.clock.as_deref()).await;
        }
    }

    /// Returns whether anybody listens.
    #[must_use]
    pub fn has_listeners(&self) -> bool {
        self.of.has_listeners()
    }

    /// Orders what is emitted from now on after what has happened in a scope.
    pub fn follow(&self, scope: &Scope) {
        self.own.node.reach(scope.node.moment());
    }

    /// A place taken before, in which what is opened now follows from what was told in this lane.
    pub fn place(&self, place: &ReservedScope) -> ReservedScope {
        ReservedScope { taken: self.own.node.moment(), ..place.clone() }
    }

    /// Ends the lane: what the scope does next follows from it.
    pub fn end(&self) {
        self.of.node.reach(self.own.node.moment());
    }
}
