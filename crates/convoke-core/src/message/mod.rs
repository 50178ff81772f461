//! Messages between people, models and tools.

mod content;
mod stored_prefix;
mod transcript;
mod usage;

pub use content::{Media, MediaSource, Message, Part, Role, ToolCall, ToolResult};
pub use stored_prefix::kept_transcript;
pub use transcript::Transcript;
pub use usage::{Money, Usage};
