//! The account of a run: everything that happened, put into items once and shown in several forms.
//!
//! [`record_items`] makes the items out of a run's journal; a [`Filter`] keeps what somebody wants to see of them.
//!
//! | form | use |
//! |---|---|
//! | items with texts, for whoever sets them | [`RecordItem`], [`TextBlock`] |
//! | one JSON document | [`RecordView`] |
//! | one HTML page that needs nothing else | [`Page`] |
//! | lines of JSON as another program writes them | [`session_log`] |
//! | the texts of a single effect | [`EffectRenderer`] |
//!
//! Each of them reads an account from front to back; none looks back, so a long run takes as much longer as it is longer.
//! Nothing here knows a terminal, writes a file or reads a clock. What a run was given and came to is passed in as a [`Gist`],
//! because only whoever made the run knows.
//!
//! ```
//! use convoke_core::{RunId, Timestamp};
//! use convoke_core::store::Store;
//! use convoke_history::History;
//! use convoke_history::account::{Filter, Gist, ItemKind, Page, record_items};
//!
//! async fn failures_page(store: &dyn Store, run: &RunId) -> Result<String, convoke_core::Error> {
//!     let history = History::load(store, run).await?;
//!     let gist = Gist::default();
//!     let items = record_items(&history, &gist, None);
//!     let filter = Filter::new(None, &[ItemKind::Failure], None);
//!     let page = Page { history: &history, gist: &gist, items: &items, filter: &filter, now: Timestamp::now(), diagram: None };
//!     Ok(page.html())
//! }
//! ```

mod block;
mod facts;
mod filter;
mod gist;
mod item;
mod json;
mod kind;
mod page;
mod part;
mod question;
mod readable_json;
mod renderer;
mod session_log;
#[cfg(test)]
mod tests;
mod unfinished;

pub use block::TextBlock;
pub use filter::Filter;
pub use gist::Gist;
pub use item::{RecordItem, record_items};
pub use json::RecordView;
pub use kind::ItemKind;
pub use page::{PAGE_MARK, Page};
pub use question::{answer_text, question_blocks, question_conditions};
pub use readable_json::readable_json;
pub use renderer::{EffectRenderer, EffectSide};
pub use session_log::session_log;
pub(crate) use unfinished::left_out_text;
pub use unfinished::unfinished;
