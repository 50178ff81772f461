//! Tests of our providers against software that others wrote: two fake model servers, and the official clients.
//!
//! `scripts/counterparts` installs it and says where; these tests look for it in `CONVOKE_COUNTERPARTS` and are passed
//! over without it, so that `cargo test` alone needs no other language. `scripts/test` always has it.

mod faults;
mod official;
mod process;
mod scripted;
