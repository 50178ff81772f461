//! What a run writes down, and how it is read back.
//!
//! Every effect of a run is an [`Entry`] addressed by the [`Path`](crate::Path) of its scope and an ordinal within
//! that scope. Branches that run side by side therefore never contend for a number, and a replay may visit them in
//! any order. The journal holds data only; nothing in it is ever executed.

mod call;
mod entry;
mod index;
mod mailbox;
pub(crate) mod replies;
mod writer;

pub(crate) use call::{FailedCall, RecordedCall, is_priced};
pub use entry::{Blob, EffectKind, Entry, IdempotencyKey, Phase, Recorded};
pub(crate) use index::{FATE, JournalIndex, Slot};
pub(crate) use mailbox::Mailbox;
pub(crate) use writer::{Attached, Draft, Kept, RunJournal};
