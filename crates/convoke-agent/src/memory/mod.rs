//! Memory of conversations, for every surface: what was said under a name comes back, in later runs too.
//!
//! A chat, a pack's conversation and the goals of an Agentfile all do the same around whatever they say: [`exchange`] opens the
//! memory, gives the work what is remembered, adds what was said, and closes it. All of that is effects: a resumed run remembers what it
//! remembered then, and says nothing twice.
//!
//! What is remembered is the beginning as a summary, the end as it was said, and what fits the words of now. Nothing is ever
//! taken out of the memory for that: a summary is kept beside what it sums up.
//!
//! **What it must never do.** Know where memories are kept ([`MemorySession`] is implemented by whoever does); let what is remembered pass
//! for an instruction.

mod exchange;
mod recollection;
mod session;

pub use exchange::{MESSAGE_CUT, exchange, summarizer};
pub use recollection::{Recollection, Remark};
pub use session::{Memories, MemorySession, NoMemories, Unsummarized};
