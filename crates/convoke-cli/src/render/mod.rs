//! Runs for people to read.

mod block;
mod doubt;
mod header;
mod judged;
mod question;
mod summary;
mod tree;

pub(crate) use block::BlockLines;
pub(crate) use doubt::doubts;
pub(crate) use header::{header, tokens};
pub(crate) use judged::{question_body, question_brief, reason};
pub(crate) use question::open_question;
pub(crate) use tree::tree;
