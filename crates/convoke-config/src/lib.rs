#![doc = include_str!("../README.md")]
//!
//! **What it is for.** [`Config::load`] reads what there is, in layers; later layers override earlier ones:
//!
//! 1. the built-in defaults: no file needs to be there;
//! 2. the user's own file, `~/.config/convoke/convoke.toml`;
//! 3. the folder's file, `convoke.toml` in the working folder or the nearest one above it;
//! 4. environment variables, `CONVOKE_…`;
//! 5. the command line.
//!
//! Every effective value knows where it came from ([`Setting::origin`]). All mistakes are found at once, with the place
//! and what to write instead ([`Problems`]). [`schema::KEYS`] is the one list of everything that is understood; it is what
//! the reader, `convoke config show` and `docs/configuration.md` go by.
//!
//! **Whom it trusts.** The folder's file may have come with somebody else's project. It cannot send keys, conversations or
//! telemetry where the user has not agreed to, cannot open the workspace beyond its folder, cannot say where runs are kept, and can
//! only lower what the user's own file allows to be spent.
//!
//! **What it must never do.** Show a secret: not in an error, not in a snippet of the file, not for debugging. Accept a
//! key that nothing reads.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | [`schema`] | every key: its kind, its variables, its default, who may set it |
//! | `locations` | where files are looked for |
//! | `project` | which folder counts as one project, and where its runs are kept |
//! | `existence` | whether a file is there at all |
//! | `read` | a file, a variable or a flag into settings, and what is wrong with them |
//! | `merge` | layers into one, and what a folder's file may not do |
//! | `check` | checks that involve several keys |
//! | `section` | what the rest of the program gets: typed views of sections |
//! | `problem` | what is wrong, where, and what to write instead |
//! | `edit` | changes to a file, which otherwise stays as it is |
//! | `replace` | files that are replaced whole |
//! | [`import`] | the `agent.toml` of the Go `agent` program, translated |

mod check;
mod config;
mod edit;
mod existence;
pub mod import;
mod listing;
mod loader;
mod locations;
mod merge;
mod open;
mod origin;
mod permitted;
mod problem;
mod project;
mod read;
mod replace;
pub mod schema;
mod section;
mod setting;
mod value;

pub use config::Config;
pub use convoke_models::Environment;
pub use edit::{EditError, NewServer, add_mcp_server, trust_mcp_server};
pub use existence::may_exist;
pub use listing::{ListedSetting, UnknownSection, is_listed};
pub use loader::Loader;
pub use locations::FileLocations;
pub use open::{OpenError, connect};
pub use origin::{FileScope, Origin};
pub use problem::{Help, Problem, Problems, Severity, Style};
pub use project::{Project, STORE};
pub use replace::{NewFile, NotReplaced, is_stream, replace_file, replace_own_file};
pub use section::{
    Local, Log, LogFormat, LogLevel, McpServer, McpTransport, Profile, Supervision, Supervisor, Telemetry,
    TelemetryError, UnknownProfile, UntrustedServer, Workspace,
};
pub use setting::Setting;
pub use value::Value;

/// The file's name.
pub const FILE: &str = "convoke.toml";
