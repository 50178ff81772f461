//! Marks thoughts with the model that had them.
//!
//! Ollama gives thoughts without any proof. So that they go back to the model they came from and to no other, each carries
//! a mark as its signature: `ollama:ORIGIN`, with the fingerprint of the server and model.

use crate::provider::origin::fingerprint;

/// The mark of one model's thoughts.
#[derive(Debug, Clone)]
pub(super) struct Mark(String);

impl Mark {
    /// The mark of this model at this address.
    pub(super) fn of(base_url: &str, model: &str) -> Self {
        Self(format!("ollama:{}\n", fingerprint(base_url, model)))
    }

    /// As the signature of a thought. Joined ones stay readable: each is a line.
    pub(super) fn signature(&self) -> String {
        self.0.clone()
    }

    /// Whether the thought with this signature is the model's own.
    pub(super) fn is_on(&self, signature: Option<&str>) -> bool {
        signature.is_some_and(|signature| signature.lines().any(|line| line == self.0.trim_end()))
    }
}
