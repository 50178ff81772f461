//! Parses replies: text and tool calls out of bytes.

mod calls;
mod cursor;
#[cfg(feature = "llama")]
mod text;
#[cfg(feature = "llama")]
mod writer;

pub use calls::ToolCallReader;
pub(crate) use calls::{CLOSE, OPEN};
#[cfg(feature = "llama")]
pub(crate) use writer::ReplyWriter;
