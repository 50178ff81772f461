//! Running files: `convoke run`, `convoke resume`, and everything in between. What running takes is the host's; what is here is
//! typed, shown and asked.
//!
//! | module | what it is for |
//! |---|---|
//! | `arguments`, `hide_secrets` | the command line, and what must not stand there |
//! | `go_on` | a prepared run, with somebody who watches |
//! | `watch` | a run under way: events, a person, signals |
//! | `display`, `dialog`, `keyboard`, `person`, `prompt`, `signals` | what is shown, asked, typed and told |
//! | `result` | what came of it |

mod arguments;
mod dialog;
mod display;
mod go_on;
mod hide_secrets;
mod keyboard;
mod person;
mod prompt;
mod result;
mod signals;
mod watch;

pub(crate) use arguments::{Format, ResumeArguments, RunArguments, time_limit};
pub(crate) use display::{Display, Verbosity};
pub(crate) use go_on::{go_on, load, open};
pub(crate) use hide_secrets::take_secrets_off;
pub(crate) use keyboard::Keyboard;
pub(crate) use prompt::Prompt;
pub(crate) use result::{RunNotes, give, tell_questions};
pub(crate) use signals::{INTERRUPTED, Signals, outlive_file_limits};
