//! What is said between people, models and tools.

mod content;
mod transcript;
mod usage;

pub use content::{Media, MediaSource, Message, Part, Role, ToolCall, ToolResult};
pub use transcript::Transcript;
pub use usage::{Money, Usage};
