//! The rules of a graph that earlier builds had otherwise: a run keeps those it began with.
//!
//! Only graphs that the difference matters to keep an entry of which they are.

use convoke_core::{Error, Scope};

use super::graph::Graph;

/// By which rules a run of a graph goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The guard of a loop within a loop counts on and on, and who writes what was there before has written nothing.
    Earlier,
    /// Such a guard begins anew whenever that of the loop around counts, and whatever is written is heard.
    Guarded,
    /// Such a guard begins anew with every round, whether or not the loop around has a guard.
    Current,
}

impl Rules {
    /// Those of a graph that begins, or goes on, in this scope.
    pub(super) fn of(graph: &Graph, scope: &Scope) -> Result<Self, Error> {
        if !graph.knows_other_rules {
            return Ok(Self::Current);
        }
        Ok(match scope.version("rules of loops and merges", 1..=3)? {
            1 => Self::Earlier,
            2 => Self::Guarded,
            _ => Self::Current,
        })
    }
}
