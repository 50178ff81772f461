//! The table of keys of `policy.toml`.

/// The kind of value that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
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
    pub kind: KeyKind,
    /// What holds without it, in words.
    pub default: &'static str,
}

const fn key(path: &'static str, kind: KeyKind, default: &'static str) -> Key {
    Key { path, kind, default }
}

/// All keys, in the order they are documented in.
pub const KEYS: &[Key] = &[
    key("version", KeyKind::Version, "must be there"),
    key("sandbox", KeyKind::Sandbox, "\"required\""),
    key("readable", KeyKind::Folders, "[]"),
    key("protected", KeyKind::Files, "[]"),
    key("read_only", KeyKind::Files, "[]"),
    key("defaults.reads", KeyKind::Outcome, "\"allow\""),
    key("defaults.writes", KeyKind::Outcome, "\"allow\""),
    key("defaults.spawns", KeyKind::Outcome, "\"ask\""),
    key("defaults.network", KeyKind::Outcome, "\"deny\""),
    key("defaults.irreversible", KeyKind::Outcome, "\"ask\""),
    key("tools.*.decision", KeyKind::Outcome, "by the tool's effects"),
    key("tools.*.calls", KeyKind::Number, "no limit"),
    key("tools.*.arguments.*", KeyKind::Subject, "known for built-in tools"),
    key("tools.*.paths.allow", KeyKind::Paths, "[]"),
    key("tools.*.paths.ask", KeyKind::Paths, "[]"),
    key("tools.*.paths.deny", KeyKind::Paths, "[]"),
    key("tools.*.domains.allow", KeyKind::Domains, "[]"),
    key("tools.*.domains.ask", KeyKind::Domains, "[]"),
    key("tools.*.domains.deny", KeyKind::Domains, "[]"),
    key("paths.within", KeyKind::Paths, "[]"),
    key("paths.ask", KeyKind::Paths, "[]"),
    key("paths.deny", KeyKind::Paths, "[]"),
    key("commands.default", KeyKind::Outcome, "\"allow\" in the sandbox, \"ask\" without it"),
    key("commands.unclear", KeyKind::Restriction, "\"ask\""),
    key("commands.review", KeyKind::Review, "\"nothing\""),
    key("commands.network", KeyKind::Network, "false"),
    key("commands.hosts.default", KeyKind::Outcome, "\"ask\""),
    key("commands.hosts.allow", KeyKind::Hosts, "[]"),
    key("commands.hosts.ask", KeyKind::Hosts, "[]"),
    key("commands.hosts.deny", KeyKind::Hosts, "[]"),
    key("commands.allow", KeyKind::Commands, "[]"),
    key("commands.ask", KeyKind::Commands, "[]"),
    key("commands.deny", KeyKind::Commands, "[]"),
    key("mcp.default", KeyKind::Outcome, "\"ask\"; \"deny\" if there is an allow list"),
    key("mcp.allow", KeyKind::McpTools, "[]"),
    key("mcp.ask", KeyKind::McpTools, "[]"),
    key("mcp.deny", KeyKind::McpTools, "[]"),
    key("limits.tool_calls", KeyKind::Number, "no limit"),
    key("limits.cpu_seconds", KeyKind::Number, "600"),
    key("limits.memory_mb", KeyKind::Number, "4096"),
    key("limits.processes", KeyKind::Number, "512"),
    key("limits.file_mb", KeyKind::Number, "1024"),
    key("limits.output_mb", KeyKind::Number, "64"),
    key("limits.written_mb", KeyKind::Number, "16384"),
];

/// What the schema has directly below a place, in its order.
pub(super) fn children(pattern: &str) -> Vec<&'static str> {
    convoke_text::keyed::children(KEYS.iter().map(|key| key.path), pattern)
}
