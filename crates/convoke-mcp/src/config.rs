//! The configuration of a server: how to reach it, what it may see of this process, how far it is trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The configuration of one server.
///
/// Values of variables and headers may name variables of this process as `${NAME}`; `$$` is a dollar. They are looked up
/// when the server is started, and shown nowhere.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// What it is called here: part of its tools' names.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
    /// Which revision of the protocol to speak.
    pub protocol: Protocol,
    /// How long it may take until it is ready and has listed its tools.
    pub startup: Duration,
    /// How long a call may take. Waiting for a person does not count.
    pub timeout: Duration,
    /// How often in a row it is started again without having answered a call in between.
    pub restarts: u32,
    /// Whether what it says about its tools (that they only read, that they may be repeated) is believed.
    pub trust_annotations: bool,
    /// The only tools to offer; `None` for all.
    pub allow: Option<Vec<String>>,
    /// Tools not to offer, whatever else is said.
    pub deny: Vec<String>,
    /// Whether agents get tools to list and read its resources.
    pub resources: bool,
    /// Whether agents get tools to list and use its prompts.
    pub prompts: bool,
    /// Whether its command runs in the sandbox.
    pub sandbox: ServerSandbox,
}

/// The choice whether a server's command runs in the [sandbox](crate::McpServersBuilder::sandbox).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ServerSandbox {
    /// Where there is one, if the server [is started from](ServerConfig::is_started_from) the workspace: agents change files
    /// there. Else it has all the rights of this process.
    #[default]
    InWorkspace,
    /// No: it has all the rights of this process.
    Off,
    /// Where there is one.
    IfAvailable,
    /// Yes, or it is not started.
    Required,
}

/// The transport to a server.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A process of ours, spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments, as they are.
        arguments: Vec<String>,
        /// Where it works; `None` for where we do.
        folder: Option<PathBuf>,
        /// Variables of this process that it may see as well, by name.
        inherit: Vec<String>,
        /// Further variables; values may name ours as `${NAME}`.
        variables: BTreeMap<String, String>,
    },
    /// Somebody else's process, spoken to over streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Headers for every request; values may name our variables as `${NAME}`.
        headers: BTreeMap<String, String>,
    },
}

/// The revision of the protocol to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// Ask for the newest; a server that does not know the question is greeted the old way.
    #[default]
    Auto,
    /// With `initialize`: 2025-11-25 and before. Saves the question for servers that take long to refuse it.
    Initialize,
    /// Stateless: 2026-07-28.
    Stateless,
}

impl ServerConfig {
    /// The default time a server may take to be ready.
    pub const STARTUP: Duration = Duration::from_secs(30);
    /// The default time limit of a call.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
    /// The default number of restarts in a row.
    pub const RESTARTS: u32 = 5;

    fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            protocol: Protocol::default(),
            startup: Self::STARTUP,
            timeout: Self::TIMEOUT,
            restarts: Self::RESTARTS,
            trust_annotations: false,
            allow: None,
            deny: Vec::new(),
            resources: false,
            prompts: false,
            sandbox: ServerSandbox::default(),
        }
    }

    /// A server that is a command.
    #[must_use]
    pub fn stdio(name: impl Into<String>, command: impl Into<String>) -> Self {
        let transport = Transport::Stdio {
            command: command.into(),
            arguments: Vec::new(),
            folder: None,
            inherit: Vec::new(),
            variables: BTreeMap::new(),
        };
        Self::new(name, transport)
    }

    /// A server that is somewhere else.
    #[must_use]
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Transport::Http { url: url.into(), headers: BTreeMap::new() })
    }

    /// Arguments for its command. Says nothing to a server without one.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        if let Transport::Stdio { arguments, .. } = &mut self.transport {
            arguments.extend(more.into_iter().map(Into::into));
        }
        self
    }

    /// Sets the folder its command works in. Has no effect on a server without a command.
    #[must_use]
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        if let Transport::Stdio { folder, .. } = &mut self.transport {
            *folder = Some(path.into());
        }
        self
    }

    /// Passes a variable of this process to its command. Has no effect on a server without a command.
    #[must_use]
    pub fn inherit(mut self, variable: impl Into<String>) -> Self {
        if let Transport::Stdio { inherit, .. } = &mut self.transport {
            inherit.push(variable.into());
        }
        self
    }

    /// Sets a variable of its command. Has no effect on a server without a command.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Stdio { variables, .. } = &mut self.transport {
            variables.insert(name.into(), value.into());
        }
        self
    }

    /// A header for every request. Says nothing to a server that is a command.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Http { headers, .. } = &mut self.transport {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Sets the revision of the protocol to speak.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets how long it may take to be ready.
    #[must_use]
    pub fn startup(mut self, limit: Duration) -> Self {
        self.startup = limit;
        self
    }

    /// Sets how long a call may take.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Sets how often in a row it is restarted.
    #[must_use]
    pub fn restarts(mut self, times: u32) -> Self {
        self.restarts = times;
        self
    }

    /// Believes what it says about its tools.
    #[must_use]
    pub fn trust_annotations(mut self) -> Self {
        self.trust_annotations = true;
        self
    }

    /// Offers these tools and no others.
    #[must_use]
    pub fn allow<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.allow = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Does not offer these tools.
    #[must_use]
    pub fn deny<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.deny.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Gives agents tools to list and read its resources.
    #[must_use]
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Gives agents tools to list and use its prompts.
    #[must_use]
    pub fn prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// Its command; nothing, for one that is somewhere else.
    pub(crate) fn command(&self) -> &str {
        match &self.transport {
            Transport::Stdio { command, .. } => command,
            Transport::Http { .. } => "",
        }
    }

    /// Says whether its command runs in the sandbox.
    #[must_use]
    pub fn sandbox(mut self, sandbox: ServerSandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Returns whether this tool is offered.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        let is = |name: &String| name == tool;
        self.allow.as_ref().is_none_or(|allowed| allowed.iter().any(is)) && !self.deny.iter().any(is)
    }
}

/// Names only: values may be secret, and so may what follows a `?` in an address.
impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, arguments, folder, inherit, variables } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("arguments", &arguments.len())
                .field("folder", folder)
                .field("inherit", inherit)
                .field("variables", &variables.keys().collect::<Vec<_>>())
                .finish(),
            Self::Http { url, headers } => formatter
                .debug_struct("Http")
                .field("url", &convoke_http::address::shown(url))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}
