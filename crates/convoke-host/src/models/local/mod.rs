//! Models that run in this process, if this program was built with them.

#[cfg(not(feature = "local"))]
mod absent;
mod embedder;
#[cfg(feature = "local")]
mod present;

#[cfg(not(feature = "local"))]
pub use absent::reading;
#[cfg(not(feature = "local"))]
pub(crate) use absent::{check, open, usual_model};
pub(crate) use embedder::{embedder, embedder_missing};
#[cfg(feature = "local")]
pub use present::reading;
#[cfg(feature = "local")]
pub(crate) use present::{check, open, usual_model};
