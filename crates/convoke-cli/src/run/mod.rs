//! Running Agentfiles: `convoke run`, `convoke resume`, and everything in between.
//!
//! | module | what it is for |
//! |---|---|
//! | `arguments`, `budget`, `inputs` | the command line, and what the workflow is given |
//! | `manifest`, `kept` | what is kept with a run, so that it can be resumed |
//! | `equipment`, `tuned` | models and tools for goals |
//! | `tools`, `opened`, `notes`, `web`, `offered` | the tools, and what they can reach |
//! | `job` | a file, its inputs and its model, ready to be started or resumed |
//! | `watch` | a run under way: events, a person, signals |
//! | `always` | rules that a person's answer writes into their own policy |
//! | `display`, `dialog`, `keyboard`, `person`, `signals` | what is shown, asked, typed and told |
//! | `result`, `diverged` | what came of it, and why it does not fit what was done |

mod always;
mod arguments;
mod budget;
mod checkup;
mod dialog;
mod display;
mod diverged;
mod equipment;
mod fingerprints;
mod inputs;
mod job;
mod kept;
mod keyboard;
mod manifest;
mod notes;
mod offered;
#[cfg(target_os = "linux")]
mod opened;
mod person;
mod place;
mod prompt;
mod result;
mod signals;
mod tools;
mod tuned;
mod watch;
mod web;

pub(crate) use arguments::{Format, ResumeArguments, RunArguments};
pub(crate) use checkup::Checkup;
pub(crate) use fingerprints::Fingerprints;
pub(crate) use inputs::{Given, InputArguments};
pub(crate) use job::{Job, Source};
pub(crate) use kept::{Keeping, Kept};
pub(crate) use keyboard::Keyboard;
pub(crate) use manifest::Manifest;
pub(crate) use notes::scratchpad_file;
pub(crate) use place::{Place, must_be_where_it_was};
pub(crate) use prompt::Prompt;
pub(crate) use result::{About, give, tell_questions};
pub(crate) use signals::{Signals, outlive_file_limits};
pub(crate) use tools::{Hands, Servers, workspace};
