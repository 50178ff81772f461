//! `convoke fmt`

use std::io::Write;
use std::path::Path;

use convoke_goals::agentfile::{Source, format};
use serde::Serialize;

use crate::agentfiles::{bytes, is_standard_input, tell};
use crate::arguments::{Arguments, Fmt};
use crate::failure::Failure;
use crate::terminal::Output;

#[derive(Serialize)]
struct Formatted {
    file: String,
    changed: bool,
    /// Why it could not be formatted.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, wanted: &Fmt, output: &mut Output) -> Result<(), Failure> {
    let mut unreadable = 0;
    let mut unformatted: Vec<String> = Vec::new();
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for path in &wanted.files {
        let (name, bytes) = match bytes(path) {
            Ok(read) => read,
            Err(failure) if arguments.json => {
                let (file, error) = (path.display().to_string(), Some(failure.message()));
                results.push(Formatted { file, changed: false, error });
                failures.push(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let formatted = match Source::from_bytes(name.clone(), bytes) {
            Ok(source) => match format(source.text()) {
                Ok(formatted) => Some((formatted != source.text(), formatted)),
                Err(diagnostics) => {
                    tell(&source, &diagnostics, output);
                    None
                }
            },
            Err(error) => {
                let (source, diagnostic) = *error;
                let mut diagnostics = convoke_goals::agentfile::diagnostic::Diagnostics::default();
                diagnostics.error(|| diagnostic);
                tell(&source, &diagnostics, output);
                None
            }
        };
        let Some((changed, text)) = formatted else {
            unreadable += 1;
            let error = Some("it has syntax errors".to_owned());
            results.push(Formatted { file: name, changed: false, error });
            continue;
        };
        results.push(Formatted { file: name.clone(), changed, error: None });
        if changed {
            unformatted.push(name.clone());
        }
        if wanted.check {
            if changed && !arguments.json {
                output.plain(&name)?;
            }
        } else if is_standard_input(path) {
            output.block(&text)?;
        } else if changed {
            replace(path, &text)?;
            if !arguments.json {
                output.plain(&format!("formatted {name}"))?;
            }
        }
    }
    if arguments.json && !wanted.files.iter().any(|path| is_standard_input(path) && !wanted.check) {
        output.json(&results)?;
    }
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    if unreadable > 0 {
        let files =
            if unreadable == 1 { "a file has".to_owned() } else { format!("{unreadable} files have") };
        return Err(Failure::failed(format!("{files} syntax errors and cannot be formatted"))
            .hint("correct them first: `convoke validate` shows all of them"));
    }
    if wanted.check && !unformatted.is_empty() {
        let files = if unformatted.len() == 1 {
            "1 file is".to_owned()
        } else {
            format!("{} files are", unformatted.len())
        };
        return Err(Failure::failed(format!("{files} not formatted"))
            .hint(format!("convoke fmt {}", unformatted.join(" "))));
    }
    Ok(())
}

/// Writes a file so that there is always a whole one: the old or the new.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::failed(format!("{} cannot be written: {error}", path.display()))
            .hint("check its permissions, and that the disk is not full; the file is as it was")
    };
    // The file itself, if the path is a link to it.
    let path = path.canonicalize().map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".convoke-fmt-").tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let permissions = std::fs::metadata(&path).map_err(failed)?.permissions();
    file.as_file().set_permissions(permissions).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}
