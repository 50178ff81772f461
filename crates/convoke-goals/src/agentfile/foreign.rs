//! Recognises files of other formats that are easily mistaken for an Agentfile.
//!
//! Read as one, such a file would give an error for every line of it, none of which says what is wrong.

use super::diagnostic::{Code, Diagnostic};
use super::syntax::StatementKind;
use super::{Source, Span};

/// Tables and keys that stand at the top of the configuration of the Go `agent` program, or of ours.
const OF_CONFIGURATIONS: &[&str] = &[
    "agent",
    "llm",
    "small_llm",
    "profiles",
    "storage",
    "telemetry",
    "skills",
    "model",
    "services",
    "store",
];

/// Those of policies, the Go program's or ours.
const OF_POLICIES: &[&str] =
    &["default_deny", "allowed_dirs", "bash", "tools", "mcp", "security", "content", "workspace", "version"];

/// What is said about a file that is none.
pub(super) fn found(source: &Source) -> Option<Diagnostic> {
    unreadable(source).or_else(|| json(source)).or_else(|| yaml(source)).or_else(|| toml(source))
}

/// Texts of people have no NUL in them.
fn unreadable(source: &Source) -> Option<Diagnostic> {
    let start = source.text().find('\0')?;
    let diagnostic = Diagnostic::new(
        Code::NotAnAgentfile,
        Span::new(start, start + 1),
        "this is not text, and so not an Agentfile",
    );
    Some(
        diagnostic
            .label("no text has this in it")
            .help("name the Agentfile itself; `convoke init` writes one"),
    )
}

/// No statement begins with a brace.
fn json(source: &Source) -> Option<Diagnostic> {
    let text = source.text();
    let start = text.len() - text.trim_start().len();
    text[start..].starts_with('{').then(|| {
        Diagnostic::new(Code::NotAnAgentfile, Span::new(start, start + 1), "this is JSON, not an Agentfile")
            .label("JSON begins here")
            .help("a pack is known by its `prompts`, a graph by its `nodes`; an Agentfile begins with `NAME`")
    })
}

fn toml(source: &Source) -> Option<Diagnostic> {
    let text = source.text();
    let mut names = Vec::new();
    let mut first = None;
    for line in text.lines().filter(is_significant) {
        let word = line.split_whitespace().next().unwrap_or_default();
        if StatementKind::from_word(word).is_some_and(|kind| kind.word() == word) {
            return None;
        }
        // Longer values go on in lines that are indented, or begin with what ends them.
        if line.starts_with([' ', '\t', ']', '}', '"', '\'']) {
            continue;
        }
        names.push(toml_name(line)?);
        first.get_or_insert(line);
    }
    let first = first?;
    let start = first.as_ptr() as usize - text.as_ptr() as usize;
    let span = Span::new(start, start + first.trim_end().len());
    let name = source.name();
    let is_about = |known: &[&str]| names.iter().any(|name| known.contains(name));
    let (what, help) = if is_about(OF_CONFIGURATIONS) {
        (
            "a configuration",
            format!("`convoke config import {name}` makes a convoke.toml of one of the Go `agent` program"),
        )
    } else if is_about(OF_POLICIES) {
        (
            "a policy",
            format!(
                "`convoke policy import {name}` translates one of the Go `agent` program; `convoke policy check {name}` checks one of Convoke"
            ),
        )
    } else {
        ("TOML", "an Agentfile begins with `NAME`; `convoke init` writes one".to_owned())
    };
    let message = format!("this is {what}, not an Agentfile");
    Some(Diagnostic::new(Code::NotAnAgentfile, span, message).label("TOML begins here").help(help))
}

/// The outermost table or key that a line of TOML begins with.
fn toml_name(line: &str) -> Option<&str> {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let path = match line.strip_prefix('[') {
        Some(table) => table.trim_start_matches('[').split_once(']')?.0,
        None => line.split_once('=')?.0,
    };
    let name = path.trim().split('.').next().unwrap_or_default();
    (!name.is_empty() && name.chars().all(fits)).then_some(name)
}

fn yaml(source: &Source) -> Option<Diagnostic> {
    let text = source.text();
    let mut keys = Vec::new();
    let mut first = None;
    for line in text.lines().filter(is_significant) {
        let word = line.split_whitespace().next().unwrap_or_default();
        if StatementKind::from_word(word).is_some() {
            return None;
        }
        if line.starts_with([' ', '\t', '-']) {
            continue;
        }
        keys.push(key(line)?);
        first.get_or_insert(line);
    }
    let start = first.map(|line| line.as_ptr() as usize - text.as_ptr() as usize)?;
    let span = Span::new(start, start + first.map_or(0, |line| line.trim_end().len()));
    let is_swarm = keys.contains(&"agents") && (keys.len() > 1 || text.contains("agentfile:"));
    Some(if is_swarm {
        Diagnostic::new(Code::NotAnAgentfile, span, "this is the manifest of a swarm, not an Agentfile")
            .label("YAML begins here")
            .note("a manifest lists agents that share work; Convoke does not run swarms yet")
            .help("run the files it names by themselves: `convoke run PATH` for each path after `agentfile:`")
    } else {
        let is_manifest = ["apiVersion", "kind", "spec"].iter().all(|known| keys.contains(known));
        let help = if is_manifest {
            "`convoke compile` makes a pack of the manifest of an Arena or of a PromptConfig"
        } else {
            "an Agentfile begins with `NAME`, and `RUN main USING goal` says what is done; `convoke init` writes one"
        };
        Diagnostic::new(Code::NotAnAgentfile, span, "this is YAML, not an Agentfile")
            .label("YAML begins here")
            .help(help)
    })
}

/// Whether a line says something in YAML.
fn is_significant(line: &&str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with('#') || line == "---")
}

/// The key that a line of YAML begins with.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let is_key = !key.is_empty() && key.chars().all(fits);
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']))).then_some(key)
}
