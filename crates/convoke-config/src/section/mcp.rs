//! The `mcp.servers` section.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use convoke_core::Digest;
use serde_json::json;

use crate::problem::{Problem, Problems};
use crate::schema::path;
use crate::{Setting, Value};

/// The digits of a fingerprint.
const DIGITS: usize = 32;

/// A server as it is configured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// Which revision of the protocol to speak: `auto`, `initialize` or `stateless`.
    pub protocol: Option<String>,
    /// How long it may take to be ready.
    pub startup: Option<Duration>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How often in a row it is started again.
    pub restarts: Option<u32>,
    /// Whether what it says about its tools is believed.
    pub trust_annotations: bool,
    /// The only tools to offer.
    pub allow: Option<Vec<String>>,
    /// Tools not to offer.
    pub deny: Vec<String>,
    /// Whether agents get tools for its resources.
    pub resources: bool,
    /// Whether agents get tools for its prompts.
    pub prompts: bool,
    /// Whether its command runs in the sandbox, if that is said.
    pub sandbox: Option<bool>,
    /// Whether a folder's file says something of it.
    pub is_from_folder: bool,
    /// What must happen before it may be used, if a folder's file names it and the user has not agreed to it.
    pub untrusted: Option<UntrustedServer>,
}

/// The transport to a server.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum McpTransport {
    /// A command.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Where it works.
        folder: Option<PathBuf>,
        /// Variables of ours that it may see.
        inherit: Vec<String>,
        /// Variables for it. `${NAME}` in a value is a variable of ours.
        variables: BTreeMap<String, String>,
    },
    /// An address.
    Address {
        /// The address.
        url: String,
        /// Headers for every request. `${NAME}` in a value is a variable of ours.
        headers: BTreeMap<String, String>,
    },
}

impl std::fmt::Debug for McpTransport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command { command, .. } => formatter.debug_tuple("Command").field(command).finish(),
            Self::Address { .. } => formatter.write_str("Address"),
        }
    }
}

/// A server that a folder's file names, and that the user has not agreed to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file} wants to {what} as MCP server `{name}`; if you trust it as it is: `convoke mcp trust {name}`, or set \
     CONVOKE_MCP_TRUSTED={fingerprint}"
)]
#[non_exhaustive]
pub struct UntrustedServer {
    /// The server.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What it would do, in words.
    pub what: String,
    /// What to put into the list of trusted servers. It changes with everything that is said of the server.
    pub fingerprint: String,
}

/// The servers, by name. Those that [`check`] finds fault with are left out.
pub(crate) fn servers(settings: &[Setting]) -> Vec<McpServer> {
    let trusted = settings.iter().find_map(|setting| match (setting.key.path, &setting.value) {
        (path::MCP_TRUSTED, Value::Texts(trusted)) => Some(trusted.as_slice()),
        _ => None,
    });
    grouped(settings)
        .into_iter()
        .filter_map(|(name, said)| server(name, &said, trusted.unwrap_or_default()))
        .collect()
}

/// What goes with a command only.
const FOR_COMMANDS: [&str; 5] = [
    path::MCP_SERVERS_ARGS,
    path::MCP_SERVERS_ENV,
    path::MCP_SERVERS_INHERIT,
    path::MCP_SERVERS_FOLDER,
    path::MCP_SERVERS_SANDBOX,
];

/// Servers that have both a command and an address, or neither.
pub(crate) fn check(settings: &[Setting], problems: &mut Problems) {
    for (name, said) in grouped(settings) {
        let find = |key: &str| said.iter().find(|setting| setting.key.path == key);
        let (command, url) = (find(path::MCP_SERVERS_COMMAND), find(path::MCP_SERVERS_URL));
        let problem = match (command, url) {
            (Some(_), Some(url)) => Some((url, "has a command and a url", "keep one of them")),
            (None, None) => said.first().map(|first| {
                (
                    first,
                    "has neither a command nor a url",
                    "say how to reach it: command = \"…\", or url = \"https://…\"",
                )
            }),
            (Some(_), None) => find(path::MCP_SERVERS_HEADERS).map(|setting| {
                (setting, "has a command, which takes no headers", "say `env` for its variables")
            }),
            (None, Some(_)) => FOR_COMMANDS.iter().find_map(|key| find(key)).map(|setting| {
                (
                    setting,
                    "has a url, and nothing to start",
                    "`args`, `env`, `inherit`, `folder` and `sandbox` go with a command",
                )
            }),
        };
        if let Some((setting, what, help)) = problem {
            let message = format!("`mcp.servers.{name}` {what}");
            problems.push(Problem::error(message).at(setting.place.clone()).help(help));
        }
    }
}

fn grouped(settings: &[Setting]) -> BTreeMap<&str, Vec<&Setting>> {
    let mut servers: BTreeMap<&str, Vec<&Setting>> = BTreeMap::new();
    for setting in settings.iter().filter(|setting| setting.key.path.starts_with("mcp.servers.*.")) {
        if let Some(name) = setting.own_name().and_then(|name| name.strip_prefix("servers.")) {
            servers.entry(name).or_default().push(setting);
        }
    }
    servers
}

fn field_of(setting: &Setting) -> &'static str {
    setting.key.path.rsplit('.').next().unwrap_or_default()
}

fn server(name: &str, said: &[&Setting], trusted: &[String]) -> Option<McpServer> {
    let value = |key: &str| said.iter().find(|setting| setting.key.path == key).map(|setting| &setting.value);
    let text = |key: &str| match value(key) {
        Some(Value::Text(text) | Value::Address(text)) => Some(text.clone()),
        _ => None,
    };
    let texts = |key: &str| match value(key) {
        Some(Value::Texts(texts)) => Some(texts.clone()),
        _ => None,
    };
    let table = |key: &str| match value(key) {
        Some(Value::Headers(table)) => table.clone(),
        _ => BTreeMap::new(),
    };
    let time = |key: &str| match value(key) {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    };
    let flag = |key: &str| matches!(value(key), Some(Value::Flag(true)));
    let transport = match (text(path::MCP_SERVERS_COMMAND), text(path::MCP_SERVERS_URL)) {
        (Some(command), None) => McpTransport::Command {
            command,
            arguments: texts(path::MCP_SERVERS_ARGS).unwrap_or_default(),
            folder: match value(path::MCP_SERVERS_FOLDER) {
                Some(Value::Path(folder)) => Some(folder.clone()),
                _ => None,
            },
            inherit: texts(path::MCP_SERVERS_INHERIT).unwrap_or_default(),
            variables: table(path::MCP_SERVERS_ENV),
        },
        (None, Some(url)) => McpTransport::Address { url, headers: table(path::MCP_SERVERS_HEADERS) },
        _ => return None,
    };
    let folder_file = said.iter().find_map(|setting| setting.origin.folder_file());
    let untrusted = folder_file.and_then(|file| untrusted(name, file, &transport, said, trusted));
    Some(McpServer {
        name: name.to_owned(),
        transport,
        protocol: text(path::MCP_SERVERS_PROTOCOL),
        startup: time(path::MCP_SERVERS_STARTUP),
        timeout: time(path::MCP_SERVERS_TIMEOUT),
        restarts: match value(path::MCP_SERVERS_RESTARTS) {
            Some(Value::Whole(times)) => u32::try_from(*times).ok(),
            _ => None,
        },
        trust_annotations: flag(path::MCP_SERVERS_TRUST_ANNOTATIONS),
        allow: texts(path::MCP_SERVERS_ALLOW),
        deny: texts(path::MCP_SERVERS_DENY).unwrap_or_default(),
        resources: flag(path::MCP_SERVERS_RESOURCES),
        prompts: flag(path::MCP_SERVERS_PROMPTS),
        sandbox: match value(path::MCP_SERVERS_SANDBOX) {
            Some(Value::Flag(sandbox)) => Some(*sandbox),
            _ => None,
        },
        is_from_folder: folder_file.is_some(),
        untrusted,
    })
}

fn untrusted(
    name: &str,
    file: &Path,
    transport: &McpTransport,
    said: &[&Setting],
    trusted: &[String],
) -> Option<UntrustedServer> {
    let fingerprint = fingerprint(name, file, said);
    if trusted.contains(&fingerprint) {
        return None;
    }
    let what = match transport {
        McpTransport::Command { command, arguments, .. } => {
            let mut line = command.clone();
            for argument in arguments {
                let _ = write!(line, " {argument}");
            }
            format!("start `{line}`")
        }
        McpTransport::Address { url, .. } => {
            format!("talk to {}", convoke_models::choose::address::shown(url))
        }
    };
    Some(UntrustedServer { name: name.to_owned(), file: file.to_owned(), what, fingerprint })
}

/// A digest of everything that is said of a server, and of where: what is changed is no longer what was trusted.
fn fingerprint(name: &str, file: &Path, said: &[&Setting]) -> String {
    let all: BTreeMap<&str, serde_json::Value> = said
        .iter()
        .map(|setting| {
            let value = match &setting.value {
                // As they are: what is shown of these hides what differs.
                Value::Headers(table) => json!(table),
                Value::Address(address) => json!(address),
                other => other.to_json(),
            };
            (field_of(setting), value)
        })
        .collect();
    // The same file has more than one name: which it is must not depend on where somebody stands, nor must the file of
    // another folder pass for it.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let digest = Digest::of_json(&json!({"file": file.display().to_string(), "server": name, "said": all}));
    let digest: String = digest.to_string().chars().take(DIGITS).collect();
    format!("{name}:{digest}")
}
