//! PromptPacks as durable state machines: packs read and checked, their workflows as pure functions, conversations over them as steps.
//!
//! A program that talks with packs uses [`packs::prelude`](prelude). With the feature `host`, a pack is a file like any other:
//! [`Host::load`](https://docs.rs/convoke-host).

pub use convoke_machine::*;

pub mod prelude;
