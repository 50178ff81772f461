//! Running files: `convoke run`, `convoke resume`, and everything in between. What running takes is the host's; what is here is
//! typed, shown and asked.
//!
//! | module | what it is for |
//! |---|---|
//! | `arguments`, `unlisted` | the command line, and what must not stand there |
//! | `go_on` | a prepared run, with somebody who watches |
//! | `watch` | a run under way: events, a person, signals |
//! | `display`, `dialog`, `keyboard`, `person`, `prompt`, `signals` | what is shown, asked, typed and told |
//! | `result`, `diverged` | what came of it, and why it does not fit what was done |

mod arguments;
mod dialog;
mod display;
mod diverged;
mod go_on;
mod keyboard;
mod person;
mod prompt;
mod result;
mod signals;
mod unlisted;
mod watch;

pub(crate) use arguments::{Format, ResumeArguments, RunArguments};
pub(crate) use display::{Display, Loudness};
pub(crate) use go_on::{go_on, load, open};
pub(crate) use keyboard::Keyboard;
pub(crate) use prompt::Prompt;
pub(crate) use result::{About, Source, give_of, tell_questions, unanswered};
pub(crate) use signals::{Signals, outlive_file_limits};
pub(crate) use unlisted::take_secrets_off;
