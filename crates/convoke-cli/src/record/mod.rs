//! The record of a run: everything that happened, told once and shown in several forms.
//!
//! [`tell`] makes an account of a run out of its journal; [`Filter`] keeps what somebody wants to see of it.
//!
//! | form | module |
//! |---|---|
//! | lines for people | `text` |
//! | one JSON document | `json` |
//! | one HTML page | `page` |
//! | lines of JSON as another program writes them | `session_log` |
//!
//! Each of them reads an account from front to back; none looks back, so a long run takes as much longer as it is longer.

mod facts;
mod filter;
mod json;
mod kind;
mod page;
mod part;
mod session_log;
mod text;
mod told;

pub(crate) use filter::Filter;
pub(crate) use json::RecordView;
pub(crate) use kind::Kind;
pub(crate) use page::{Page, save};
pub(crate) use session_log::session_log;
pub(crate) use text::{head, item};
pub(crate) use told::{Told, tell};
