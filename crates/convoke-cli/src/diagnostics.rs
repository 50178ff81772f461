//! Prints the diagnostics of Agentfiles.

use std::sync::Arc;

use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::{Diagnostics, Style, render, to_json};
use convoke_host::{Definition, LoadedFile};
use serde_json::json;

use crate::failure::{Failure, FileProblems};
use crate::terminal::Output;

/// Shows what is wrong, on standard error.
pub(crate) fn tell(source: &Source, diagnostics: &Diagnostics, output: &mut Output) {
    if !diagnostics.is_empty() {
        let style = Style { color: output.colors_notes(), width: output.width().unwrap_or(100) };
        output.explanation(&render(source, diagnostics, style));
    }
}

/// What the file says. If it has mistakes, the failure has them for programs; people are [told](tell).
pub(crate) fn valid(loaded: &LoadedFile) -> Result<Arc<dyn Definition>, Failure> {
    loaded
        .valid()
        .map(Arc::clone)
        .map_err(|error| Failure::from(error).of(problems([(&loaded.source, &loaded.diagnostics)])))
}

/// What is wrong with files, for programs.
pub(crate) fn problems<'a>(files: impl IntoIterator<Item = (&'a Source, &'a Diagnostics)>) -> FileProblems {
    let files = files.into_iter().map(|(source, diagnostics)| json!(to_json(source, diagnostics)));
    FileProblems::Definition(files.collect())
}
