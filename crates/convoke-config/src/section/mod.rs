//! Typed views of sections, for the rest of the program.

mod budget;
mod local;
mod mcp;
mod models;
mod profile;
mod supervision;
mod telemetry;
mod workspace;

pub(crate) use budget::{limits, wall_time};
pub use local::Local;
pub(crate) use local::local;
pub use mcp::{McpServer, McpTransport, UntrustedServer};
pub(crate) use mcp::{check as check_mcp, servers as mcp_servers};
pub(crate) use models::{models, names};
pub(crate) use profile::profiles;
pub use profile::{Profile, UnknownProfile};
pub(crate) use supervision::supervision;
pub use supervision::{Supervision, Supervisor};
pub use telemetry::{Log, LogFormat, LogLevel, Telemetry, TelemetryError};
pub(crate) use telemetry::{log, telemetry};
pub use workspace::Workspace;
pub(crate) use workspace::workspace;
