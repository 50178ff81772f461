//! Runs for people to read.

mod block;
mod header;
mod in_doubt;
mod question;
mod review;
mod summary;
mod tree;

pub(crate) use block::BlockLines;
pub(crate) use header::{header, tokens};
pub(crate) use in_doubt::doubts;
pub(crate) use question::open_question;
pub(crate) use review::{question_body, question_brief, reason};
pub(crate) use tree::tree;
