//! Questions, calls that clients make and calls in doubt as lines, with the commands of a session that settle them.

mod awaited;
mod in_doubt;
mod question;
mod review;

pub(crate) use awaited::{awaited_calls, call_lines};
pub(crate) use convoke_history::lines::{BlockLines, header, tree};
pub(crate) use in_doubt::doubts;
pub(crate) use question::open_question;
pub(crate) use review::{question_body, question_brief, reason};
