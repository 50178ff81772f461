#![doc = include_str!("../README.md")]
//!
//! | module | what it is for |
//! |---|---|
//! | `host` | the [`Host`]: load, prepare, start, go on, subscribe, answer, record |
//! | `definition` | kinds of files that can be run, and what each of them is asked |
//! | `agentfile` | Agentfiles as such a kind, from disks and packages |
//! | `pack` | PromptPacks as such a kind |
//! | `prepared`, `running` | a definition with everything it needs; a run under way |
//! | `manifest`, `kept`, `place`, `fingerprints` | what a run's record keeps for going on with it |
//! | `equipment`, `models` | models by name, profiles, what runs in this process |
//! | `tools`, `mcp` | the tools of a run, and what they may reach |
//! | `store` | where runs are kept, and how they are moved |
//! | `telemetry` | traces, metrics and the log |
//! | `checkup` | whether all of it is in order here |
//! | `gist`, `onward` | what a stored run was given and came to; whether it can go on |
//! | `planned` | what an Agentfile is going to do, for showing progress |
//! | `chat` | a conversation as a workflow |
//!
//! **What it must never do.** Read arguments, print, ask anybody anything by itself, or end the process: whatever is worth
//! saying is returned. Let a run go on with less confinement than its policies want.

mod agentfile;
pub mod chat;
mod checkup;
mod definition;
mod equipment;
mod error;
mod fingerprints;
mod gist;
mod host;
mod kept;
mod manifest;
mod mcp;
pub mod models;
mod onward;
mod pack;
mod place;
mod planned;
mod prepared;
mod running;
pub mod store;
mod telemetry;
pub mod tools;

pub use agentfile::{
    AgentfileKind, FileError, LARGEST_FILE, bytes_of, in_words, is_standard_input, trust_store,
};
pub use checkup::{Checkup, Found};
pub use definition::{Definition, Equipped, Kind, Loaded, counted};
pub use error::HostError;
pub use gist::{gist, last_text};
pub use host::{GoOnOptions, Host, HostBuilder, StartOptions};
pub use manifest::{Answers, Manifest};
pub use mcp::ConfiguredServers;
pub use onward::{can_go_on, is_cancelled_for_good};
pub use pack::{CompiledFile, PackKind, compile_pack};
pub use place::Place;
pub use planned::planned;
pub use prepared::{HowToGoOn, Prepared};
pub use running::{AfterRun, Finished, Running};
pub use telemetry::RunTelemetry;
