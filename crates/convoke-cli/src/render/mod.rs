//! Runs for people to read.

mod block;
mod doubt;
mod header;
mod judged;
mod question;
mod summary;
mod teller;
mod tree;
mod words;

pub(crate) use block::Block;
pub(crate) use doubt::doubts;
pub(crate) use header::{header, taken_up, tokens, took};
pub(crate) use judged::{question_body, question_brief, reason};
pub(crate) use question::{answer, open_question};
pub(crate) use summary::{begun, models};
pub(crate) use teller::{Side, Teller};
pub(crate) use tree::tree;
pub(crate) use words::words;
