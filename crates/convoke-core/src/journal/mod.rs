//! The journal of a run: its entries, their formats, and how they are read back.
//!
//! Every effect of a run is an [`Entry`] addressed by the [`Path`](crate::Path) of its scope and an ordinal within
//! that scope. Branches that run side by side therefore never contend for a number, and a replay may visit them in
//! any order. The journal holds data only; nothing in it is ever executed.
//!
//! Whoever shows stored runs reads entries as they are, and finds here what it takes to understand them: the outcome of
//! a model call ([`RecordedCall`]), whether its cost is known ([`is_priced`]), and the replies that are kept once
//! ([`restore_replies`]).

mod call;
mod entry;
mod index;
mod mailbox;
mod referenced;
pub(crate) mod replies;
mod time_used;
mod totals;
mod waits;
mod writer;

pub use call::{FailedCall, RecordedCall, is_priced};
pub use entry::{Blob, EffectKind, Entry, IdempotencyKey, Phase, RecordedOutcome};
pub(crate) use index::{JournalIndex, STEP_TIMEOUT, Slot};
pub(crate) use mailbox::Mailbox;
pub(crate) use referenced::referenced;
pub use replies::restore_replies;
pub(crate) use totals::{totals_of, totals_with};
pub(crate) use writer::{Attachments, Draft, RunJournal, StoredContent};
