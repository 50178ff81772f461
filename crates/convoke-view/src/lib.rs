#![doc = include_str!("../README.md")]
//!
//! A [`View`] is put together from pieces (folders for reading, folders for writing, an overlay on a folder, memory, a few
//! devices), and [`View::spawn`] starts a program in it, in namespaces of its own. Ordinary users can do this where the kernel
//! lets them have user namespaces; root without. [`available`] finds out by trying.
//!
//! Three processes stand behind one program:
//!
//! ```text
//!   ours ── keeper ── first ── program and what it starts
//!           |         process 1 of the view: when it ends, the kernel ends everything in the view
//!           outside; ends the first when it is told to, or when we are gone, and ends after everything has ended
//! ```
//!
//! This is the only crate with unsafe code of ours: between `fork` and `exec` nothing but system calls may be made, and all
//! that they need was made before. It knows nothing of tools, policies or workspaces, and must never decide what may be seen.

#![cfg(target_os = "linux")]

mod available;
mod child;
mod error;
mod prepared;
mod running;
mod view;

pub use available::available;
pub use error::{Unavailable, ViewError};
pub use running::{KillHandle, RunningProgram};
pub use view::{Network, View};
