//! The traits of a protocol: writing requests and decoding replies.

use std::collections::VecDeque;

use convoke_core::{CallContext, ModelError, ModelRequest, ReplyDelta};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::ProviderSettings;
use crate::http::{Frame, Framing};

/// A request in a provider's words.
#[derive(Debug)]
pub(crate) struct WireRequest {
    /// What follows the base address, beginning with a slash.
    pub(crate) path: String,
    /// Headers besides the key's and the user's.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Value,
}

/// The protocol of one family of servers. Pure translation.
pub(crate) trait Protocol: Send + Sync {
    /// The header the key goes into, and what stands before it.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Writes a request down. The same conversation always gives the same bytes, and a longer one begins with them.
    ///
    /// # Errors
    /// What the provider cannot be asked is [`InvalidRequest`](convoke_core::ModelErrorKind::InvalidRequest), and says
    /// what to do instead.
    fn write(
        &self,
        model: &str,
        request: &ModelRequest,
        call: &CallContext,
        settings: &ProviderSettings,
    ) -> Result<WireRequest, ModelError>;

    /// How replies are cut into frames.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Reads the reply to this request.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;

    /// What a reply with this status means, if the body says more than the status does.
    fn failure(&self, status: StatusCode, body: &Value) -> Option<ModelError>;
}

/// Reads the frames of one reply, in order.
pub(crate) trait Decoder: Send {
    /// Reads a frame.
    ///
    /// # Errors
    /// What the provider reports in the middle of a reply, or what makes no sense.
    fn frame(&mut self, frame: &Frame, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError>;

    /// The body has ended. A decoder that has given `Finished` has nothing to add; one that has not leaves it at that,
    /// and the reply counts as cut off.
    fn end(&mut self, _pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        Ok(())
    }

    /// How much of an answer, in bytes, was read so far without being given out at once.
    fn held_back(&self) -> usize {
        0
    }

    /// Whether the model has said all it will, though the protocol has not come to its end: what is missing is not
    /// waited for as long as more of an answer would be.
    fn is_complete(&self) -> bool {
        false
    }
}
