//! Messages between people, models and tools.

mod beginning;
mod content;
mod transcript;
mod usage;

pub use beginning::kept_transcript;
pub use content::{Media, MediaSource, Message, Part, Role, ToolCall, ToolResult};
pub use transcript::Transcript;
pub use usage::{Money, Usage};
