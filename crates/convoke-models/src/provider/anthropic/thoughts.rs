//! Carries thoughts through a conversation.
//!
//! The protocol wants every thought back as it came, with its proof, and the hidden ones too. Our messages have one
//! kind of part for all that, so the part's signature says what the wire had: one line per block, each with a mark of
//! its kind and a fingerprint of the address and model it came from (`anthropic-thinking:ORIGIN:…`). Neither proofs nor
//! hidden thoughts (both base64) contain a colon or a line end.
//!
//! Several lines in one signature are several blocks: only the first has the part's text. (Blocks without text cannot
//! be told apart otherwise once a reply has been put together.) A signature with another mark or none is
//! another model's, and a thought without any is no one's: they would be refused and are left out.

use serde_json::{Value, json};

/// Stands before the proof of a thought.
pub(super) const SIGNED: &str = "anthropic-thinking:";

/// Stands before a thought that only the provider can read.
pub(super) const HIDDEN: &str = "anthropic-redacted:";

/// Stands between two blocks.
pub(super) const NEXT: char = '\n';

/// A line of a signature, or its beginning.
pub(super) fn line(mark: &str, origin: &str, proof: &str) -> String {
    format!("{mark}{origin}:{proof}")
}

/// The blocks a part came from, if it came from here.
pub(super) fn blocks(text: &str, signature: Option<&str>, origin: &str) -> Vec<Value> {
    let lines = signature.unwrap_or_default().split(NEXT).enumerate();
    lines.filter_map(|(at, line)| block(if at == 0 { text } else { "" }, line, origin)).collect()
}

fn block(text: &str, line: &str, origin: &str) -> Option<Value> {
    let after = |mark: &str| line.strip_prefix(mark)?.strip_prefix(origin)?.strip_prefix(':');
    if let Some(proof) = after(SIGNED) {
        return Some(json!({"type": "thinking", "thinking": text, "signature": proof}));
    }
    let data = after(HIDDEN)?;
    Some(json!({"type": "redacted_thinking", "data": data}))
}
