//! Goals: what is to be achieved, by whom, and who supervises it, in Rust or as an Agentfile.
//!
//! Some names here are those of typed steps too: a goal's `Workflow` and `Agent` are not the kernel's. A program of goals uses
//! [`goals::prelude`](prelude) instead of [`convoke::prelude`](crate::prelude); one of both writes `goals::Workflow`.

pub use convoke_goals::*;

pub mod prelude;
