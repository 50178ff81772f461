//! The rules of a graph that earlier builds had otherwise: a run keeps those it began with.
//!
//! Only graphs that the difference matters to keep an entry of which they are.

use convoke_core::{Error, Path, Scope};

use super::graph::Graph;

/// By which rules a run of a graph goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rules {
    /// The guard of a loop within a loop counts on and on, and who writes what was there before has written nothing.
    Earlier,
    /// Such a guard begins anew whenever that of the loop around counts, and whatever is written is heard; nodes of several branches that
    /// decide where to go are a conflict if they differ.
    Guarded,
    /// Such a guard begins anew with every round, whether or not the loop around has a guard; joins from which ways lead back into arms
    /// come after their arms. Gates are kept by node, and one that failed is what counts; a branch goes its own way.
    Ordered,
    /// What scripts change of what `getVars` gave them counts, and names of the engine that they set are refused.
    Current,
}

/// What is kept of them.
const CHANGE: &str = "rules of loops and merges";

impl Rules {
    /// Those of a graph that begins, or goes on, in this scope.
    pub(super) fn of(graph: &Graph, scope: &Scope) -> Result<Self, Error> {
        if !graph.knows_other_rules {
            return Ok(Self::Current);
        }
        let rules = Self::numbered(scope.version(CHANGE, 1..=4)?);
        // Without an entry it began in a build that kept none of such graphs, and knew no other rules for them.
        Ok(if graph.knew_other_rules { rules } else { rules.max(Self::Guarded) })
    }

    /// Where a graph that runs at this path keeps which they are.
    pub(crate) fn kept_at(path: &Path) -> Path {
        Path::join(path, &format!("version of {CHANGE}"), 1)
    }

    /// Those with the number that is kept there; without one, those of builds that knew no others.
    pub(crate) fn numbered(number: impl Into<Option<u32>>) -> Self {
        match number.into() {
            None | Some(1) => Self::Earlier,
            Some(2) => Self::Guarded,
            Some(3) => Self::Ordered,
            Some(_) => Self::Current,
        }
    }
}
