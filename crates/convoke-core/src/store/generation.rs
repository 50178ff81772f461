//! Generations of runs that continue without end, as stores keep them.
//!
//! A run that continues keeps its id and everything it did. Its record has the state it continues with in the place of the one
//! before, and says at which entry of its journal the current generation begins: whoever goes on with it reads from there.

use bytes::Bytes;

/// The generation a run is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// How often the run has continued: 0 for one that never did.
    pub number: u32,
    /// The number of the generation's first entry.
    pub begins_at: u64,
    /// What it has from those before it, as JSON, so that nobody need read them. The kernel's own.
    pub carried: Option<Bytes>,
}

impl Default for Generation {
    /// The first.
    fn default() -> Self {
        Self { number: 0, begins_at: 1, carried: None }
    }
}

/// The next generation of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextGeneration {
    /// Which generation it is.
    pub generation: Generation,
    /// The version of the workflow that begins it.
    pub version: u32,
    /// What its random numbers are derived from.
    pub seed: u64,
    /// The state it begins with, as JSON.
    pub input: Bytes,
}
