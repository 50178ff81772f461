//! `convoke fmt`

use std::path::Path;

use convoke_goals::agentfile::{format, not_an_agentfile};
use convoke_host::{bytes_of, is_standard_input, other_kind, read_source};
use convoke_text::shell_quoted;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::arguments::{Arguments, Fmt};
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::files;
use crate::terminal::{Output, Rich, Tone, text};

#[derive(Serialize)]
struct Formatted {
    file: String,
    changed: bool,
    /// Why it could not be formatted.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What to call an Agentfile, and its bytes.
fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let (name, bytes) = bytes_of(path)?;
    match other_kind(&name, &bytes) {
        None => Ok((name, bytes)),
        Some(kind) => Err(Failure::failed(format!("{name} is a {kind}; only Agentfiles are formatted"))
            .hint("`convoke validate` says what is wrong with it")),
    }
}

pub(crate) fn run(arguments: &Arguments, wanted: &Fmt, output: &mut Output) -> Result<(), Failure> {
    let mut unreadable = 0;
    let mut unformatted: Vec<String> = Vec::new();
    let mut results = Vec::new();
    let mut unread = None;
    for path in &wanted.files {
        let (name, bytes) = match read(path) {
            Ok(read) => read,
            Err(failure) if arguments.json => {
                let (file, error) = (path.display().to_string(), Some(failure.message()));
                results.push(Formatted { file, changed: false, error });
                unread.get_or_insert(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let (source, diagnostics) = read_source(name.clone(), bytes);
        let formatted = match diagnostics.errors() {
            0 => not_an_agentfile(&source).map_or_else(|| format(source.text()), Err),
            _ => Err(diagnostics),
        };
        let before = source.text();
        let Ok(after) = formatted.map_err(|diagnostics| tell(&source, &diagnostics, output)) else {
            unreadable += 1;
            let error = Some("it has syntax errors".to_owned());
            results.push(Formatted { file: name, changed: false, error });
            continue;
        };
        let changed = before != after;
        results.push(Formatted { file: name.clone(), changed, error: None });
        if changed {
            unformatted.push(shell_quoted(&path.display().to_string()));
        }
        if wanted.check {
            if changed && !arguments.json {
                difference(&name, before, &after, output)?;
            }
        } else if is_standard_input(path) {
            output.block(&after)?;
        } else if changed {
            files::replace(path, &after)?;
            if !arguments.json {
                output.plain(&format!("formatted {name}"))?;
            }
        }
    }
    if arguments.json && !wanted.files.iter().any(|path| is_standard_input(path) && !wanted.check) {
        output.json(&results)?;
    }
    if let Some(failure) = unread {
        return Err(failure);
    }
    if unreadable > 0 {
        let files =
            if unreadable == 1 { "a file has".to_owned() } else { format!("{unreadable} files have") };
        return Err(Failure::failed(format!("{files} syntax errors and cannot be formatted"))
            .hint("correct them first: `convoke validate` shows all of them"));
    }
    if wanted.check && !unformatted.is_empty() {
        let number = unformatted.len();
        let files = if number == 1 { "1 file is".to_owned() } else { format!("{number} files are") };
        return Err(Failure::failed(format!("{files} not formatted"))
            .hint(format!("`convoke fmt {}`", unformatted.join(" "))));
    }
    Ok(())
}

/// What formatting would change, line by line.
fn difference(name: &str, before: &str, after: &str, output: &mut Output) -> Result<(), Failure> {
    let name = text::one_line(name);
    let difference = TextDiff::from_lines(before, after);
    output.line(&Rich::new(Tone::Strong, format!("--- {name}")))?;
    output.line(&Rich::new(Tone::Strong, format!("+++ {name}, formatted")))?;
    for hunk in difference.unified_diff().iter_hunks() {
        output.line(&Rich::new(Tone::Accent, hunk.header().to_string()))?;
        for change in hunk.iter_changes() {
            let (sign, tone) = match change.tag() {
                ChangeTag::Delete => ("-", Tone::Bad),
                ChangeTag::Insert => ("+", Tone::Good),
                ChangeTag::Equal => (" ", Tone::Plain),
            };
            let line = text::clean(change.value().trim_end_matches(['\n', '\r']));
            output.line(&Rich::new(tone, format!("{sign}{line}")))?;
            if change.missing_newline() {
                output.line(&Rich::new(Tone::Faint, "\\ no line break at the end"))?;
            }
        }
    }
    Ok(())
}
