//! Models that run in this process, if this program was built with them.

#[cfg(not(feature = "local"))]
mod absent;
#[cfg(feature = "local")]
mod present;

#[cfg(not(feature = "local"))]
pub(crate) use absent::{check, open, reading, usual_model};
#[cfg(feature = "local")]
pub(crate) use present::{check, open, reading, usual_model};
