//! What needs a session to be shown: questions and calls in doubt, with the commands that settle them.

mod in_doubt;
mod question;
mod review;

pub(crate) use convoke_history::lines::{BlockLines, header, tree};
pub(crate) use in_doubt::doubts;
pub(crate) use question::open_question;
pub(crate) use review::{question_body, question_brief, reason};
