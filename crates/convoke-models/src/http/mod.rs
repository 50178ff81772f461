//! HTTP as providers need it: the transport of `convoke-http`, and keys and frames beside it.
//!
//! **What it is for.** Everything that goes over the wire goes through a [`Transport`]: the real one
//! ([`HttpTransport`]), and the ones that record traffic or play it back. So a cassette sees exactly what a provider
//! sees.

mod frames;
mod key;

pub use convoke_http::{
    Body, HttpReply, HttpRequest, HttpTransport, Transport, TransportError, TransportFailure,
};
pub(crate) use frames::{Frame, Frames, Framing};
pub use key::ApiKey;
