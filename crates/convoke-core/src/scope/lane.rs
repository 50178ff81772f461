//! Lanes: events of concurrent work within one scope.
//!
//! Each has a lane: what is told in it stands in the account of the run by what happened in that lane alone, so that the account does not
//! depend on who was quicker. In the stream it is told where the scope is.

use super::node::Place;
use super::{Child, Composing, Scope};
use crate::event::{Emission, EventKind, Position};

/// The name of the scopes that stand for lanes in positions. Nothing is performed in them.
const LANES: &str = "lanes";

/// One of several things that go on side by side in a scope, of which the scope tells.
#[derive(Debug)]
pub struct Lane {
    of: Scope,
    own: Scope,
}

impl Composing<'_> {
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
        if self.of.may_tell() {
            if let Some(tap) = &self.of.node.tap {
                tap.hear(self.of.path(), &kind);
            }
            let position = Some(Position::new(self.own.node.tick(), self.own.path().clone()));
            let told = Emission { path: self.of.path(), position, replayed: false, kind };
            self.of.node.run.events.emit(told, self.of.node.clock.as_deref()).await;
        }
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.of.is_heard()
    }

    /// What is told from now on follows from what has happened in a scope.
    pub fn follow(&self, scope: &Scope) {
        self.own.node.reach(scope.node.moment());
    }

    /// A place taken before, in which what is opened now follows from what was told in this lane.
    pub fn place(&self, place: &Place) -> Place {
        Place { taken: self.own.node.moment(), ..place.clone() }
    }

    /// What goes on in the lane is over: what the scope does next follows from it.
    pub fn end(&self) {
        self.of.node.reach(self.own.node.moment());
    }
}
