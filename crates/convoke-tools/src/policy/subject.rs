//! Subjects of a call, which rules are matched against.

use std::collections::BTreeMap;

use convoke_core::{ToolEffect, ToolEffects};
use serde_json::Value;

use crate::network::Destination;

/// The subject of a call, which rules are matched against.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A file or folder.
    Path(String),
    /// A folder that something is done in. It can be denied or asked about, and allows nothing.
    Folder(String),
    /// An address.
    Url(String),
    /// A host that a command wants to reach.
    Host(Destination),
    /// A command line for a shell.
    Command(String),
    /// A program with its arguments, for no shell.
    Program(Vec<String>),
    /// A tool of an MCP server.
    Mcp {
        /// The server's name in the configuration.
        server: String,
        /// What the server calls the tool.
        tool: String,
    },
    /// Every workspace of the user: something that is kept for all of them.
    EveryWorkspace,
}

/// The kind of subject that an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectKind {
    /// A path, or a list of them.
    Path,
    /// An address, or a list of them.
    Url,
    /// A command line.
    Command,
}

impl SubjectKind {
    pub(super) const ALL: [Self; 3] = [Self::Path, Self::Url, Self::Command];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Url => "url",
            Self::Command => "command",
        }
    }

    fn of(self, text: &str) -> Subject {
        match self {
            Self::Path => Subject::Path(text.to_owned()),
            Self::Url => Subject::Url(text.to_owned()),
            Self::Command => Subject::Command(text.to_owned()),
        }
    }
}

/// The arguments of built-in tools that are judged.
const BUILT_IN: &[(&str, &[(&str, SubjectKind)])] = &[
    ("read", &[("path", SubjectKind::Path)]),
    ("head", &[("path", SubjectKind::Path)]),
    ("tail", &[("path", SubjectKind::Path)]),
    ("ls", &[("path", SubjectKind::Path)]),
    ("tree", &[("path", SubjectKind::Path)]),
    ("glob", &[("path", SubjectKind::Path)]),
    ("grep", &[("path", SubjectKind::Path)]),
    ("diff", &[("file_a", SubjectKind::Path), ("file_b", SubjectKind::Path)]),
    ("write", &[("path", SubjectKind::Path)]),
    ("edit", &[("path", SubjectKind::Path)]),
    ("patch", &[("path", SubjectKind::Path)]),
    ("mkdir", &[("path", SubjectKind::Path)]),
    ("mv", &[("source", SubjectKind::Path), ("destination", SubjectKind::Path)]),
    ("cp", &[("source", SubjectKind::Path), ("destination", SubjectKind::Path)]),
    ("rm", &[("path", SubjectKind::Path)]),
    ("bash", &[("command", SubjectKind::Command)]),
    ("web_fetch", &[("url", SubjectKind::Url)]),
];

/// Those that take the whole workspace if they are told no path.
const RECURSIVE: &[&str] = &["ls", "tree", "glob", "grep"];

/// Whether a tool of this name comes with Convoke.
pub(super) fn is_built_in(name: &str) -> bool {
    effects(name).is_some()
}

/// What a built-in tool declares to do.
pub(super) fn effects(name: &str) -> Option<ToolEffects> {
    Some(match name {
        "read" | "head" | "tail" | "ls" | "tree" | "glob" | "grep" | "diff" => ToolEffect::Reads.into(),
        "write" | "edit" | "patch" | "mkdir" | "mv" | "cp" => ToolEffect::Writes.into(),
        "rm" => [ToolEffect::Writes, ToolEffect::Irreversible].into(),
        "bash" => super::judge::BASH.into(),
        "git" => [ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns].into(),
        "web_fetch" | "web_search" => [ToolEffect::Reads, ToolEffect::Network].into(),
        _ => return None,
    })
}

/// What a call is about. `declared` is what the policy says of the tool's arguments.
pub(super) fn subjects(
    tool: &str,
    declared: Option<&BTreeMap<String, SubjectKind>>,
    arguments: &Value,
) -> Vec<Subject> {
    let mut subjects = Vec::new();
    let known = BUILT_IN.iter().find(|(own, _)| *own == tool).map_or(&[][..], |(_, arguments)| arguments);
    let declared = declared.into_iter().flatten().map(|(name, kind)| (name.as_str(), *kind));
    for (name, kind) in known.iter().copied().chain(declared) {
        match &arguments[name] {
            Value::String(text) => subjects.push(kind.of(text)),
            Value::Array(items) => {
                subjects.extend(items.iter().filter_map(Value::as_str).map(|text| kind.of(text)))
            }
            // What is not said is the workspace itself.
            Value::Null if RECURSIVE.contains(&tool) && name == "path" => {
                subjects.push(Subject::Path(".".to_owned()));
            }
            _ => {}
        }
    }
    if tool == "git" {
        subjects.extend(git(arguments));
    }
    if tool == "remember" && arguments["scope"] == "user" {
        subjects.push(Subject::EveryWorkspace);
    }
    if matches!(tool, "bash" | "git") {
        let folder = ["folder", "cwd"].iter().filter_map(|name| arguments[*name].as_str());
        subjects.extend(folder.map(|folder| Subject::Folder(folder.to_owned())));
    }
    subjects
}

/// What the tool `git` runs, however its arguments are given.
fn git(arguments: &Value) -> Option<Subject> {
    let words: Vec<&str> = match &arguments["args"] {
        Value::String(text) => text.split_whitespace().collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    Some(Subject::Program(["git"].into_iter().chain(words).map(str::to_owned).collect()))
}
