//! Diagrams, printed or written to files.

use std::path::Path;

use convoke_diagram::Diagram;

use crate::arguments::OutlineFormat;
use crate::failure::Failure;
use crate::files;
use crate::terminal::text::{clean, one_line};
use crate::terminal::{Output, Rich, Tone};

/// Prints a diagram, or writes it to a file.
pub(super) fn draw(
    diagram: &Diagram,
    format: OutlineFormat,
    file: Option<&Path>,
    output: &mut Output,
) -> Result<(), Failure> {
    let drawn = if format == OutlineFormat::Svg { diagram.to_svg() } else { diagram.to_mermaid() };
    let Some(file) = file.filter(|file| !files::is_standard_output(file)) else {
        return lines(&drawn, output);
    };
    files::replace(file, &drawn)?;
    let place = one_line(&file.display().to_string());
    output.line(&Rich::new(Tone::Good, "✓ Written").with(Tone::Plain, format!(" {place}")))
}

/// Refuses a file for what is not a diagram.
pub(super) fn only_diagrams_go_to_files(
    format: OutlineFormat,
    json: bool,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let is_diagram = !json && matches!(format, OutlineFormat::Mermaid | OutlineFormat::Svg);
    match file.filter(|_| !is_diagram) {
        None => Ok(()),
        Some(_) => Err(Failure::usage("`--output` is for diagrams")
            .hint("add `--format svg` or `--format mermaid`, or write what is printed to a file with `>`")),
    }
}

/// Texts of files are in it: nothing in them may move the cursor.
pub(super) fn lines(text: &str, output: &mut Output) -> Result<(), Failure> {
    text.lines().try_for_each(|line| output.plain(&clean(line)))
}
