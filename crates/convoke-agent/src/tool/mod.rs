//! Tools made from Rust functions, from data, and for the client to execute.
//!
//! A [`FunctionTool`] is a function and what must be known about it: what it takes (a schema, from its argument type),
//! what it does to the world, whether it may be repeated, how long it may take. A [`ClientTool`] has no function: the
//! agent hands its calls to whoever started the run.
//!
//! Arguments are checked twice before anything happens, against the schema and by decoding them, and whatever is wrong
//! is told in words the model can correct itself by. A tool never decides whether it may be called (approval, policy),
//! never journals and never limits itself: the kernel does, for every tool alike.

mod arguments;
mod client;
mod context;
mod function;

pub use client::ClientTool;
pub use context::ToolContext;
pub use function::{FunctionTool, InterruptedCall};

pub(crate) use arguments::Arguments;
pub use arguments::ToolArguments;
