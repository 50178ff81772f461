//! Every key of `policy.toml`.

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The number of this format.
    Version,
    /// "allow", "ask" or "deny".
    Outcome,
    /// "ask" or "deny".
    Restriction,
    /// "required", "landlock" or "off".
    Sandbox,
    /// Patterns of paths.
    Paths,
    /// Names of hosts.
    Domains,
    /// Names of hosts, with a port or without.
    Hosts,
    /// Patterns of commands.
    Commands,
    /// `server:tool`.
    McpTools,
    /// Patterns of files, at any depth.
    Files,
    /// Folders, each by its whole path.
    Folders,
    /// A whole number, 1 or more.
    Number,
    /// `false`, `true` or "hosts".
    Network,
    /// "nothing" or "changes".
    Review,
    /// "path", "url" or "command", for the name of an argument.
    Subject,
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Its name with those of its sections; `*` is a name that the user gives.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it, in words.
    pub default: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str) -> Key {
    Key { path, kind, default }
}

/// All keys, in the order they are documented in.
pub const KEYS: &[Key] = &[
    key("version", Kind::Version, "must be there"),
    key("sandbox", Kind::Sandbox, "\"required\""),
    key("readable", Kind::Folders, "[]"),
    key("protected", Kind::Files, "[]"),
    key("read_only", Kind::Files, "[]"),
    key("defaults.reads", Kind::Outcome, "\"allow\""),
    key("defaults.writes", Kind::Outcome, "\"allow\""),
    key("defaults.spawns", Kind::Outcome, "\"ask\""),
    key("defaults.network", Kind::Outcome, "\"deny\""),
    key("defaults.irreversible", Kind::Outcome, "\"ask\""),
    key("tools.*.decision", Kind::Outcome, "by the tool's effects"),
    key("tools.*.calls", Kind::Number, "no limit"),
    key("tools.*.arguments.*", Kind::Subject, "known for built-in tools"),
    key("tools.*.paths.allow", Kind::Paths, "[]"),
    key("tools.*.paths.ask", Kind::Paths, "[]"),
    key("tools.*.paths.deny", Kind::Paths, "[]"),
    key("tools.*.domains.allow", Kind::Domains, "[]"),
    key("tools.*.domains.ask", Kind::Domains, "[]"),
    key("tools.*.domains.deny", Kind::Domains, "[]"),
    key("paths.within", Kind::Paths, "[]"),
    key("paths.ask", Kind::Paths, "[]"),
    key("paths.deny", Kind::Paths, "[]"),
    key("commands.default", Kind::Outcome, "\"allow\" in the sandbox, \"ask\" without it"),
    key("commands.unclear", Kind::Restriction, "\"ask\""),
    key("commands.review", Kind::Review, "\"nothing\""),
    key("commands.network", Kind::Network, "false"),
    key("commands.hosts.default", Kind::Outcome, "\"ask\""),
    key("commands.hosts.allow", Kind::Hosts, "[]"),
    key("commands.hosts.ask", Kind::Hosts, "[]"),
    key("commands.hosts.deny", Kind::Hosts, "[]"),
    key("commands.allow", Kind::Commands, "[]"),
    key("commands.ask", Kind::Commands, "[]"),
    key("commands.deny", Kind::Commands, "[]"),
    key("mcp.default", Kind::Outcome, "\"ask\"; \"deny\" if there is an allow list"),
    key("mcp.allow", Kind::McpTools, "[]"),
    key("mcp.ask", Kind::McpTools, "[]"),
    key("mcp.deny", Kind::McpTools, "[]"),
    key("limits.tool_calls", Kind::Number, "no limit"),
    key("limits.cpu_seconds", Kind::Number, "600"),
    key("limits.memory_mb", Kind::Number, "4096"),
    key("limits.processes", Kind::Number, "512"),
    key("limits.file_mb", Kind::Number, "1024"),
    key("limits.output_mb", Kind::Number, "64"),
    key("limits.written_mb", Kind::Number, "16384"),
];

/// What the schema has directly below a place, in its order.
pub(super) fn children(pattern: &str) -> Vec<&'static str> {
    convoke_text::keyed::children(KEYS.iter().map(|key| key.path), pattern)
}
