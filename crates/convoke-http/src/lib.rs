#![doc = include_str!("../README.md")]
//!
//! **What it is for.** One request out, a status, headers and a stream of bytes back, through a [`Transport`]: the real
//! one ([`HttpTransport`]), and the ones that record traffic or play it back. Who needs a client of another make begins
//! with [`client_builder`]. What must be the same everywhere is here once: whether an address is on this machine and how
//! it is shown ([`address`]), how long a server asks to wait ([`header_time`]), and what of a request is secret ([`secrets_of`]).
//!
//! **What it must never do.** Know a provider; try again; show a secret. Headers that carry secrets are marked as
//! sensitive and never printed or recorded.

pub mod address;
mod client;
mod error;
pub mod header_time;
mod secrets;
mod transport;

pub use client::{HttpTransport, client_builder};
pub use error::{TransportError, TransportFailure};
pub use secrets::secrets_of;
pub use transport::{Body, HttpReply, HttpRequest, Transport};
