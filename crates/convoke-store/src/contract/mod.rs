//! The contract of stores, as tests for any implementation.
//!
//! One function per promise, [`run_all`] for all of them. Each makes its own stores, so they may run in any order, or
//! one test each. They panic with what was promised when a store does not keep it.
//!
//! ```
//! # use std::sync::Arc;
//! # use convoke_core::Store;
//! use convoke_store::contract::{Backend, run_all};
//! use convoke_store::MemoryStore;
//!
//! struct Memory;
//!
//! impl Backend for Memory {
//!     type Location = MemoryStore;
//!
//!     async fn location(&self) -> MemoryStore {
//!         MemoryStore::new()
//!     }
//!
//!     async fn open(&self, location: &MemoryStore) -> Arc<dyn Store> {
//!         Arc::new(location.clone())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(
//! run_all(&Memory)
//! # );
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The suite cannot pull the plug: that acknowledged entries survive a crash in the middle of a commit is for each
//! backend to test (`tests/crash.rs` does so for SQLite).

mod concurrency;
mod fencing;
mod generations;
mod launches;
mod lifetime;
mod mail;
mod questions;
mod reading;
mod samples;
mod writing;

use std::future::Future;
use std::sync::Arc;

use convoke_core::Store;

pub use concurrency::*;
pub use fencing::*;
pub use generations::*;
pub use launches::*;
pub use lifetime::*;
pub use mail::*;
pub use questions::*;
pub use reading::*;
pub use writing::*;

/// A kind of store.
pub trait Backend: Sync {
    /// Where one store lives: a file, a database schema, a piece of memory.
    type Location: Send + Sync;

    /// A location with nothing in it, that no other test knows.
    fn location(&self) -> impl Future<Output = Self::Location> + Send;

    /// A handle on the store at a location. Opening it again gives another handle on the same store, as another
    /// process would have it.
    fn open<'a>(&'a self, location: &'a Self::Location) -> impl Future<Output = Arc<dyn Store>> + Send + 'a;
}

/// Runs all tests of the contract.
pub async fn run_all<B: Backend>(backend: &B) {
    a_batch_is_written_whole_or_not_at_all(backend).await;
    entries_are_numbered_without_gaps(backend).await;
    nothing_follows_a_failed_batch(backend).await;
    appends_keep_their_order_without_being_awaited(backend).await;
    large_payloads_come_back_as_they_were(backend).await;
    any_text_comes_back_as_it_was(backend).await;
    a_change_replaces_what_the_record_says(backend).await;
    content_is_kept_once_per_run(backend).await;
    an_id_names_one_run(backend).await;
    a_claim_ends_every_earlier_lease(backend).await;
    a_held_run_is_busy_until_it_is_released(backend).await;
    a_released_lease_cannot_write(backend).await;
    racing_claims_have_one_winner(backend).await;
    the_last_of_racing_takeovers_can_write_and_no_other(backend).await;
    many_runs_are_written_at_the_same_time(backend).await;
    a_failing_run_does_not_disturb_its_neighbours(backend).await;
    runs_are_listed_newest_first(backend).await;
    entries_are_read_in_pages(backend).await;
    unknown_runs_have_nothing(backend).await;
    a_store_opened_again_has_everything(backend).await;
    questions_wait_until_they_are_closed(backend).await;
    answers_must_fit_and_stay_in_order(backend).await;
    a_question_that_is_settled_takes_no_answer(backend).await;
    an_answer_that_comes_too_late_is_refused(backend).await;
    a_question_opened_twice_keeps_its_answers(backend).await;
    a_fork_begins_with_its_past(backend).await;
    an_outline_is_kept_until_there_is_another(backend).await;
    what_a_run_was_started_with_is_kept(backend).await;
    runs_are_found_by_what_they_were_started_with(backend).await;
    a_run_continues_with_its_next_generation(backend).await;
    a_generation_that_is_refused_changes_nothing(backend).await;
    a_fork_may_begin_with_what_another_run_carried(backend).await;
    old_finished_runs_are_purged_and_others_stay(backend).await;
    a_deleted_run_leaves_nothing(backend).await;
    mail_is_kept_in_order(backend).await;
    mail_with_a_key_is_kept_once(backend).await;
    mail_is_found_by_its_key(backend).await;
    a_completed_run_takes_no_mail(backend).await;
    a_run_is_due_when_it_is_sent_what_it_waits_for(backend).await;
    a_run_is_due_when_its_time_has_come(backend).await;
    runs_under_way_are_not_in_the_way_of_those_that_are_due(backend).await;
    a_fork_is_due_once_somebody_has_gone_on_with_it(backend).await;
    a_run_is_due_when_its_question_is_settled(backend).await;
    an_answer_that_comes_early_is_kept(backend).await;
    a_run_that_is_told_to_end_is_due(backend).await;
    whoever_watches_is_told(backend).await;
    whoever_watches_is_told_when_a_run_is_given_back(backend).await;
    whoever_follows_is_told(backend).await;
    a_lease_is_confirmed_until_somebody_else_has_the_run(backend).await;
}
