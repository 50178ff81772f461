//! Prints the diagnostics of Agentfiles.

use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::{Diagnostics, Style, render};

use crate::terminal::Output;

/// Shows what is wrong, on standard error.
pub(crate) fn tell(source: &Source, diagnostics: &Diagnostics, output: &mut Output) {
    if !diagnostics.is_empty() {
        let style = Style { color: output.colors_notes(), width: output.width().unwrap_or(100) };
        output.explanation(&render(source, diagnostics, style));
    }
}
