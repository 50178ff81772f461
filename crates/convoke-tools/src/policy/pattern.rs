//! Lists of patterns, each of which knows its line: paths, domains, hosts with ports, tools of MCP servers.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::network::Destination;
use crate::workspace::Protected;

/// One pattern, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternText {
    pub(super) text: String,
    /// `None` if it is built in.
    pub(super) line: Option<usize>,
}

/// Patterns of one kind in the three lists that there are.
#[derive(Debug, Clone)]
pub(super) struct Lists<P> {
    pub(super) allow: Vec<(PatternText, P)>,
    pub(super) ask: Vec<(PatternText, P)>,
    pub(super) deny: Vec<(PatternText, P)>,
}

impl<P> Lists<P> {
    /// The list of this name in a file.
    pub(super) fn named(&mut self, name: &str) -> &mut Vec<(PatternText, P)> {
        match name {
            "allow" => &mut self.allow,
            "ask" => &mut self.ask,
            _ => &mut self.deny,
        }
    }
}

impl<P> Default for Lists<P> {
    fn default() -> Self {
        Self { allow: Vec::new(), ask: Vec::new(), deny: Vec::new() }
    }
}

impl<P> Lists<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty()
    }
}

/// A pattern of paths. `*` stays within a name, `**` is any number of whole names.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    reach: Reach,
    globs: Vec<GlobMatcher>,
}

/// Which names of a file a pattern is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Those from the root.
    Absolute,
    /// Those in the workspace.
    Workspace,
    /// All: `**/*.pem` is meant everywhere.
    Everywhere,
}

impl PathPattern {
    /// A leading `$WORKSPACE` is the workspace, a leading `~` the home folder.
    pub(super) fn parse(text: &str, home: Option<&Path>) -> Result<Self, String> {
        let mut pattern = text.to_owned();
        if let Some(rest) = text.strip_prefix("$WORKSPACE").or_else(|| text.strip_prefix("${WORKSPACE}")) {
            match rest.strip_prefix('/') {
                Some(rest) => rest.clone_into(&mut pattern),
                None if rest.is_empty() => ".".clone_into(&mut pattern),
                None => return Err("after $WORKSPACE comes a `/`".to_owned()),
            }
        } else if text == "~" || text.starts_with("~/") {
            let home = home.ok_or("it is not known where the home folder is; write the whole path")?;
            pattern = format!("{}{}", globset::escape(&home.display().to_string()), &text[1..]);
        }
        if pattern.contains('$') {
            return Err("the only variable here is $WORKSPACE, at the beginning".to_owned());
        }
        let pattern = pattern.strip_prefix("./").unwrap_or(&pattern);
        let pattern = if pattern.len() > 1 { pattern.trim_end_matches('/') } else { pattern };
        if pattern.is_empty() {
            return Err("it names nothing".to_owned());
        }
        if pattern.split('/').any(|name| name == "..") {
            return Err("`..` is not followed in patterns; write where it leads".to_owned());
        }
        if pattern.split('/').any(|name| name.contains("**") && name != "**") {
            return Err("`**` stands for whole names: write `**/` before it and `/` after it".to_owned());
        }
        // What is a folder and everything in it is also the folder itself.
        let folder = pattern.strip_suffix("/**").filter(|folder| !folder.is_empty());
        let whole = if pattern == "." { "" } else { pattern };
        let globs: Result<Vec<_>, _> = [Some(whole), folder].into_iter().flatten().map(compiled).collect();
        let globs = globs.map_err(|error| error.kind().to_string())?;
        let reach = match pattern {
            _ if pattern.starts_with('/') => Reach::Absolute,
            _ if text.starts_with("**") => Reach::Everywhere,
            _ => Reach::Workspace,
        };
        Ok(Self { reach, globs })
    }

    /// The same pattern where a path without a beginning is one from this folder, and not from the workspace.
    pub(super) fn seen_from(self, folder: &Path) -> Self {
        if self.reach != Reach::Workspace {
            return self;
        }
        let folder = globset::escape(&folder.display().to_string());
        let below = |glob: &GlobMatcher| match glob.glob().glob() {
            "" => folder.clone(),
            glob => format!("{}/{glob}", folder.trim_end_matches('/')),
        };
        let globs: Option<Vec<_>> = self.globs.iter().map(|glob| compiled(&below(glob)).ok()).collect();
        // They were patterns before, and are after something that is none.
        globs.map_or(self, |globs| Self { reach: Reach::Absolute, globs })
    }

    /// Protects what it names, which is then protected at any depth, or by its whole path if that is what it names.
    pub(super) fn protect(&self, protected: &mut Protected) {
        let Some(text) = self.globs.last().map(|glob| glob.glob().glob()) else { return };
        // It was a pattern when the policy was read.
        let _ = match (self.reach, text.trim_start_matches("**/")) {
            (Reach::Absolute, _) => protected.keep_secret_at(text),
            (_, "" | "**" | "*") => return,
            (_, text) => protected.keep_secret(text),
        };
    }

    pub(super) fn matches(&self, name: &PathName) -> bool {
        let path = match self.reach {
            Reach::Absolute => name.absolute.as_deref(),
            Reach::Workspace => name.relative.as_deref(),
            Reach::Everywhere => Some(name.anywhere()),
        };
        path.is_some_and(|path| self.globs.iter().any(|glob| glob.is_match(path)))
    }
}

fn compiled(glob: &str) -> Result<GlobMatcher, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher())
}

/// One name of a file. A file may have several: the one that was written, and the one it is reached by in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathName {
    /// From the top of the workspace, if it is in it.
    pub(super) relative: Option<PathBuf>,
    /// From the root.
    pub(super) absolute: Option<PathBuf>,
}

impl PathName {
    /// The name of a path that is seen from the top of a workspace.
    pub(super) fn of(path: &Path, workspace: Option<&Path>) -> Self {
        let absolute = match workspace {
            Some(workspace) => Some(plain(&workspace.join(path))),
            None => path.is_absolute().then(|| plain(path)),
        };
        let relative = match (workspace, &absolute) {
            (Some(workspace), Some(absolute)) => absolute.strip_prefix(workspace).ok().map(Path::to_owned),
            (_, Some(_)) => None,
            (_, None) => Some(plain(path)),
        };
        Self { relative, absolute }
    }

    /// The name without where it begins.
    pub(super) fn anywhere(&self) -> &Path {
        let absolute = || self.absolute.as_deref().map(|path| path.strip_prefix("/").unwrap_or(path));
        self.relative.as_deref().or_else(absolute).unwrap_or(Path::new(""))
    }
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if plain.file_name().is_some() => drop(plain.pop()),
            Component::ParentDir if plain.has_root() => {}
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// A pattern of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DomainPattern {
    Any,
    /// This domain and all below it.
    Below(String),
    Exactly(String),
}

impl DomainPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if text.contains("://") || text.contains('/') {
            return Err("it is the name of a host, without https:// and without a path".to_owned());
        }
        let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        if name.contains('*') {
            return Err("`*` can only be all of it, or stand before the first dot".to_owned());
        }
        let host =
            url::Host::parse(name).map_err(|error| format!("it is not the name of a host: {error}"))?;
        let host = host.to_string().trim_end_matches('.').to_owned();
        Ok(if below { Self::Below(host) } else { Self::Exactly(host) })
    }

    pub(super) fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(name) => host == name,
            Self::Below(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        }
    }
}

/// A pattern of hosts, on one port or on all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    host: DomainPattern,
    port: Option<u16>,
}

impl HostPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // A number of version 6 has colons of its own, and stands in brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port.map(|port| (port, port.parse::<u16>())) {
            None => None,
            Some((text, Ok(number))) if number > 0 && !text.starts_with('+') => Some(number),
            Some((port, _)) if host.contains("//") || port.contains("//") => None,
            Some(_) => return Err("after the colon comes a port, from 1 to 65535".to_owned()),
        };
        Ok(Self { host: DomainPattern::parse(if port.is_some() { host } else { text })?, port })
    }

    pub(super) fn matches(&self, destination: &Destination) -> bool {
        self.port.is_none_or(|port| port == destination.port()) && self.host.matches(&destination.host())
    }

    /// Whether it is about this host and no other.
    pub(super) fn is_exactly(&self, destination: &Destination) -> bool {
        matches!(self.host, DomainPattern::Exactly(_)) && self.matches(destination)
    }
}

/// A pattern of tools of MCP servers: `server:tool`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpPattern {
    server: String,
    tool: String,
}

impl McpPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                Ok(Self { server: server.to_owned(), tool: tool.to_owned() })
            }
            _ => Err(format!("write `server:tool`; `{text}:*` is all tools of a server")),
        }
    }

    pub(super) fn matches(&self, server: &str, tool: &str) -> bool {
        let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        fits(&self.server, server) && fits(&self.tool, tool)
    }
}
